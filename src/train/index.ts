/** Training loops and metrics. */

export * from './config/index.js';
export { type ClassificationMetrics, classificationMetrics } from './metrics.js';
export {
  type EpochRecord,
  type NodeClassificationData,
  type NodeClassifierOptions,
  type NodeClassifierResult,
  type NodeModel,
  type NodeSplits,
  type SamplingOptions,
  trainNodeClassifier,
} from './node-classifier.js';
export * from './run/index.js';

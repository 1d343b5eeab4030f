/** Classification of nodes. */
export { type ClassificationMetrics, classificationMetrics } from './classification-metrics.js';
export { NodeClassificationModel } from './node-classification-model.js';
export {
  type EpochRecord,
  type NodeClassificationData,
  type NodeClassifierOptions,
  type NodeClassifierResult,
  type NodeModel,
  type SamplingOptions,
  trainNodeClassifier,
} from './node-classifier.js';

/** Training: configuration, batches, models, loops, runs. */
export * from './batch/index.js';

export * from './config/index.js';
export * from './loop/index.js';
export { type ClassificationMetrics, classificationMetrics } from './metrics.js';
export {
  type EncodedNodes,
  Encoder,
  GeneralEncoder,
  type GeneralEncoderOptions,
  type NodeInputs,
} from './model/encoder.js';
export { exportEncoderOnnx } from './model/encoder-onnx.js';
export { ConcatFeaturizer, Featurizer, LinearFeaturizer } from './model/featurizer.js';
export { LinkPredictionModel } from './model/link-prediction-model.js';
export { Model } from './model/model.js';
export { NodeClassificationModel } from './model/node-classification-model.js';
export { newOptimizer, OptimizerSet } from './model/optimizers.js';
export { countAgainstAll, type EdgeCounts, rankAgainstAll } from './model/rank-against-all.js';
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
export * from './temporal/index.js';

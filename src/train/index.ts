/** Training: configuration, batches, models, loops, runs. */

export * from './config/index.js';
export { describeRun, type RunDescription } from './describe-run.js';
export { type FindRunOptions, type FoundRun, findRun, isEventRun, isRunDirectory } from './find-run.js';
export {
  type BestResult,
  type EpochProgress,
  type FitHooks,
  type FitOptions,
  type FitResult,
  type FitState,
  fit,
  type Request,
} from './fit.js';
export { configJsonSchema } from './json-schema.js';
export { isEventConfig, loadRunConfig, type RunConfig, renderRunConfig } from './load-run-config.js';
export { type OpenedRun, type OpenRunOptions, openRun } from './open-run.js';
export { loadPlugins, type PluginLibrary } from './plugins.js';
export * from './run/index.js';
export * from './task.js';
export * from './tasks/events/index.js';
export * from './tasks/graph/batch/index.js';
export { GraphTask, type GraphTaskOptions } from './tasks/graph/graph-task.js';
export * from './tasks/graph/index.js';
export {
  type EncodedNodes,
  Encoder,
  GeneralEncoder,
  type GeneralEncoderOptions,
  type NodeInputs,
} from './tasks/graph/model/encoder.js';
export { exportEncoderOnnx } from './tasks/graph/model/encoder-onnx.js';
export { ConcatFeaturizer, Featurizer, LinearFeaturizer } from './tasks/graph/model/featurizer.js';
export { Model } from './tasks/graph/model/model.js';
export { newOptimizer, OptimizerSet } from './tasks/graph/model/optimizers.js';
export type { OpenedGraphRun } from './tasks/graph/open-graph-run.js';
export { LinkPredictionModel } from './tasks/links/link-prediction-model.js';
export { countAgainstAll, type EdgeCounts, rankAgainstAll } from './tasks/links/rank-against-all.js';
export { type ClassificationMetrics, classificationMetrics } from './tasks/nodes/classification-metrics.js';
export { NodeClassificationModel } from './tasks/nodes/node-classification-model.js';
export {
  type EpochRecord,
  type NodeClassificationData,
  type NodeClassifierOptions,
  type NodeClassifierResult,
  type NodeModel,
  type NodeSplits,
  type SamplingOptions,
  trainNodeClassifier,
} from './tasks/nodes/node-classifier.js';
export { type TrainRunOptions, trainRun } from './train-run.js';

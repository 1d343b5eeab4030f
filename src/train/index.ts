/** Training: configuration, batches, models, loops, runs. */

export * from './config/index.js';
export { type FitHooks, type FitOptions, type FitResult, fit } from './fit.js';
export { type OpenedRun, type OpenRunOptions, openRun } from './open-run.js';
export { loadPlugins, type PluginLibrary } from './plugins.js';
export * from './run/index.js';
export { type RetrainResult, retrainBest } from './search/retrain.js';
export type { SearchResult, SearchTrial } from './search/search.js';
export { type SearchOptions, searchConfig } from './search/search-config.js';
export {
  type Batches,
  type Cursor,
  type Durable,
  type HeldOut,
  type Metrics,
  type Position,
  type SplitName,
  type StepLoss,
  splitNames,
  type Task,
} from './task.js';
export * from './tasks/events/index.js';
export * from './tasks/graph/batch/index.js';
export { GraphTask, type GraphTaskOptions } from './tasks/graph/graph-task.js';
export * from './tasks/graph/index.js';
export { Encoder, GeneralEncoder } from './tasks/graph/model/encoder.js';
export { exportEncoderOnnx } from './tasks/graph/model/encoder-onnx.js';
export { Featurizer } from './tasks/graph/model/featurizer.js';
export { Model } from './tasks/graph/model/model.js';
export type { OpenedGraphRun } from './tasks/graph/open-graph-run.js';
export { LinkPredictionModel } from './tasks/links/link-prediction-model.js';
export * from './tasks/nodes/index.js';
export { type TrainRunOptions, trainRun } from './train-run.js';

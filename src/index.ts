/**
 * Skein: graph learning for TypeScript. Tensors, operations and graphs by name; modules, losses and
 * optimisers under `nn`, graph layers and models under `gnn`.
 */
export * as gnn from './gnn/index.js';
export * from './graph/index.js';
export { getThreads, nativeStatus, setThreads } from './native/index.js';
export * as nn from './nn/index.js';
export { fitEvents, fitLinks, fitNodes, openModel, type Predictor, packModel } from './predict/index.js';
export {
  Batch,
  ClusterSampler,
  EdgeSampler,
  HeteroNeighborSampler,
  NegativeSampler,
  NeighborSampler,
  type NeighborSamplerOptions,
  NodeLoader,
  type NodeLoaderOptions,
  RandomWalkSampler,
  type Sampler,
  TemporalNeighborSampler,
} from './sample/index.js';
export {
  loadCheckpoint,
  loadModel,
  loadTensors,
  saveCheckpoint,
  saveModel,
  saveTensors,
} from './storage/index.js';
export * from './tensor/index.js';
export { type FitHooks, type FitOptions, type FitResult, fit } from './train/fit.js';
export {
  type ClassificationMetrics,
  classificationMetrics,
  type EpochRecord,
  type LoadedConfig,
  loadConfig,
  loadPlugins,
  type NodeClassifierOptions,
  type NodeClassifierResult,
  type OpenedRun,
  type OpenRunOptions,
  openRun,
  type RunResult,
  resolveConfig,
  type SkeinConfig,
  type TrainRunOptions,
  trainNodeClassifier,
  trainRun,
} from './train/index.js';
export type { Batches, Cursor, Durable, Metrics, Position, SplitName, StepLoss, Task } from './train/task.js';
export * from './util/public.js';

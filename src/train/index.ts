/** Training: configuration, batches, models, loops, runs. */
export { Batch, type BatchStatus, type EvaluationData, type Negatives } from './batch/batch.js';
export { BufferedNodeTable } from './batch/buffered-node-table.js';
export { type EdgeSplit, FileEdges, MemoryEdges, type SplitName } from './batch/edge-splits.js';
export { FilterIndex, type IdLists } from './batch/filter-index.js';
export {
  type BatcherPosition,
  DataLoader,
  GraphBatcher,
  type GraphBatcherOptions,
} from './batch/graph-batcher.js';
export {
  type EpochPlan,
  GraphModelStorage,
  type GraphModelStorageParts,
} from './batch/graph-model-storage.js';
export * from './batch/negative-sampler.js';
export * from './batch/neighbor-sampler.js';
export {
  type LocalRange,
  MemoryNodeTable,
  type MemoryNodeTableParts,
  type NodeTable,
  type RowUpdate,
  type Tile,
} from './batch/node-table.js';
export {
  EdgeSampler,
  NodeSampler,
  type OrderOptions,
  RandomEdgeSampler,
  RandomNodeSampler,
} from './batch/samplers.js';

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

/** Batches: what is trained on, where it comes from, and how its updates go back. */
export { Batch, type BatchStatus, type EvaluationData, type Negatives } from './batch.js';
export type { BatchPiece, BatchShare, Place } from './batch-share.js';
export { DeviceFeatures, type DeviceFeaturesOptions } from './device-features.js';
export { type EdgeSplit, FileEdges, MemoryEdges } from './edge-splits.js';
export { FilterIndex, type IdLists } from './filter-index.js';
export {
  DataLoader,
  GraphBatcher,
  type GraphBatcherOptions,
} from './graph-batcher.js';
export {
  type EpochPlan,
  GraphModelStorage,
  type GraphModelStorageParts,
} from './graph-model-storage.js';
export * from './negative-sampler.js';
export * from './neighbor-sampler.js';
export {
  EdgeSampler,
  NodeSampler,
  type OrderOptions,
  RandomEdgeSampler,
  RandomNodeSampler,
} from './samplers.js';

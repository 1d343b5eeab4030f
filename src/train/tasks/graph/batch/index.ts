/** Batches: what is trained on, where it comes from, and how its updates go back. */

export { FilterIndex, type IdLists } from '../../links/filter-index.js';
export {
  NegativeSampler,
  RandomNegativeSampler,
  type RandomNegativeSamplerOptions,
} from '../../links/negative-sampler.js';
export { type EdgeSplit, FileEdges, MemoryEdges } from '../storage/edge-splits.js';
export {
  type EpochPlan,
  GraphModelStorage,
  type GraphModelStorageParts,
} from '../storage/graph-model-storage.js';
export { Batch, type BatchStatus, type EvaluationData, type Negatives } from './batch.js';
export type { BatchPiece, BatchShare, Place } from './batch-share.js';
export { DeviceFeatures, type DeviceFeaturesOptions } from './device-features.js';
export {
  DataLoader,
  GraphBatcher,
  type GraphBatcherOptions,
} from './graph-batcher.js';
export {
  KHopNeighborSampler,
  type KHopOptions,
  kHopNeighborSampler,
  NeighborSampler,
} from './neighbor-sampler.js';
export {
  EdgeSampler,
  NodeSampler,
  type OrderOptions,
  RandomEdgeSampler,
  RandomNodeSampler,
} from './samplers.js';

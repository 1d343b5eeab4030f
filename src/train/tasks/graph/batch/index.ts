/** Batches of links and nodes: their samplers, their source, and their data. */

export { FilterIndex } from '../../links/filter-index.js';
export {
  type NegativeDraw,
  RandomNegativeSampler,
  type RandomNegativeSamplerOptions,
  TrainingNegativeSampler,
} from '../../links/negative-sampler.js';
export { type EdgeSplit, FileEdges, MemoryEdges } from '../storage/edge-splits.js';
export { type EdgeGraph, GraphStorage, type GraphStorageParts } from '../storage/graph-storage.js';
export type { BatchShare, ShareSegment } from './batch-share.js';
export { BatchSource, type BatchSourceOptions } from './batch-source.js';
export { DeviceFeatures, type DeviceFeaturesOptions } from './device-features.js';
export { KHopNeighborSampler, TrainingNeighborSampler } from './neighbor-sampler.js';
export {
  type OrderOptions,
  RandomEdgeSampler,
  RandomNodeSampler,
  TrainingEdgeSampler,
  TrainingNodeSampler,
} from './samplers.js';
export {
  type BatchData,
  type EvaluationData,
  findNodes,
  type Negatives,
  type NodeLists,
  TrainingBatch,
} from './training-batch.js';

/** Batches of links and nodes: their samplers, their source, and their data. */

export { FilterIndex } from '../../links/filter-index.js';
export { TrainingNegativeSampler } from '../../links/negative-sampler.js';
export type { EdgeSplit } from '../storage/edge-splits.js';
export { type EdgeGraph, GraphStorage, type GraphStorageParts } from '../storage/graph-storage.js';
export type { BatchShare, ShareSegment } from './batch-share.js';
export { BatchSource, type BatchSourceOptions } from './batch-source.js';
export { DeviceFeatures, type DeviceFeaturesOptions } from './device-features.js';
export { KHopNeighborSampler, TrainingNeighborSampler } from './neighbor-sampler.js';
export {
  type OrderOptions,
  RandomEdgeSampler,
  TrainingEdgeSampler,
  TrainingNodeSampler,
} from './samplers.js';
export { type BatchData, type EvaluationData, type Negatives, TrainingBatch } from './training-batch.js';

/** Batches of links and nodes: their samplers, their source, and their data. */

export { TrainingNegativeSampler } from '../../links/negative-sampler.js';
export { GraphStorage } from '../storage/graph-storage.js';
export type { GraphStorageParts } from '../storage/graph-storage-parts.js';
export { BatchSource } from './batch-source.js';
export { DeviceFeatures } from './device-features.js';
export { KHopNeighborSampler, TrainingNeighborSampler } from './neighbor-sampler.js';
export { RandomEdgeSampler, TrainingEdgeSampler, TrainingNodeSampler } from './samplers.js';
export { type Negatives, TrainingBatch } from './training-batch.js';

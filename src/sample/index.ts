/** Samplers, batches and loaders. */
export { type Adj, Batch } from './batch.js';
export { NeighborSampler, type NeighborSamplerOptions } from './neighbor-sampler.js';
export { type FeatureSource, LoadedBatch, NodeLoader, type NodeLoaderOptions } from './node-loader.js';
export type { Sampler, SampleTime } from './sampler.js';
export type { Direction, SampleWeights } from './sampling-graph.js';

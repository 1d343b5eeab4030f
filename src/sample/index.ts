/** Samplers, batches and loaders. */
export { type Adj, Batch } from './batch.js';
export { GNNGraph } from './gnn-graph.js';
export { HeteroBatch, type HeteroBlock } from './hetero-batch.js';
export {
  HeteroNeighborSampler,
  type HeteroNeighborSamplerOptions,
  type HeteroSeeds,
} from './hetero-neighbor-sampler.js';
export {
  LayeredNeighborSampler,
  type LayeredNeighborSamplerOptions,
  type LayerSampling,
} from './layered-neighbor-sampler.js';
export { NeighborSampler, type NeighborSamplerOptions } from './neighbor-sampler.js';
export { type FeatureSource, LoadedBatch, NodeLoader, type NodeLoaderOptions } from './node-loader.js';
export type { Sampler, SampleTime } from './sampler.js';
export type { Direction, SampleWeights } from './sampling-graph.js';

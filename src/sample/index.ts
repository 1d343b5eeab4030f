/** Samplers, batches and loaders. */

export { Batch } from './batch.js';
export { type ClusterBatch, ClusterSampler, type ClusterSamplerOptions } from './cluster-sampler.js';
export { DenseSample } from './dense-sample.js';
export { type EdgeSample, EdgeSampler, type EdgeSamplerOptions, type EdgeSeeds } from './edge-sampler.js';
export { HeteroBatch, type HeteroBlock } from './hetero-batch.js';
export {
  HeteroNeighborSampler,
  type HeteroNeighborSamplerOptions,
  type HeteroSeeds,
} from './hetero-neighbor-sampler.js';
export * from './hot/index.js';
export { LayeredNeighborSampler, type LayeredNeighborSamplerOptions } from './layered-neighbor-sampler.js';
export { NegativeSampler, type NegativeSamplerOptions } from './negative-sampler.js';
export { NeighborSampler, type NeighborSamplerOptions } from './neighbor-sampler.js';
export {
  type BatchSampler,
  type FeatureSource,
  LoadedBatch,
  NodeLoader,
  type NodeLoaderOptions,
} from './node-loader.js';
export {
  type NeighborSamplingStrategy,
  OneHopSampler,
  type OneHopSamplerOptions,
} from './one-hop-sampler.js';
export { RandomWalkSampler, type RandomWalkSamplerOptions, Walks } from './random-walk-sampler.js';
export type { Sampler, SampleTime } from './sampler.js';
export type { SampleWeights } from './sampling-graph.js';
export { TemporalHop } from './temporal-hop.js';
export {
  TemporalNeighborSampler,
  type TemporalNeighborSamplerOptions,
  type TemporalSample,
  type TemporalSeeds,
  type TemporalStrategy,
} from './temporal-neighbor-sampler.js';

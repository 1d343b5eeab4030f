/** Sampling-based training on partitioned graphs. */
export { convertDistGraph, convertDistHeteroGraph, type Sampleable } from './convert-dist-graph.js';
export { DataLoader, type DataLoaderOptions } from './data-loader.js';
export { type DistFeaturesOptions, distFeatures } from './dist-features.js';
export { DistGraph, type DistGraphOptions, type NodeFeatureTable } from './dist-graph.js';
export {
  DistNeighborSampler,
  type DistNeighborSamplerOptions,
  PendingSample,
} from './dist-neighbor-sampler.js';

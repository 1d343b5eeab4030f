/** Sampling-based training on partitioned graphs. */
export { convertDistGraph, convertDistHeteroGraph } from './convert-dist-graph.js';
export { DataLoader, type DataLoaderOptions } from './data-loader.js';
export { type DistFeaturesOptions, distFeatures } from './dist-features.js';
export { DistGraph, type DistGraphOptions } from './dist-graph.js';
export { DistNeighborSampler, type DistNeighborSamplerOptions } from './dist-neighbor-sampler.js';

/** Feature tables with their hot rows on a GPU. */
export { CGPUFeature, type CGPUFeatureOptions, type FeatureIds, type FeatureStats } from './cgpu-feature.js';
export type { FeatureArray, FeatureType } from './cold-rows.js';
export { FeatureBlock } from './feature-block.js';
export type { FeatureGraph } from './feature-scores.js';
export { MultiCGPUFeature, type MultiFeatureOptions, type SharedFeature } from './multi-cgpu-feature.js';

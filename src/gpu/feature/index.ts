/** Feature tables with their hot rows on a GPU. */
export { CGPUFeature, type CGPUFeatureOptions, type FeatureStats } from './cgpu-feature.js';
export { MultiCGPUFeature, type MultiFeatureOptions, type SharedFeature } from './multi-cgpu-feature.js';

/** Which rows are asked for often, and who should hold them. */
export {
  type DrawGraph,
  type HotnessOptions,
  type HotnessPolicy,
  hotness,
  hotnessPolicies,
  type SampledGraph,
} from './hotness.js';
export {
  type FeaturePartition,
  type PartitionFeatureOptions,
  partitionFeature,
} from './partition-feature.js';

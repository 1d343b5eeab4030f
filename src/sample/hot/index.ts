/** Rows that are requested often, and their assignment to workers. */
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

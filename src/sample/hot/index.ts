/** Rows that are requested often, and their assignment to workers. */
export { type HotnessOptions, type HotnessPolicy, hotness, hotnessPolicies } from './hotness.js';
export { type PartitionFeatureOptions, partitionFeature } from './partition-feature.js';

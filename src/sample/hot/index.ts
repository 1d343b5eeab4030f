/** Which rows are asked for often, and who should hold them. */
export { selectHottest } from '../../util/hottest.js';
export {
  type DrawGraph,
  degreeHotness,
  drawGraphOf,
  type HotnessOptions,
  type HotnessPolicy,
  hotness,
  hotnessPolicies,
  presampleHotness,
  pushHotness,
  type SampledGraph,
} from './hotness.js';
export {
  type FeaturePartition,
  type PartitionFeatureOptions,
  partitionFeature,
} from './partition-feature.js';

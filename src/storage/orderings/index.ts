/** Buffer orderings: pure functions from sizes and a seed to states and work per state. */
export { type EdgeBucketOptions, type EdgeBucketOrdering, planEdgeBuckets } from './edge-buckets.js';

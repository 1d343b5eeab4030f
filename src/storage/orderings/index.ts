/** Buffer orderings: pure functions from sizes and a seed to states and work per state. */
export { countSwaps } from './assign.js';
export { betaSwaps, swapLowerBound } from './beta.js';
export {
  type BufferPlan,
  type EdgeBucketOptions,
  type EdgeBucketOrdering,
  edgeBucketOrderings,
  planEdgeBuckets,
} from './edge-buckets.js';
export {
  type NodePartitionOptions,
  type NodePartitionOrdering,
  type NodePlan,
  nodePartitionOrderings,
  planNodePartitions,
} from './node-partitions.js';

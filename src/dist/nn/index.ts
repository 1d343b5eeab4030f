/** Models on several workers: equal parameters, summed gradients, statistics over all rows. */
export {
  DistributedBatchNorm1d,
  DistributedBatchNorm1d as DistributedBN1D,
  type DistributedBatchNormOptions,
} from './distributed-batch-norm.js';
export { type BucketOptions, distributedBackward, gatherGrads } from './gradient-buckets.js';
export { type SyncOptions, syncParams } from './sync-params.js';

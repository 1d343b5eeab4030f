/** Streams of events cut for several workers. */
export { eventsOfPart, nodesOfPart, partitionTemporal } from './partition-temporal.js';
export {
  type PartitionAlgorithm,
  type PartitionStats,
  partitionAlgorithms,
  type TemporalPartition,
  type TemporalPartitionOptions,
} from './types.js';

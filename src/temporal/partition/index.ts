/** Streams of events cut for several workers. */
export { type PartitionAlgorithm, type PartitionStats, partitionAlgorithms } from './types.js';

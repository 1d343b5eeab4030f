/** Partitions of event streams for several workers. */
export { type PartitionAlgorithm, type PartitionStats, partitionAlgorithms } from './types.js';

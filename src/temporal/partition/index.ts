/** Partitions of event streams for several workers. */
export type { PartitionAlgorithm, PartitionStats } from './types.js';

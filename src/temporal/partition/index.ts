/** Partitions of event streams for several workers. */
export type { PartitionAlgorithm } from './types.js';

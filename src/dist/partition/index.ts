/** Partitioned graphs: partitioning, in memory, in files. */
export { type LoadPartitionOptions, loadDglPartitionData, loadPartitionData } from './load-partition-data.js';
export { PartitionBook, type PartitionBookOptions } from './partition-book.js';
export type { PartitionData } from './partition-data.js';
export { type WritePartitionsOptions, writePartitions } from './partition-files.js';
export { type GraphPartition, type PartitionGraphOptions, partitionGraph } from './partition-graph.js';
export { type PartitionDataOptions, PartitionedGraph, partitionData } from './partitioned-graph.js';
export { type SuffixKeyOptions, suffixKeyLookup } from './suffix-key-lookup.js';

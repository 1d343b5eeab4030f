/** Partitioned graphs: partitioning, in memory, in files. */
export { type LoadPartitionOptions, loadDglPartitionData, loadPartitionData } from './load-partition-data.js';
export {
  type IdRange,
  PartitionBook,
  type PartitionBookOptions,
  type TypeIds,
} from './partition-book.js';
export type { NodeRange, PartitionData, ShardEdgesAndFeatures } from './partition-data.js';
export { type WritePartitionsOptions, type WrittenPartitions, writePartitions } from './partition-files.js';
export { type GraphPartition, type PartitionGraphOptions, partitionGraph } from './partition-graph.js';
export { type PartitionDataOptions, PartitionedGraph, partitionData } from './partitioned-graph.js';
export { type SuffixKeyOptions, suffixKeyLookup } from './suffix-key-lookup.js';

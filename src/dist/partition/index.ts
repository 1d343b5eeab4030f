/** Partitioned graphs: partitioning, in memory, in files. */
export {
  describePartitions,
  isPartitionDirectory,
  type LoadPartitionOptions,
  loadDglPartitionData,
  loadPartitionData,
  type PartitionDirectory,
} from './load-partition-data.js';
export type { GraphPartitionStats } from './measure-partition.js';
export {
  type IdRange,
  PartitionBook,
  type PartitionBookOptions,
  type TypeIds,
} from './partition-book.js';
export type { PartitionContent } from './partition-content.js';
export type { NodeRange, PartitionData, ShardEdgesAndFeatures } from './partition-data.js';
export {
  type PartitionOrigin,
  type WritePartitionsOptions,
  type WrittenPartitions,
  writePartitions,
} from './partition-files.js';
export {
  type GraphPartition,
  type GraphPartitioner,
  graphPartitioners,
  type PartitionBalance,
  type PartitionGraphOptions,
  partitionerBytes,
  partitionGraph,
  streamPartitioner,
} from './partition-graph.js';
export {
  nodeDatasetFields,
  type PartitionSource,
  partitionSource,
  preparedSource,
} from './partition-source.js';
export {
  type FeatureRows,
  type PartitionDataOptions,
  PartitionedGraph,
  partitionData,
} from './partitioned-graph.js';
export { type SuffixKeyOptions, suffixKeyLookup } from './suffix-key-lookup.js';

/** Graphs cut into partitions: how, in memory, in files. */
export {
  describePartitions,
  isPartitionDirectory,
  type LoadPartitionOptions,
  loadDglPartitionData,
  loadPartitionData,
  type PartitionDirectory,
} from './load-partition-data.js';
export type { CutStats } from './measure-cut.js';
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
  type CutBalance,
  cutterBytes,
  type GraphCutter,
  type GraphPartition,
  graphCutters,
  type PartitionGraphOptions,
  partitionGraph,
  streamCutter,
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

/**
 * The data of one worker in a partitioned graph: its nodes with their features, and all edges into them, sorted into
 * shards by the worker that owns their sources. Node ids are global and numbered so that each worker's nodes are one
 * range.
 *
 * A worker may hold several consecutive partitions of a file; they form one `PartitionData`, whose ranges and shards
 * are always per worker.
 */
import type { Tensor } from '../../tensor/index.js';
import type { PartitionBook } from './partition-book.js';

/** Node ids start … end − 1. */
export interface NodeRange {
  readonly start: number;
  readonly end: number;
}

/** The edges from one worker's nodes to the nodes held here, in ascending order of edge ids within each edge type. */
export interface ShardEdgesAndFeatures {
  /** Global ids. */
  readonly src: Int32Array;
  readonly dst: Int32Array;
  /** Global edge ids, numbered like nodes: each worker's edges are one range. */
  readonly edgeIds: Int32Array;
  /** Index into `edgeTypeNames`; null when there is one type. Edges are sorted by it. */
  readonly edgeTypes: Int32Array | null;
  /** 'src:relation:dst/name': one row for each edge of that type in this shard, in the order of the shard. */
  readonly edgeFeatures: Readonly<Record<string, Tensor>>;
}

export interface PartitionData {
  /** Index into `nodeRanges` of this data. */
  readonly rank: number;
  /** The nodes of each worker. */
  readonly nodeRanges: readonly NodeRange[];
  /** By the worker that owns the sources. */
  readonly allShardEdges: readonly ShardEdgesAndFeatures[];
  /** 'type/name': one row for each node of that type held here, in the order of ids. */
  readonly nodeFeatures: Readonly<Record<string, Tensor>>;
  /** Index into `nodeTypeNames` for each node held here; null when there is one type. */
  readonly nodeTypes: Int32Array | null;
  readonly nodeTypeNames: readonly string[];
  /** 'src:relation:dst' */
  readonly edgeTypeNames: readonly string[];
  readonly partitionBook: PartitionBook;
  /** The id of each node before partitioning, within its type, if known. */
  readonly originalNodeIds?: Int32Array;
  /** The id of each edge before partitioning, indexed from the first edge of this worker, if known. */
  readonly originalEdgeIds?: Int32Array;
}

/** Options and result of partitioning a stream of events. */

export const partitionAlgorithms = [
  ...(['metis_for_tgnn', 'ldg', 'LDG_for_tgnn', 'speed', 'memshare', 'dis_tgl', 'random', 'hash'] as const),
] as const;

/** `LDG_for_tgnn` is another name of `ldg`, `memshare` of `speed`; `dis_tgl` is `speed` without shared nodes. */
export type PartitionAlgorithm = (typeof partitionAlgorithms)[number];

export interface TemporalPartitionOptions {
  readonly algo: PartitionAlgorithm;
  readonly numParts: number;
  /** Only event rows below this are read, so that events to predict have no effect (all). */
  readonly trainEnd?: number;
  readonly seed?: number;
  /** Fraction of the nodes that `speed` gives to every partition: those of the most events (0.1). */
  readonly hotRatio?: number;
}

export interface PartitionStats {
  /** Nodes of the largest partition over the mean. */
  readonly nodeBalance: number;
  /** Training events of the largest partition over the mean. */
  readonly edgeBalance: number;
  /** Training events whose ends are not both in the partition that owns them. */
  readonly cutEdges: number;
  /** Training events that `speed` could not place; the owner of their destination owns them. */
  readonly droppedEdges: number;
}

export interface TemporalPartition {
  readonly algo: PartitionAlgorithm;
  readonly numParts: number;
  /** The partition that keeps a node's memory and mail [numNodes]. */
  readonly master: Int32Array;
  /** The partition that trains on an event [numEvents]. */
  readonly edgeOwner: Int32Array;
  /** Nodes that every partition has, ascending. */
  readonly sharedNodes: Int32Array;
  readonly stats: PartitionStats;
}

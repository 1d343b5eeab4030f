/** What partitioning a stream of events takes and gives. */

export const partitionAlgorithms = [
  ...(['metis_for_tgnn', 'ldg', 'speed', 'memshare', 'dis_tgl', 'random', 'hash'] as const),
] as const;

/** `memshare` is another name of `speed`; `dis_tgl` is that without shared nodes. */
export type PartitionAlgorithm = (typeof partitionAlgorithms)[number];

export interface TemporalPartitionOptions {
  readonly algo: PartitionAlgorithm;
  readonly numParts: number;
  /** Event rows below this may be looked at; what is to be predicted plays no part (all). */
  readonly trainEnd?: number;
  readonly seed?: number;
  /** Share of the nodes that `speed` gives to every part: those of the most events (0.1). */
  readonly hotRatio?: number;
}

export interface PartitionStats {
  /** The largest part over the mean, by masters. */
  readonly nodeBalance: number;
  /** The same by training events that a part owns. */
  readonly edgeBalance: number;
  /** Training events whose ends are not both at their owner. */
  readonly cutEdges: number;
  /** Training events that the stream could not place and that went to the owner of their destination. */
  readonly droppedEdges: number;
}

export interface TemporalPartition {
  readonly algo: PartitionAlgorithm;
  readonly numParts: number;
  /** The part that keeps a node's state [numNodes]. */
  readonly master: Int32Array;
  /** The part that trains on an event [numEvents]. */
  readonly edgeOwner: Int32Array;
  /** Nodes that every part has, ascending. */
  readonly sharedNodes: Int32Array;
  readonly stats: PartitionStats;
}

/**
 * Where every node and edge of a partitioned graph is. Global ids are numbered partition by partition, and within a partition
 * type by type, so a few ranges say it all (DGL's `node_map` and `edge_map`).
 */
export interface IdRange {
  readonly start: number;
  readonly end: number;
}

export interface PartitionBook {
  readonly numParts: number;
  readonly nodeTypeNames: readonly string[];
  /** 'src:relation:dst' */
  readonly edgeTypeNames: readonly string[];
  /** By type, then by partition. */
  readonly nodeMap: readonly (readonly IdRange[])[];
  readonly edgeMap: readonly (readonly IdRange[])[];
}

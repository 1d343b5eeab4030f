/** Cost and balance of a partitioning: the numbers that determine the traffic and the memory of workers. */
import type { FlatGraph } from './flat-graph.js';

export interface GraphPartitionStats {
  /** Edges between partitions. */
  readonly cutEdges: number;
  /** Nodes of other partitions that have an edge into each partition: rows that it fetches per layer (H_p). */
  readonly halo: readonly number[];
  readonly nodes: readonly number[];
  /** Edges into the nodes of each partition. */
  readonly edges: readonly number[];
  /** Size of the largest partition relative to the mean. */
  readonly nodeBalance: number;
  readonly edgeBalance: number;
  /** The balance of nodes in the training mask; null without one. */
  readonly trainBalance: number | null;
}

export function measurePartition(
  { numNodes, src, dst }: Pick<FlatGraph, 'numNodes' | 'src' | 'dst'>,
  parts: Int32Array,
  numParts: number,
  trainMask?: ArrayLike<number>,
): GraphPartitionStats {
  const nodes = new Array<number>(numParts).fill(0);
  const edges = new Array<number>(numParts).fill(0);
  const train = new Array<number>(numParts).fill(0);
  for (let v = 0; v < numNodes; v++) {
    nodes[parts[v]]++;
    if (trainMask !== undefined && trainMask[v] !== 0) train[parts[v]]++;
  }
  let cutEdges = 0;
  for (let e = 0; e < src.length; e++) {
    edges[parts[dst[e]]]++;
    if (parts[src[e]] !== parts[dst[e]]) cutEdges++;
  }
  return {
    cutEdges,
    halo: haloSizes(src, dst, parts, numParts),
    nodes,
    edges,
    nodeBalance: balanceOf(nodes),
    edgeBalance: balanceOf(edges),
    trainBalance: trainMask === undefined ? null : balanceOf(train),
  };
}

/** Counts the distinct sources that each partition takes from others, in passes over the edges. */
function haloSizes(src: Int32Array, dst: Int32Array, parts: Int32Array, numParts: number): number[] {
  const halo = new Array<number>(numParts).fill(0);
  // A bit per (node, partition), 32 partitions at a time.
  const seen = new Uint32Array(parts.length);
  for (let first = 0; first < numParts; first += 32) {
    seen.fill(0);
    for (let e = 0; e < src.length; e++) {
      const part = parts[dst[e]];
      if (part < first || part >= first + 32 || parts[src[e]] === part) continue;
      const bit = 1 << (part - first);
      if (seen[src[e]] & bit) continue;
      seen[src[e]] |= bit;
      halo[part]++;
    }
  }
  return halo;
}

function balanceOf(loads: readonly number[]): number {
  const total = loads.reduce((sum, load) => sum + load, 0);
  return total === 0 ? 1 : (loads.reduce((max, load) => Math.max(max, load), 0) * loads.length) / total;
}

/**
 * Partitions of about equal size with few edges between them, by METIS (Karypis and Kumar: "A fast and high quality
 * multilevel scheme for partitioning irregular graphs", SIAM J. Sci. Comput. 20, 1998).
 */
import { kernels } from '../../native/index.js';
import { checkInteger, StateError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkNodeIds } from '../adjacency.js';
import type { Graph } from '../graph.js';
import { removeSelfLoops, toUndirected } from '../transforms.js';

export interface Partition {
  /** The partition of each node. */
  readonly parts: Int32Array;
  /** The number of pairs of connected nodes in different partitions. */
  readonly cut: number;
}

/** Ignores directions, weights, multi-edges and self loops. The same seed gives the same partitions. */
export function metisPartition(
  graph: Graph,
  numParts: number,
  options: { readonly seed?: number } = {},
): Partition {
  checkOptionNames('metisPartition', options, { seed: true });
  const where = 'metisPartition';
  const n = graph.numNodes;
  checkInteger(where, 'numParts', numParts, 1, Math.max(1, n));
  const seed = checkInteger(where, 'seed', options.seed ?? 0, 0, 2 ** 31 - 1);
  const parts = new Int32Array(n);
  if (numParts === 1 || n === 0) return { parts, cut: 0 };
  const { offsets, indices } = removeSelfLoops(toUndirected(graph)).adjacency;
  // Twice the edges of an Int32 list at most, so offsets are Int32 too.
  const cut = kernels().metisPartition(offsets as Int32Array, indices, n, numParts, seed, parts);
  return { parts, cut: checkCut(where, cut) };
}

/** A symmetric graph without self loops, with integer weights. */
export interface WeightedAdjacency {
  readonly offsets: Int32Array;
  readonly indices: Int32Array;
  /** One weight per entry of `indices`; the same in both directions. */
  readonly edgeWeights: Int32Array;
  /** [nodes · constraints]. */
  readonly nodeWeights: Int32Array;
  /** Number of weights per node; the sum of each is balanced among the partitions. */
  readonly constraints: number;
}

/** Balances every weight of the nodes among the partitions and keeps the weight of the edges between them low. */
export function metisPartitionWeighted(
  graph: WeightedAdjacency,
  numParts: number,
  options: { readonly seed?: number } = {},
): Partition {
  checkOptionNames('metisPartitionWeighted', options, { seed: true });
  const where = 'metisPartitionWeighted';
  const { offsets, indices, edgeWeights, nodeWeights } = graph;
  const n = offsets.length - 1;
  checkInteger(where, 'numParts', numParts, 1, Math.max(1, n));
  const constraints = checkInteger(where, 'constraints', graph.constraints, 1, 16);
  const seed = checkInteger(where, 'seed', options.seed ?? 0, 0, 2 ** 31 - 1);
  checkNodeIds(where, 'indices', indices, n);
  checkInteger(where, 'the end of offsets', offsets[n], indices.length, indices.length);
  checkInteger(where, 'the number of edgeWeights', edgeWeights.length, indices.length, indices.length);
  checkInteger(where, 'the number of nodeWeights', nodeWeights.length, n * constraints, n * constraints);
  const parts = new Int32Array(n);
  if (numParts === 1 || n === 0) return { parts, cut: 0 };
  const weights = { edgeWeights, nodeWeights, constraints };
  const cut = kernels().metisPartitionWeighted({
    ...weights,
    offsets,
    indices,
    n,
    parts: numParts,
    seed,
    out: parts,
  });
  return { parts, cut: checkCut(where, cut) };
}

function checkCut(where: string, cut: number): number {
  if (cut >= 0) return cut;
  throw new StateError(
    `${where}: expected METIS, got no libmetis on this machine. Install it (Debian: apt-get install libmetis5), or give the ` +
      'partition of each node yourself.',
  );
}

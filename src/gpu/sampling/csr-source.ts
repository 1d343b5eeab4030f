/**
 * Graph inputs of GPU samplers: row v lists the neighbours of v, and a batch takes some of them.
 *
 * - A `Graph` has a row per destination, so by default the sources of a node's incoming edges are sampled, as in
 *   `NeighborSampler`; `direction` chooses others.
 * - Plain CSR arrays and a `SparseMatrix` are used row by row. Rows built from `edge_index[0]` list the targets of outgoing
 *   edges; for incoming edges, pass the transpose.
 *
 * Multi-edges, self loops and isolated nodes are kept. The edge id of an entry of CSR arrays is its index.
 */
import { Graph, SparseMatrix } from '../../graph/index.js';
import { checkOneType } from '../../sample/checks.js';
import { type Direction, type SampleWeights, SamplingGraph } from '../../sample/sampling-graph.js';
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';

/** Neighbours of row v: indices[indptr[v]] … indices[indptr[v + 1] − 1]. */
export interface CsrArrays {
  readonly indptr: Int32Array;
  readonly indices: Int32Array;
  /** Number of nodes (default: the rows of `indptr`). Nodes beyond these are isolated. */
  readonly numNodes?: number;
}

export type CsrLike = Graph | SparseMatrix | CsrArrays;

export interface SourceOptions {
  /** For a `Graph`: follow edges into a node (default), out of it, or both. */
  readonly direction?: Direction;
  /** Probability of an edge relative to the others of its node, by edge id. Edges of weight 0 are never taken. */
  readonly weights?: SampleWeights;
}

export function samplingSource(
  where: string,
  csr: CsrLike | SamplingGraph,
  options: SourceOptions = {},
): SamplingGraph {
  // Samplers over one graph share its derived arrays.
  if (csr instanceof SamplingGraph) return csr;
  if (csr instanceof Graph)
    return new SamplingGraph(where, checkOneType(where, csr), options.direction, options.weights);
  if (options.direction !== undefined && options.direction !== 'in')
    throw new ValueError(expected(where, 'a Graph', `csr with direction '${options.direction}'`, csr));
  return new SamplingGraph(where, asGraph(where, csr), 'in', options.weights);
}

/** Returns a graph whose incoming edges are the rows. */
export function asGraph(where: string, csr: CsrLike): Graph {
  if (csr instanceof Graph) return csr;
  if (csr instanceof SparseMatrix) {
    if (csr.rows !== csr.columns)
      throw new ShapeError(expected(where, 'a square matrix', 'csr', `shape [${csr.shape.join(', ')}]`));
    return Graph.fromCsc(csr.adjacency.offsets, csr.adjacency.indices, { share: true });
  }
  const { indptr, indices } = csr ?? {};
  if (!(indptr instanceof Int32Array) || !(indices instanceof Int32Array)) {
    const what = 'a Graph, a SparseMatrix or { indptr, indices } as Int32Array';
    throw new ValueError(expected(where, what, 'csr', csr));
  }
  checkInteger(where, 'indptr.length', indptr.length, 1);
  const rows = indptr.length - 1;
  const numNodes = checkInteger(where, 'numNodes', csr.numNodes ?? rows, rows, 2 ** 31 - 1);
  if (numNodes === rows) return Graph.fromCsc(indptr, indices);
  const offsets = new Int32Array(numNodes + 1).fill(indptr[rows]);
  offsets.set(indptr);
  return Graph.fromCsc(offsets, indices);
}

/** Returns the distinct seeds in order, and the row of each given seed. */
export function distinctSeeds(seeds: Int32Array): { readonly ids: Int32Array; readonly rows: Int32Array } {
  const rowOf = new Map<number, number>();
  const rows = new Int32Array(seeds.length);
  const ids = new Int32Array(seeds.length);
  for (let i = 0; i < seeds.length; i++) {
    const known = rowOf.get(seeds[i]);
    if (known === undefined) {
      ids[rowOf.size] = seeds[i];
      rows[i] = rowOf.size;
      rowOf.set(seeds[i], rowOf.size);
    } else rows[i] = known;
  }
  return { ids: ids.subarray(0, rowOf.size), rows };
}

/**
 * Node features of layers: one tensor for graphs whose destinations are among the sources, a pair for bipartite graphs,
 * or a sparse matrix, which only a linear map accepts and which stays sparse until then.
 */
import { type MessageGraph, SparseMatrix } from '../graph/index.js';
import type { RowsOf } from '../graph/message-graph.js';
import type { Linear } from '../nn/index.js';
import { add, dropout, linear, Tensor, transpose } from '../tensor/index.js';
import { formatShape } from '../tensor/shape.js';
import { expected, ShapeError, ValueError } from '../util/errors.js';

/** Rows of the sources and rows of the destinations. */
export type NodePair = readonly [Tensor, Tensor];
export type NodeInput = Tensor | NodePair;
/** Features of a first layer. */
export type Features = Tensor | SparseMatrix;

/** Returns source and destination rows for a layer; throws unless they are [·, inSrc] and [·, inDst]. */
export function ends(
  layer: string,
  graph: MessageGraph,
  x: NodeInput,
  inSrc: number,
  inDst = inSrc,
): NodePair {
  const pair = x instanceof Tensor ? ([x, null] as const) : x;
  checkInput(layer, 'x', pair[0], graph.numSrcNodes, inSrc);
  const dst = pair[1] ?? graph.dstRows(pair[0]);
  checkInput(layer, x instanceof Tensor ? 'x' : 'the destinations of x', dst, graph.numDstNodes, inDst);
  return [pair[0], dst];
}

export function checkInput(layer: string, name: string, x: Features, rows: number, width: number): void {
  if (Array.isArray(x)) {
    throw new ValueError(
      `${layer}: expected one tensor for ${name}, got a pair. Between two node types use a layer that takes pairs, such as SAGEConv or GATConv.`,
    );
  }
  if (!(x instanceof Tensor) && !(x instanceof SparseMatrix))
    throw new ValueError(expected(layer, 'a tensor or a SparseMatrix', name, x));
  if (x.shape.length !== 2 || x.shape[0] !== rows || x.shape[1] !== width) {
    throw new ShapeError(
      expected(layer, `shape [${rows}, ${width}] (nodes, features)`, name, `shape ${formatShape(x.shape)}`),
    );
  }
}

/** Computes x·Wᵀ + b for dense and sparse x. */
export function project(x: Features, weight: Tensor, bias: Tensor | null = null): Tensor {
  if (x instanceof Tensor) return linear(x, weight, bias);
  const y = x.matmul(transpose(weight));
  return bias === null ? y : add(y, bias);
}

/**
 * Returns whether to aggregate x·Wᵀ and not x: if that is narrower, and if rows of x would have to be fetched as well.
 */
export function projectsFirst(graph: MessageGraph, x: Tensor, lin: Linear): boolean {
  return lin.outFeatures < lin.inFeatures && !graph.keepsRows(x);
}

export function isPair(x: Features | NodePair): x is NodePair {
  return Array.isArray(x);
}

/** Applies dropout to rows of nodes or edges, drawn by their ids in the whole graph; a sparse matrix stays sparse. */
export function dropRows<F extends Features>(graph: MessageGraph, rows: RowsOf, x: F, p: number): F {
  if (p === 0) return x;
  const rowIds = graph.rowIds(rows);
  return (x instanceof SparseMatrix ? x.dropout(p, rowIds) : dropout(x, p, { rowIds })) as F;
}

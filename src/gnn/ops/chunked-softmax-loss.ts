/**
 * The softmax loss of link prediction, fused with its scores: −log softmax([positive, negatives])[0] of each edge,
 * where scores are dot products. The gradients are computed in the same pass over the scores.
 */
import { kernels } from '../../native/index.js';
import { Tensor } from '../../tensor/index.js';
import { checkIds, checkSameFloat, checkShapeIs, pack, zerosLike } from '../../tensor/ops/common.js';
import { formatShape } from '../../tensor/shape.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';
import { addUp, fusedLoss, type Gradients, type LossPart, type ReadyGradients } from './fused-loss.js';
import { checkChunks } from './scores.js';

/** Masked negatives: for edge i the positions (0 … n−1) at offsets[i] … offsets[i+1]−1. */
export interface NegativeMask {
  /** B + 1 numbers. */
  readonly offsets: Int32Array;
  readonly positions: Int32Array;
}

/** One direction of corruption. */
export interface ChunkedSide {
  /** [B, d] */
  readonly query: Tensor;
  /** The target rows of the queries, [B, d]. */
  readonly target: Tensor;
  /** chunks · n row numbers, those of the first chunk first. */
  readonly negatives: Int32Array;
  readonly mask?: NegativeMask | null;
}

export interface ChunkedLossOptions {
  /** 'sum' (the default) over the edges, or their 'mean'; several sides are added. */
  readonly reduction?: 'sum' | 'mean';
}

interface Attributes extends ReadyGradients {
  readonly sides: readonly { readonly negatives: Int32Array; readonly mask: NegativeMask | null }[];
  readonly chunks: number;
  readonly mean: boolean;
}

const chunkedSoftmaxLossOp = fusedLoss<Attributes>({ name: 'chunkedSoftmaxLoss', gradientsFor, run });

/**
 * Allocates gradients of the rows, then of query and target of each side. The kernel writes those of queries and targets
 * and adds to that of the rows.
 */
function gradientsFor([rows, ...others]: readonly Tensor[], needs: (input: number) => boolean): Gradients {
  const made = others.map((t) => Tensor.allocate(t.dtype, t.shape));
  return [needs(0) ? zerosLike(rows.dtype, rows.shape) : null, ...made];
}

/** Writes the reduced loss of all sides to `total`; fills `made` if it is given. */
function run(
  inputs: readonly Tensor[],
  { sides, chunks, mean }: Attributes,
  made: Gradients | null,
  total: Tensor,
): void {
  const rows = pack(inputs[0]);
  const [rowCount, width] = inputs[0].shape;
  const parts: LossPart[] = [];
  for (const [i, { negatives, mask }] of sides.entries()) {
    const [query, target] = inputs.slice(1 + 2 * i);
    const edges = query.shape[0];
    const scale = mean ? 1 / Math.max(1, edges) : 1;
    const losses = Tensor.allocate(query.dtype, [edges]);
    kernels().chunkedSoftmaxLoss({
      query: pack(query),
      target: pack(target),
      rows,
      negatives,
      maskOffsets: mask?.offsets ?? null,
      maskPositions: mask?.positions ?? null,
      loss: losses.floats,
      gQuery: made?.[1 + 2 * i]?.floats ?? null,
      gTarget: made?.[2 + 2 * i]?.floats ?? null,
      gRows: made?.[0]?.floats ?? null,
      edges,
      width,
      rowCount,
      chunks,
      n: negatives.length / chunks,
      scale,
    });
    parts.push({ losses, scale });
  }
  addUp(parts, total);
  for (const { losses } of parts) losses.dispose();
}

/** Returns the loss of all edges of one direction: query [B, d], target [B, d], rows [U, d] → a scalar. */
export function chunkedSoftmaxLoss(
  query: Tensor,
  target: Tensor,
  rows: Tensor,
  negatives: Int32Array,
  chunks: number,
  options: ChunkedLossOptions & { readonly mask?: NegativeMask | null } = {},
): Tensor {
  const side = { query, target, negatives, mask: options.mask ?? null };
  return chunkedSoftmaxLossSides(rows, chunks, [side], options);
}

/** Returns the loss for several directions against one set of rows, whose gradient is then computed once. */
export function chunkedSoftmaxLossSides(
  rows: Tensor,
  chunks: number,
  sides: readonly ChunkedSide[],
  options: ChunkedLossOptions = {},
): Tensor {
  const where = 'chunkedSoftmaxLoss';
  const mean = isMean(where, options);
  const inputs = [rows];
  const lists = sides.map(({ query, target, negatives, mask }) => {
    checkSameFloat(where, { query, target, rows });
    const ids = checkChunks(where, query, rows, negatives, chunks);
    checkShapeIs(where, 'target', target, query.shape);
    inputs.push(query, target);
    // A copy: backward may run again after the caller has changed its arrays, and kernels trust ids checked once.
    return { negatives: ids.slice(), mask: checkMask(where, mask, query.shape[0], ids.length / chunks) };
  });
  return chunkedSoftmaxLossOp(inputs, { sides: lists, chunks, mean, ready: null });
}

export function isMean(where: string, { reduction = 'sum' }: ChunkedLossOptions): boolean {
  if (reduction !== 'sum' && reduction !== 'mean')
    throw new ValueError(expected(where, "'sum' or 'mean'", 'reduction', reduction));
  return reduction === 'mean';
}

/** Checks the range of a mask's numbers and returns a copy; null if nothing is masked. */
export function checkMask(
  where: string,
  mask: NegativeMask | null | undefined,
  edges: number,
  n: number,
): NegativeMask | null {
  if (mask === null || mask === undefined || mask.positions.length === 0) return null;
  const { offsets } = mask;
  if (offsets.length !== edges + 1 || offsets[0] !== 0 || offsets[edges] !== mask.positions.length) {
    const want = `${edges + 1} numbers from 0 to ${mask.positions.length}`;
    const got = `${formatShape([offsets.length])} from ${offsets[0]} to ${offsets[offsets.length - 1]}`;
    throw new ShapeError(expected(where, want, 'mask.offsets', got));
  }
  for (let i = 0; i < edges; i++) {
    if (offsets[i + 1] < offsets[i])
      throw new ValueError(
        expected(where, 'ascending numbers', 'mask.offsets', `${offsets[i + 1]} after ${offsets[i]}`),
      );
  }
  return {
    offsets: offsets.slice(),
    positions: checkIds(where, 'mask.positions', mask.positions, n).slice(),
  };
}

/** Creates a mask from pairs [edge, position, edge, position, …] in any order. */
export function negativeMask(pairs: Int32Array, edges: number): NegativeMask {
  const count = pairs.length / 2;
  const keys = Int32Array.from({ length: Math.floor(count) }, (_, i) => pairs[2 * i]);
  if (!Number.isInteger(count))
    throw new ShapeError(expected('negativeMask', 'two numbers for each entry', 'pairs', pairs.length));
  checkIds('negativeMask', 'pairs', keys, edges);
  const offsets = new Int32Array(edges + 1);
  const order = new Int32Array(count);
  kernels().groupByKey(keys, offsets, order, count, edges);
  return { offsets, positions: order.map((i) => pairs[2 * i + 1]) };
}

/**
 * The kernels that score edges; part of the contract in `kernels.ts`, whose rules hold here too.
 *
 * `op` is a code of `scoreOps`: dot q·n, l2 −√max(Σ(q − n)², 1e-8), l1 −Σ|q − n|; `width` > 0 numbers a row. A batch of
 * `edges` is cut into `chunks` runs of ⌈edges / chunks⌉ (the last ones may be short or empty); the edges of run c share
 * the n > 0 negatives rows[negatives[c·n + j]]. Gradients of `rows` are added to gRows: by chunk, in ascending order.
 */
import type { FloatArray } from './types.js';

export interface ScoreKernels {
  /** out = a·b of complex numbers, or a·conj(b); a row has `half` real parts, then `half` imaginary ones. */
  complexProduct(
    a: FloatArray,
    b: FloatArray,
    out: FloatArray,
    rows: number,
    half: number,
    conjugate: boolean,
  ): void;
  /** out[i] = score(a[i, :], b[i, :]), with the bits that the same pair has in chunkedScores and rankTile. */
  pairScores(op: number, a: FloatArray, b: FloatArray, out: FloatArray, pairs: number, width: number): void;
  /** y is the forward's result; ga or gb may be null. */
  pairScoresBackward(
    op: number,
    gy: FloatArray,
    y: FloatArray,
    a: FloatArray,
    b: FloatArray,
    ga: FloatArray | null,
    gb: FloatArray | null,
    pairs: number,
    width: number,
  ): void;
  /** out[i, j] = score(query[i, :], negative j of the run of i). */
  chunkedScores(
    op: number,
    query: FloatArray,
    rows: FloatArray,
    negatives: Int32Array,
    out: FloatArray,
    edges: number,
    width: number,
    chunks: number,
    n: number,
  ): void;
  /** y is the forward's result; gQuery is overwritten, gRows [rowCount, width] added to; either may be null. */
  chunkedScoresBackward(
    op: number,
    gy: FloatArray,
    y: FloatArray,
    query: FloatArray,
    rows: FloatArray,
    negatives: Int32Array,
    gQuery: FloatArray | null,
    gRows: FloatArray | null,
    edges: number,
    width: number,
    rowCount: number,
    chunks: number,
    n: number,
  ): void;
  /**
   * loss[i] = log(eᵖ + Σⱼ eˢʲ) − p with p = query·target and s the dot products with the negatives, without those whose
   * positions maskPositions lists for edge i (maskOffsets[i] … maskOffsets[i+1]−1; null: none). Gradients of scale · Σ loss:
   * gQuery and gTarget are overwritten (both null: the loss alone), gRows is added to (null: not wanted).
   */
  chunkedSoftmaxLoss(
    query: FloatArray,
    target: FloatArray,
    rows: FloatArray,
    negatives: Int32Array,
    maskOffsets: Int32Array | null,
    maskPositions: Int32Array | null,
    loss: FloatArray,
    gQuery: FloatArray | null,
    gTarget: FloatArray | null,
    gRows: FloatArray | null,
    edges: number,
    width: number,
    rowCount: number,
    chunks: number,
    n: number,
    scale: number,
  ): void;
  /**
   * The same loss for edges given by row numbers: query i = op(rows[sources[i]], table[relations[i]]) with a code of
   * `relationOps` (complex: an even width, real parts first), target i = rows[targets[i]]. gRead [2·edges + chunks·n, width]
   * gets the gradient of every row as it was read: of the sources, of the targets, of the negatives (null: the loss alone);
   * gRelations [edges, width] those of the relations (null: not wanted). Without an operator table and relations are null.
   */
  edgeSoftmaxLoss(
    op: number,
    rows: FloatArray,
    sources: Int32Array,
    targets: Int32Array,
    table: FloatArray | null,
    relations: Int32Array | null,
    negatives: Int32Array,
    maskOffsets: Int32Array | null,
    maskPositions: Int32Array | null,
    loss: FloatArray,
    gRead: FloatArray | null,
    gRelations: FloatArray | null,
    edges: number,
    width: number,
    chunks: number,
    n: number,
    scale: number,
  ): void;
  /**
   * Of the `count` nodes first, first + 1, … with rows in `tile`, adds to greater[q] how many score higher than positive[q]
   * (or not comparable: NaN) and to equal[q] how many score the same, leaving out node positiveIds[q] and the nodes that
   * filterIds lists for q in ascending order (null: none).
   */
  rankTile(
    op: number,
    query: FloatArray,
    positive: FloatArray,
    positiveIds: Int32Array,
    tile: FloatArray,
    first: number,
    filterOffsets: Int32Array | null,
    filterIds: Int32Array | null,
    greater: Int32Array,
    equal: Int32Array,
    queries: number,
    width: number,
    count: number,
  ): void;
}

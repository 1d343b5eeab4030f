/**
 * The kernels that score edges; part of the contract in `kernels.ts`, whose rules hold here too.
 *
 * `op` is a code of `scoreOps`: dot q·n, l2 −√max(Σ(q − n)², 1e-8), l1 −Σ|q − n|. A batch of `edges` is divided into
 * `chunks` runs of ⌈edges / chunks⌉ (the last ones may be short or empty); the edges of run c share the n > 0 negatives
 * rows[negatives[c·n + j]]. Gradients of `rows` are added to gRows: by chunk, in ascending order.
 */
import type { FloatArray, RandomKey } from './types.js';

export interface PairScoresBackwardArguments {
  /** Code of `scoreOps`. */
  readonly op: number;
  /** Gradient of the scores. */
  readonly gy: FloatArray;
  /** The scores of the forward pass. */
  readonly y: FloatArray;
  readonly a: FloatArray;
  readonly b: FloatArray;
  /** Gradient of a, overwritten; null if it is not needed. */
  readonly ga: FloatArray | null;
  /** Gradient of b, overwritten; null if it is not needed. */
  readonly gb: FloatArray | null;
  readonly pairs: number;
  /** Numbers per row. */
  readonly width: number;
}

/** Edges in chunks that share negatives. */
interface ChunkArguments {
  /** The rows of which the negatives are some. */
  readonly rows: FloatArray;
  /** Row of each negative [chunks, n]. */
  readonly negatives: Int32Array;
  readonly edges: number;
  /** Numbers per row, > 0. */
  readonly width: number;
  /** Number of chunks. */
  readonly chunks: number;
  /** Negatives per chunk. */
  readonly n: number;
}

export interface ChunkedScoresArguments extends ChunkArguments {
  /** Code of `scoreOps`. */
  readonly op: number;
  /** [edges, width]. */
  readonly query: FloatArray;
  /** The scores [edges, n], written. */
  readonly out: FloatArray;
}

/** Gradients of queries and of rows. */
interface ChunkGradients {
  /** [edges, width]. */
  readonly query: FloatArray;
  /** Gradient of query, overwritten; null if it is not needed. */
  readonly gQuery: FloatArray | null;
  /** Gradient [rowCount, width] of rows, added to; null if it is not needed. */
  readonly gRows: FloatArray | null;
  /** Rows of gRows. */
  readonly rowCount: number;
}

export interface ChunkedScoresBackwardArguments extends ChunkArguments, ChunkGradients {
  /** Code of `scoreOps`. */
  readonly op: number;
  /** Gradient of the scores. */
  readonly gy: FloatArray;
  /** The scores of the forward pass. */
  readonly y: FloatArray;
}

/** A softmax loss over an edge and its negatives. */
interface SoftmaxLossArguments extends ChunkArguments {
  /** Boundaries of the edges in maskPositions; null to use all negatives. */
  readonly maskOffsets: Int32Array | null;
  /** Positions of negatives that an edge leaves out; null with maskOffsets. */
  readonly maskPositions: Int32Array | null;
  /** Loss of each edge, written. */
  readonly loss: FloatArray;
  /** Gradients are those of scale · Σ loss. */
  readonly scale: number;
}

export interface ChunkedSoftmaxLossArguments extends SoftmaxLossArguments, ChunkGradients {
  /** [edges, width]. */
  readonly target: FloatArray;
  /** Gradient of target, overwritten; null with gQuery, for the loss alone. */
  readonly gTarget: FloatArray | null;
}

export interface EdgeSoftmaxLossArguments extends SoftmaxLossArguments {
  /** Code of `relationOps`. */
  readonly op: number;
  /** Row of each edge's source. */
  readonly sources: Int32Array;
  /** Row of each edge's target. */
  readonly targets: Int32Array;
  /** Rows of the relations; null without an operator. */
  readonly table: FloatArray | null;
  /** Relation of each edge; null without an operator. */
  readonly relations: Int32Array | null;
  /**
   * Gradient [2·edges + chunks·n, width] of every row as it was read: of the sources, of the targets, of the negatives; null
   * for the loss alone.
   */
  readonly gRead: FloatArray | null;
  /** Gradient [edges, width] of each edge's relation; null if it is not needed. */
  readonly gRelations: FloatArray | null;
}

/** Queries against all rows of a table. Every list of ids belongs to a query: offsets[i] … offsets[i+1]−1 are those of query i. */
export interface QueryLossArguments {
  /** Code of `queryKinds`. */
  readonly kind: number;
  /** [queries, width]. */
  readonly query: FloatArray;
  /** [count, width]. */
  readonly table: FloatArray;
  /** Added to the scores of each row [count]; null for none. */
  readonly bias: FloatArray | null;
  /** Boundaries of the queries in answers. */
  readonly answerOffsets: Int32Array;
  /** Rows that a query should find, in any order; one that occurs twice counts twice. */
  readonly answers: Int32Array;
  /** Boundaries of the queries in known; null without known rows. */
  readonly knownOffsets: Int32Array | null;
  /** Rows that do not compete in masked_softmax; null with knownOffsets. */
  readonly known: Int32Array | null;
  /** Weight of each query's first term. */
  readonly omega: FloatArray;
  /** Weight of each of its answers. */
  readonly tau: FloatArray;
  /** Weight of every row as if it were an answer: label smoothing. */
  readonly sigma: FloatArray;
  /** Added to the scores of bce. */
  readonly offset: number;
  /** Probability p of dropping an element of the table, rounded to a multiple of 2⁻¹⁶. */
  readonly drop: number;
  /**
   * Element e of the table is dropped where half-word e of the key's sequence (of each word the lower half first) is less than
   * 2¹⁶·p, else divided by 1 − p; null to drop none.
   */
  readonly key: RandomKey | null;
  /** Loss of each query, written. */
  readonly loss: FloatArray;
  /** Gradients of Σ loss, overwritten; null where one is not needed. */
  readonly gQuery: FloatArray | null;
  readonly gTable: FloatArray | null;
  readonly gBias: FloatArray | null;
  readonly queries: number;
  /** Rows of the table. */
  readonly count: number;
  /** Numbers per row, > 0. */
  readonly width: number;
}

export interface RankTileArguments {
  /** Code of `scoreOps`. */
  readonly op: number;
  /** [queries, width]. */
  readonly query: FloatArray;
  /** Score of each query's true node. */
  readonly positive: FloatArray;
  /** The true node of each query. */
  readonly positiveIds: Int32Array;
  /** Rows of nodes first … first + count − 1. */
  readonly tile: FloatArray;
  readonly first: number;
  /** Boundaries of the queries in filterIds; null to filter none. */
  readonly filterOffsets: Int32Array | null;
  /** Nodes that a query leaves out, ascending; null with filterOffsets. */
  readonly filterIds: Int32Array | null;
  /** Per query, nodes that score higher; added to. */
  readonly greater: Int32Array;
  /** Per query, nodes that score the same; added to. */
  readonly equal: Int32Array;
  readonly queries: number;
  /** Numbers per row. */
  readonly width: number;
  /** Nodes of the tile. */
  readonly count: number;
}

export interface ScoreKernels {
  /** out = a·b of complex numbers, or a·conj(b); a row has `half` real components, then `half` imaginary ones. */
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
  pairScoresBackward(args: PairScoresBackwardArguments): void;
  /** out[i, j] = score(query[i, :], negative j of the run of i). */
  chunkedScores(args: ChunkedScoresArguments): void;
  chunkedScoresBackward(args: ChunkedScoresBackwardArguments): void;
  /**
   * loss[i] = log(eᵖ + Σⱼ eˢʲ) − p with p = query·target and s the dot products with the negatives, without those whose
   * positions maskPositions lists for edge i (maskOffsets[i] … maskOffsets[i+1]−1).
   */
  chunkedSoftmaxLoss(args: ChunkedSoftmaxLossArguments): void;
  /**
   * The loss of chunkedSoftmaxLoss for edges given by row numbers: query i = op(rows[sources[i]], table[relations[i]]), where
   * complex rows have an even width and real components first, target i = rows[targets[i]].
   */
  edgeSoftmaxLoss(args: EdgeSoftmaxLossArguments): void;
  /**
   * The loss of each query against all rows. With its scores s (table rows after dropout, plus bias), its answers o, c of them, the
   * weights ω, τ, σ, and y the sum of τ for every time that a row is an answer, and of σ:
   * - softmax: ω·log Σ eˢ − Σ y·s
   * - masked_softmax: Σₒ (ω/c)·log(eˢᵒ + Z) − (τ + σ/c)·sₒ, minus σ·Σ s over the rows of Z; Z = Σ eˢ without known rows and answers
   * - bce: Σ ω·log(1 + eˢ) − y·s, with offset added to every s
   * - squares: ω·Σ (s − y/ω)², 0 if ω is 0
   */
  queryLoss(args: QueryLossArguments): void;
  /**
   * Counts the nodes of a tile that score higher than positive[q] (or not comparable: NaN) and the same, leaving out node
   * positiveIds[q] and the nodes that filterIds lists for q.
   */
  rankTile(args: RankTileArguments): void;
}

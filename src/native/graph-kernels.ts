/**
 * The kernels that walk a sparse structure; part of the contract in `kernels.ts`, whose rules hold here too.
 *
 * A structure is `offsets` (rows + 1) and `indices`: row r owns entries offsets[r] … offsets[r+1]−1, and entry p joins it
 * to node u = indices[p]. Grouped by destination (CSC), rows are destinations, u is a source and the entry is an edge;
 * the transposed form (CSR) has the sources as rows, and `positions` has the position of each entry's edge in destination order.
 * Edge data is always in destination order. A row's entries are combined in ascending order, by one thread.
 */
import type { FloatArray, Offsets } from './types.js';

/** A sparse structure and the width of the features at its ends. */
interface SparseRows {
  /** Row boundaries, rows + 1. */
  readonly offsets: Offsets;
  /** The node u at the other end of each entry. */
  readonly indices: Int32Array;
  readonly rows: number;
  /** Features per node. */
  readonly width: number;
}

export interface SpmmArguments extends SparseRows {
  /** Code of `reduceOps`. */
  readonly op: number;
  /** Features [xRows, width] of the nodes u. */
  readonly x: FloatArray;
  /** Edge weights [*, wCols], where each column belongs to a block of width / wCols features; null for 1. */
  readonly w: FloatArray | null;
  /** Factor of each row of x; null for 1. */
  readonly xScale: FloatArray | null;
  /** Factor of each row of y; null for 1. */
  readonly yScale: FloatArray | null;
  /** For each entry, the position s of its edge in w; null for the entry itself. */
  readonly positions: Int32Array | null;
  /** The result [rows, width]. */
  readonly y: FloatArray;
  /** Max and min: the s that won [rows, width], written; null if it is not needed. */
  readonly arg: Int32Array | null;
  readonly xRows: number;
  readonly wCols: number;
  /** Whether row r also takes row r + self of x. */
  readonly hasSelf: boolean;
  readonly self: number;
  /** Whether the result is added to y. */
  readonly accumulate: boolean;
}

export interface SpmmArgBackwardArguments extends SparseRows {
  /** Gradient of the result. */
  readonly gy: FloatArray;
  /** As in spmm. */
  readonly w: FloatArray | null;
  /** The winners of spmm. */
  readonly arg: Int32Array;
  /** For each entry, the position s of its edge in w. */
  readonly positions: Int32Array;
  /** Gradient [rows, width] of x, overwritten. */
  readonly gx: FloatArray;
  readonly wCols: number;
}

export interface SddmmArguments extends SparseRows {
  /** Features of the nodes u. */
  readonly x: FloatArray;
  /** Features of the rows. */
  readonly y: FloatArray;
  /** Factor of each row of x; null for 1. */
  readonly xScale: FloatArray | null;
  /** Factor of each row of y; null for 1. */
  readonly yScale: FloatArray | null;
  /** Only features f with arg[r, f] = p contribute to entry p; null for all. */
  readonly arg: Int32Array | null;
  /** The result [entries, heads]. */
  readonly out: FloatArray;
  /** Blocks of features; divides width. */
  readonly heads: number;
}

export interface GraphKernels {
  /** Stable counting sort of n keys in [0, count): `order` lists the positions of key 0, then of key 1, …, each group ascending; `offsets` (count + 1) has the start of each group. */
  groupByKey(keys: Int32Array, offsets: Offsets, order: Int32Array, n: number, count: number): void;
  /**
   * y[r, :] = yScale[r] · REDUCE over the entries p of row r of w[s, g(f)] · xScale[u] · x[u, f], where s is positions[p] or p
   * and w [*, wCols] gives each block of width / wCols features one column.
   * `hasSelf` (sum and mean) adds an entry of weight 1 in front: row r + self of x, where x (xRows rows) has it; mean counts it.
   * An empty row gives 0. Max and min: `arg` gets the s that won (the first of equals, NaN wins), −1 for an empty row.
   * `accumulate` (sum and mean) adds to y.
   */
  spmm(args: SpmmArguments): void;
  /** The gradient of spmm's max and min, over the transposed structure: gx[r, f] = Σ w[s, g(f)] · gy[v, f] over the entries (v, s) with arg[v, f] = s. */
  spmmArgBackward(args: SpmmArgBackwardArguments): void;
  /** out[p, h] = yScale[r] · xScale[u] · Σ over the features f of head h of x[u, f] · y[r, f]; with `arg` only where arg[r, f] = p. heads divides width. */
  sddmm(args: SddmmArguments): void;
  /** Softmax over the entries of each row, for every head (scores [E, heads]). */
  edgeSoftmax(scores: FloatArray, offsets: Offsets, out: FloatArray, rows: number, heads: number): void;
  edgeSoftmaxBackward(
    out: FloatArray,
    gout: FloatArray,
    offsets: Offsets,
    gscores: FloatArray,
    rows: number,
    heads: number,
  ): void;
  /**
   * Joins extremes over more entries (row i of part) into row rows[i] of y: part wins where it is larger (smaller), where it is
   * NaN and y is not, and of equals where its position is lower; arg −1 means that there is no value yet. Rows are unique; null: row i.
   */
  mergeExtreme(
    max: boolean,
    y: FloatArray,
    arg: Int32Array,
    part: FloatArray,
    argPart: Int32Array,
    rows: Int32Array | null,
    count: number,
    width: number,
  ): void;
  /**
   * Joins attention over more entries (row i of part, with its lse) into row rows[i] of y [*, heads, width] and lse, which is −∞
   * where there were none yet: the result is attention over all of them. Rows are unique; null: row i.
   */
  mergeAttention(
    y: FloatArray,
    lse: FloatArray,
    part: FloatArray,
    lsePart: FloatArray,
    rows: Int32Array | null,
    count: number,
    heads: number,
    width: number,
  ): void;
}

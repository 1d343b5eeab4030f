/**
 * The kernels that walk a sparse structure; part of the contract in `kernels.ts`, whose rules hold here too.
 *
 * A structure is `offsets` (rows + 1) and `indices`: row r owns entries offsets[r] … offsets[r+1]−1, and entry p joins it
 * to node u = indices[p]. Grouped by destination (CSC), rows are destinations, u is a source and the entry is the slot
 * of an edge; the transposed form (CSR) has the sources as rows and names the slot of each entry in `slots`. Edge data
 * is always in slot order. A row's entries are combined in ascending order, by one thread.
 */
import type { FloatArray, Offsets, RandomKey } from './types.js';

export interface GraphKernels {
  /** Stable counting sort of n keys in [0, count): `order` lists the positions of key 0, then of key 1, …, each group ascending; `offsets` (count + 1) says where each group starts. */
  groupByKey(keys: Int32Array, offsets: Offsets, order: Int32Array, n: number, count: number): void;
  /**
   * y[r, :] = yScale[r] · REDUCE over the entries p of row r of w[s, g(f)] · xScale[u] · x[u, f], where s is slots[p] or p
   * and w [*, wCols] gives each block of width / wCols features one column. Null w, xScale or yScale stand for 1.
   * `hasSelf` (sum and mean) adds an entry of weight 1 in front: row r + self of x, where x (xRows rows) has it; mean counts it.
   * An empty row gives 0. Max and min: `arg` gets the s that won (the first of equals, NaN wins), −1 for an empty row.
   * `accumulate` (sum and mean) adds to y.
   */
  spmm(
    op: number,
    x: FloatArray,
    w: FloatArray | null,
    xScale: FloatArray | null,
    yScale: FloatArray | null,
    offsets: Offsets,
    indices: Int32Array,
    slots: Int32Array | null,
    y: FloatArray,
    arg: Int32Array | null,
    rows: number,
    xRows: number,
    width: number,
    wCols: number,
    hasSelf: boolean,
    self: number,
    accumulate: boolean,
  ): void;
  /** The gradient of spmm's max and min, over the transposed structure: gx[r, f] = Σ w[s, g(f)] · gy[v, f] over the entries (v, s) with arg[v, f] = s. */
  spmmArgBackward(
    gy: FloatArray,
    w: FloatArray | null,
    arg: Int32Array,
    offsets: Offsets,
    indices: Int32Array,
    slots: Int32Array,
    gx: FloatArray,
    rows: number,
    width: number,
    wCols: number,
  ): void;
  /** out[p, h] = yScale[r] · xScale[u] · Σ over the features f of head h of x[u, f] · y[r, f]; with `arg` only where arg[r, f] = p. heads divides width. */
  sddmm(
    x: FloatArray,
    y: FloatArray,
    xScale: FloatArray | null,
    yScale: FloatArray | null,
    arg: Int32Array | null,
    offsets: Offsets,
    indices: Int32Array,
    out: FloatArray,
    rows: number,
    width: number,
    heads: number,
  ): void;
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
   * Attention with additive scores: score[p, h] = leakyRelu(el[u, h] + er[r, h] + ee[p, h]), alpha its softmax over the row,
   * y[r, h, :] = Σ alpha · mask · z[u, h, :]; z [*, heads, width]. lse [rows, heads] = log Σ exp(score), 0 for an empty row.
   * mask is that of `dropoutRows` with probability `drop` for the ids of the entries, of `dropout` without ids; a null key
   * means none.
   */
  gatAttention(
    z: FloatArray,
    el: FloatArray,
    er: FloatArray,
    ee: FloatArray | null,
    offsets: Offsets,
    indices: Int32Array,
    ids: Int32Array | null,
    key: RandomKey | null,
    drop: number,
    y: FloatArray,
    lse: FloatArray,
    rows: number,
    heads: number,
    width: number,
    slope: number,
  ): void;
  /** attention[p, h] = alpha · mask; gscore[p, h] = alpha · (mask · gy·z[u] − gy·y) · leakyRelu', the gradient of el + er + ee. */
  gatAttentionBackward(
    z: FloatArray,
    el: FloatArray,
    er: FloatArray,
    ee: FloatArray | null,
    y: FloatArray,
    lse: FloatArray,
    gy: FloatArray,
    offsets: Offsets,
    indices: Int32Array,
    ids: Int32Array | null,
    key: RandomKey | null,
    drop: number,
    attention: FloatArray,
    gscore: FloatArray,
    rows: number,
    heads: number,
    width: number,
    slope: number,
  ): void;
  /**
   * Joins extremes over more entries (row i of part) into row rows[i] of y: part wins where it is larger (smaller), where it is
   * NaN and y is not, and of equals where its slot is lower; arg −1 says that there is no value yet. Rows are unique; null: row i.
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
  /** out[p, h] = Σ a[h, d] · leakyRelu(xl[u, h, d] + xr[r, h, d] + ee[p, h, d]) over d < width. */
  gatv2Scores(
    xl: FloatArray,
    xr: FloatArray,
    a: FloatArray,
    ee: FloatArray | null,
    offsets: Offsets,
    indices: Int32Array,
    out: FloatArray,
    rows: number,
    heads: number,
    width: number,
    slope: number,
  ): void;
  /** Gradients of the rows' own features, of a, and of ee (when gee is given). */
  gatv2ScoresBackward(
    xl: FloatArray,
    xr: FloatArray,
    a: FloatArray,
    ee: FloatArray | null,
    gout: FloatArray,
    offsets: Offsets,
    indices: Int32Array,
    gxr: FloatArray,
    ga: FloatArray,
    gee: FloatArray | null,
    rows: number,
    heads: number,
    width: number,
    slope: number,
  ): void;
  /** Gradient of xl, over the transposed structure: rows are sources, indices destinations, slots index ee and gout. */
  gatv2ScoresBackwardSource(
    xl: FloatArray,
    xr: FloatArray,
    a: FloatArray,
    ee: FloatArray | null,
    gout: FloatArray,
    offsets: Offsets,
    indices: Int32Array,
    slots: Int32Array,
    gxl: FloatArray,
    rows: number,
    heads: number,
    width: number,
    slope: number,
  ): void;
}

/**
 * Attention over the entries of a sparse structure (see `graph-kernels.ts`); part of the contract in `kernels.ts`, whose rules
 * hold here too. Features are [*, heads, width].
 */
import type { FloatArray, Offsets, RandomKey } from './types.js';

/** A sparse structure and the sizes of attention over it. */
interface AttentionShape {
  /** Row boundaries, rows + 1. */
  readonly offsets: Offsets;
  /** The node u at the other end of each entry. */
  readonly indices: Int32Array;
  readonly rows: number;
  readonly heads: number;
  /** Features per head. */
  readonly width: number;
  /** Slope of leakyRelu for negative sums. */
  readonly slope: number;
}

interface AdditiveAttention extends AttentionShape {
  /** Features [*, heads, width] of the nodes u. */
  readonly z: FloatArray;
  /** Score term [*, heads] of the nodes u. */
  readonly el: FloatArray;
  /** Score term [rows, heads] of the rows. */
  readonly er: FloatArray;
  /** Score term [entries, heads] of the entries; null for 0. */
  readonly ee: FloatArray | null;
  /** Ids of the entries, which select their dropout words; null for their positions. */
  readonly ids: Int32Array | null;
  /** Random key of the dropout mask; null for no dropout. */
  readonly key: RandomKey | null;
  /** Probability that an entry is dropped. */
  readonly drop: number;
  /** Result [rows, heads, width] of the forward pass. */
  readonly y: FloatArray;
  /** log Σ exp(score) [rows, heads] of the forward pass, 0 for an empty row. */
  readonly lse: FloatArray;
}

export interface GatAttentionArguments extends AdditiveAttention {}

export interface GatAttentionBackwardArguments extends AdditiveAttention {
  /** Gradient of y. */
  readonly gy: FloatArray;
  /** alpha · mask [entries, heads], written. */
  readonly attention: FloatArray;
  /** Gradient [entries, heads] of el + er + ee, written. */
  readonly gscore: FloatArray;
}

interface Gatv2Arguments extends AttentionShape {
  /** Features [*, heads, width] of the sources. */
  readonly xl: FloatArray;
  /** Features [*, heads, width] of the destinations. */
  readonly xr: FloatArray;
  /** Attention weights [heads, width]. */
  readonly a: FloatArray;
  /** Features [entries, heads, width] of the edges; null for 0. */
  readonly ee: FloatArray | null;
}

export interface Gatv2ScoresArguments extends Gatv2Arguments {
  /** The scores [entries, heads]. */
  readonly out: FloatArray;
}

export interface Gatv2ScoresBackwardArguments extends Gatv2Arguments {
  /** Gradient of the scores. */
  readonly gout: FloatArray;
  /** Gradient of xr, overwritten. */
  readonly gxr: FloatArray;
  /** Gradient of a, overwritten. */
  readonly ga: FloatArray;
  /** Gradient of ee, overwritten; null if it is not needed. */
  readonly gee: FloatArray | null;
}

export interface Gatv2ScoresBackwardSourceArguments extends Gatv2Arguments {
  /** Gradient of the scores. */
  readonly gout: FloatArray;
  /** For each entry, the position of its edge in ee and gout. */
  readonly positions: Int32Array;
  /** Gradient of xl, overwritten. */
  readonly gxl: FloatArray;
}

export interface AttentionKernels {
  /**
   * Attention with additive scores: score[p, h] = leakyRelu(el[u, h] + er[r, h] + ee[p, h]), alpha its softmax over the row,
   * y[r, h, :] = Σ alpha · mask · z[u, h, :]. mask is that of `dropoutRows` with probability `drop` for the ids of the
   * entries, of `dropout` without ids.
   */
  gatAttention(args: GatAttentionArguments): void;
  /** attention[p, h] = alpha · mask; gscore[p, h] = alpha · (mask · gy·z[u] − gy·y) · leakyRelu'. */
  gatAttentionBackward(args: GatAttentionBackwardArguments): void;
  /** out[p, h] = Σ a[h, d] · leakyRelu(xl[u, h, d] + xr[r, h, d] + ee[p, h, d]) over d < width. */
  gatv2Scores(args: Gatv2ScoresArguments): void;
  /** Gradients of xr, of a, and of ee (when gee is given). */
  gatv2ScoresBackward(args: Gatv2ScoresBackwardArguments): void;
  /** Gradient of xl, over the transposed structure: rows are sources, indices destinations. */
  gatv2ScoresBackwardSource(args: Gatv2ScoresBackwardSourceArguments): void;
}

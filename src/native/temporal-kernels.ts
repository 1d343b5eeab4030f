/**
 * The kernels of temporal graph attention; part of the contract in `kernels.ts`, whose rules hold here too.
 *
 * Destination i owns the edges offsets[i] … offsets[i+1]−1. Edge p has the row x = [h[neighbors[p]] ‖ features[eventRows[p]] ‖
 * cos(spans[p]·w + b) ‖ 1] of X = dimNode + dimEdge + dimTime + 1 numbers, which is never stored: keys and values are linear
 * in x, so queries come already multiplied by the key weights, and the value weights are applied to the result. The last
 * column carries the biases of both.
 */
import type { FloatArray, RandomKey } from './types.js';

interface TemporalAttention {
  /** [heads, numDst, X]. */
  readonly query: FloatArray;
  /** Rows [*, dimNode] of the nodes. */
  readonly h: FloatArray;
  /** Row of h of each edge. */
  readonly neighbors: Int32Array;
  /** Rows [*, dimEdge] of the events; null when dimEdge is 0. */
  readonly features: FloatArray | null;
  /** Row of features of each edge. */
  readonly eventRows: Int32Array;
  /** Time between the destination and each edge's event. */
  readonly spans: FloatArray;
  /** Frequencies of the time encoding. */
  readonly w: FloatArray;
  /** Phases of the time encoding. */
  readonly b: FloatArray;
  /** Boundaries of the destinations' edges. */
  readonly offsets: Int32Array;
  /** Random key of the dropout mask; null for no dropout. */
  readonly key: RandomKey | null;
  /** Probability that an edge is dropped. */
  readonly drop: number;
  /** query·x [edges, heads] of the forward pass. */
  readonly raw: FloatArray;
  /** Softmax of the scores [edges, heads] of the forward pass. */
  readonly alpha: FloatArray;
  /** Destinations. */
  readonly numDst: number;
  readonly heads: number;
  readonly dimNode: number;
  readonly dimEdge: number;
  readonly dimTime: number;
  /** Factor of the scores. */
  readonly scale: number;
  /** Slope of negative raw scores. */
  readonly slope: number;
}

export interface TemporalAttentionArguments extends TemporalAttention {
  /** The cosines [edges, dimTime], written; null if they are not needed. */
  readonly encoded: FloatArray | null;
  /** The result [heads, numDst, X]. */
  readonly y: FloatArray;
}

export interface TemporalAttentionBackwardArguments extends TemporalAttention {
  /** Gradient of y. */
  readonly gy: FloatArray;
  /** The cosines of the forward pass. */
  readonly encoded: FloatArray;
  /** Gradient of query; null if it is not needed. */
  readonly gQuery: FloatArray | null;
  /** Gradient [edges, dimNode] of each edge's row of h, to be added by neighbour; null if it is not needed. */
  readonly gNeighbors: FloatArray | null;
  /** Gradient of w; null if it is not needed. */
  readonly gw: FloatArray | null;
  /** Gradient of b; null with gw. */
  readonly gb: FloatArray | null;
}

export interface TemporalKernels {
  /**
   * raw[p, k] = query[k, i, :]·x, score = scale · (raw > 0 ? raw : slope · raw), alpha its softmax over the edges of i and
   * y[k, i, :] = Σ alpha · mask · x for each of `heads` heads. No edges give 0. mask is 0 with probability `drop`, else
   * 1 / (1 − drop): with c = j · heads + k for the j-th edge of i, counted from 0, it takes word c mod 4 of Philox block
   * (i, ⌊c / 4⌋). A row of y depends on its own edges alone.
   */
  temporalAttention(args: TemporalAttentionArguments): void;
  temporalAttentionBackward(args: TemporalAttentionBackwardArguments): void;
}

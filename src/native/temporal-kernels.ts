/**
 * The kernels of temporal graph attention; part of the contract in `kernels.ts`, whose rules hold here too.
 *
 * Destination i owns the edges offsets[i] … offsets[i+1]−1. Edge p stands for the row x = [h[neighbors[p]] ‖
 * features[eventRows[p]] ‖ cos(spans[p]·w + b) ‖ 1] of X = dimNode + dimEdge + dimTime + 1 numbers, which is never stored:
 * keys and values are linear in x, so queries come already multiplied by the key weights, and the value weights are
 * applied to the result. The last column carries the biases of both.
 */
import type { FloatArray, RandomKey } from './types.js';

export interface TemporalKernels {
  /**
   * raw[p, k] = query[k, i, :]·x, score = scale · (raw > 0 ? raw : slope · raw), alpha its softmax over the edges of i and
   * y[k, i, :] = Σ alpha · mask · x for each of `heads` heads; query and y are [heads, numDst, X]. No edges give 0.
   * Keeps raw and alpha [edges, heads] and, unless null, the cosines in `encoded` [edges, dimTime]. mask is 0 with
   * probability `drop`, else 1 / (1 − drop): with c = slot · heads + k, where slot counts the edges of i from 0, it takes
   * word c mod 4 of Philox block (i, ⌊c / 4⌋); a null key means none. A row of y depends on its own edges alone.
   */
  temporalAttention(
    query: FloatArray,
    h: FloatArray,
    neighbors: Int32Array,
    features: FloatArray | null,
    eventRows: Int32Array,
    spans: FloatArray,
    w: FloatArray,
    b: FloatArray,
    offsets: Int32Array,
    key: RandomKey | null,
    drop: number,
    raw: FloatArray,
    alpha: FloatArray,
    encoded: FloatArray | null,
    y: FloatArray,
    numDst: number,
    heads: number,
    dimNode: number,
    dimEdge: number,
    dimTime: number,
    scale: number,
    slope: number,
  ): void;
  /**
   * Gradients of query, of each edge's row of h (gNeighbors [edges, dimNode], to be added by neighbour), and of w and b
   * (both or neither). Each may be null: not wanted.
   */
  temporalAttentionBackward(
    gy: FloatArray,
    query: FloatArray,
    h: FloatArray,
    neighbors: Int32Array,
    features: FloatArray | null,
    eventRows: Int32Array,
    spans: FloatArray,
    w: FloatArray,
    b: FloatArray,
    offsets: Int32Array,
    key: RandomKey | null,
    drop: number,
    raw: FloatArray,
    alpha: FloatArray,
    encoded: FloatArray,
    gQuery: FloatArray | null,
    gNeighbors: FloatArray | null,
    gw: FloatArray | null,
    gb: FloatArray | null,
    numDst: number,
    heads: number,
    dimNode: number,
    dimEdge: number,
    dimTime: number,
    scale: number,
    slope: number,
  ): void;
}

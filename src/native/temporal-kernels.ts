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

/** A node at many times: what does not depend on the time is given, by node and by event. */
export interface MomentAttentionArguments {
  /** The part of the scores of each event that does not depend on time [events, heads]. */
  readonly fixed: FloatArray;
  /** The part of the values of each event that does not depend on time, mapped to the result [*, heads, hidden]. */
  readonly mapped: FloatArray;
  /** Row of `mapped` of each event. */
  readonly mappedRows: Int32Array;
  /** Row of each event in the stream, ascending for each node. */
  readonly eventRows: Int32Array;
  readonly eventTimes: Float64Array;
  /** Boundaries of the nodes' events. */
  readonly offsets: Int32Array;
  /** Multiplies the cosines of the spans in the scores [numNodes, heads, dimTime]. */
  readonly query: FloatArray;
  /** Added to the rows of a node [numNodes, hidden]. */
  readonly own: FloatArray;
  /** Frequencies of the time encoding. */
  readonly w: FloatArray;
  /** Phases of the time encoding. */
  readonly b: FloatArray;
  /** Maps the weighted cosines of all heads to the result [heads·dimTime, hidden]. */
  readonly merge: FloatArray;
  /** A time sees the events in rows below its cutoff. */
  readonly cutoffs: Int32Array;
  readonly times: Float64Array;
  /** The result [numNodes, numTimes, hidden]. */
  readonly y: FloatArray;
  readonly numNodes: number;
  readonly numTimes: number;
  /** The most events of a row: the latest. */
  readonly fanout: number;
  readonly heads: number;
  readonly dimTime: number;
  readonly hidden: number;
  /** Factor of the scores. */
  readonly scale: number;
  /** Slope of negative raw scores. */
  readonly slope: number;
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
  /**
   * For every node and time: with c = cos(span·w + b) of each visible event, span the time since it rounded to 32 bits, score =
   * scale · leaky(fixed[k] + query[k]·c), alpha its softmax by head k, y = relu(own + Σ alpha · mapped[k] + merge · Σ alpha · c).
   * Without visible events the sums are 0. A row depends on its own events alone.
   */
  momentAttention(args: MomentAttentionArguments): void;
}

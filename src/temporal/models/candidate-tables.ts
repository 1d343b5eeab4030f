/** The inputs of `momentAttention` for some candidates and their latest events: all that does not depend on the time of a question. */
import { kernels } from '../../native/index.js';
import { add, gatherRows, linear, reshape, type Tensor } from '../../tensor/index.js';
import { pack } from '../../tensor/ops/common.js';
import type { TemporalAttentionLayer } from '../layers/attention-layer.js';
import type { MomentWeights } from '../layers/moment-weights.js';
import type { PastEvents } from '../past-events.js';
import { mailFeatures } from './state-rows.js';

export interface CandidateTables {
  /** [events, heads]. */
  readonly fixed: Float32Array;
  /** [*, heads·hidden], with the row of each event. */
  readonly mapped: Float32Array;
  readonly mappedRows: Int32Array;
  /** [candidates, heads, dimTime]. */
  readonly query: Float32Array;
  /** [candidates, hidden]. */
  readonly own: Float32Array;
}

export interface CandidateInputs {
  readonly layer: TemporalAttentionLayer;
  readonly weights: MomentWeights;
  readonly past: PastEvents;
  /** Rows of candidates and neighbours, the input of the layer [*, dimNode]. */
  readonly h: Tensor;
  /** Their contributions as neighbours [*, heads·hidden]. */
  readonly mapped: Tensor;
  /** Row of h of each candidate, and of the neighbour of each event. */
  readonly candidateRows: Int32Array;
  readonly neighborRows: Int32Array;
  /** Features by event row; null without. */
  readonly edgeFeatures: Float32Array | null;
}

export function candidateTables(inputs: CandidateInputs): CandidateTables {
  const { layer, weights, past, h, mapped, candidateRows, neighborRows, edgeFeatures } = inputs;
  const { dimEdge } = layer.sizes;
  const features =
    dimEdge === 0 || edgeFeatures === null ? null : mailFeatures(edgeFeatures, dimEdge, past.rows, 'f32');
  const own = gatherRows(h, candidateRows);
  const queries = layer.keyedQueries(own);
  return {
    ...queryParts(layer, queries, inputs, features),
    mapped: pack(
      features === null || weights.edge === null
        ? mapped
        : add(gatherRows(mapped, neighborRows), linear(features, weights.edge)),
    ) as Float32Array,
    mappedRows: features === null ? neighborRows : neighborRows.map((_, p) => p),
    own: pack(linear(own, weights.own, weights.ownBias)) as Float32Array,
  };
}

/** Divides queries [heads, candidates, X] into the columns of cosines and the scores of everything else. */
function queryParts(
  { sizes }: TemporalAttentionLayer,
  queries: Tensor,
  { past, h, neighborRows }: CandidateInputs,
  features: Tensor | null,
): Pick<CandidateTables, 'fixed' | 'query'> {
  const { heads, dimNode, dimEdge, dimTime } = sizes;
  const { offsets } = past;
  const [, count, width] = queries.shape;
  const whole = pack(queries) as Float32Array;
  const column = (k: number, from: number, size: number): Float32Array => {
    const part = new Float32Array(count * size);
    for (let c = 0; c < count; c++) {
      const at = (k * count + c) * width + from;
      part.set(whole.subarray(at, at + size), c * size);
    }
    return part;
  };
  const query = new Float32Array(count * heads * dimTime);
  const fixed = new Float32Array(neighborRows.length * heads);
  const one = new Float32Array(neighborRows.length);
  for (let k = 0; k < heads; k++) {
    const times = column(k, dimNode + dimEdge, dimTime);
    for (let c = 0; c < count; c++)
      query.set(times.subarray(c * dimTime, (c + 1) * dimTime), (c * heads + k) * dimTime);
    const add = (x: Tensor, rows: Int32Array, from: number, size: number): void => {
      const y = column(k, from, size);
      const none = { xScale: null, yScale: null, arg: null };
      const entries = { offsets, indices: rows, out: one, rows: count, width: size, heads: 1 };
      kernels().sddmm({ x: pack(x), y, ...none, ...entries });
      for (let p = 0; p < one.length; p++) fixed[p * heads + k] += one[p];
    };
    for (let c = 0; c < count; c++)
      for (let p = offsets[c]; p < offsets[c + 1]; p++)
        fixed[p * heads + k] = whole[(k * count + c + 1) * width - 1];
    add(h, neighborRows, 0, dimNode);
    if (features !== null)
      add(
        reshape(features, [neighborRows.length, dimEdge]),
        neighborRows.map((_, p) => p),
        dimNode,
        dimEdge,
      );
  }
  return { fixed, query };
}

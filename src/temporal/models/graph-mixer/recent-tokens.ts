/** The inputs of GraphMixer for some roots: tokens of their latest events, and sums of node features. */
import type { TemporalHop } from '../../../sample/temporal-hop.js';
import { concat, fromTypedArray, mul, type Tensor, timeEncode } from '../../../tensor/index.js';
import type { TemporalBatch } from '../../batch.js';
import { mailFeatures } from '../state-rows.js';

/** Returns the frequencies of the fixed encoding of time: α^(−i/β) for i = 0 …, with α = β = √dim. */
export function fixedFrequencies(dim: number): Float32Array {
  const root = Math.sqrt(dim);
  return Float32Array.from({ length: dim }, (_, i) => root ** (-i / root));
}

/** Roots `from` … `to` − 1 of a batch. */
export interface RootRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the tokens of the `count` latest events of each root [roots · count, featureWidth + dimTime]: features of the event
 * and cos(ω Δ) of its age. The latest event is the last token; roots with fewer events begin with tokens of zeros.
 */
export function recentTokens(
  { hops: [hop], edgeFeatures, featureWidth }: TemporalBatch,
  count: number,
  { weight, bias }: { readonly weight: Tensor; readonly bias: Tensor },
  { from, to }: RootRange,
): Tensor {
  const size = (to - from) * count;
  const [ages, present] = [new Float32Array(size), new Float32Array(size)];
  const events = new Int32Array(size).fill(-1);
  for (let root = from; root < to; root++) {
    const end = hop.indptr[root + 1];
    const taken = Math.min(count, end - hop.indptr[root]);
    for (let k = 1; k <= taken; k++) {
      const at = (root - from + 1) * count - k;
      ages[at] = hop.spans[end - k];
      events[at] = hop.eventRows[end - k];
      present[at] = 1;
    }
  }
  const encoded = mul(
    timeEncode(fromTypedArray(ages, [size]), weight, bias),
    fromTypedArray(present, [size, 1]),
  );
  if (featureWidth === 0 || edgeFeatures === null) return encoded;
  return concat([mailFeatures(edgeFeatures, featureWidth, events, 'f32'), encoded], 1);
}

/** Returns the features of each root plus the mean of those of its sampled neighbours that are younger than `gap`. */
export function nodeSums(
  { nodeFeatures, nodeOfRow }: TemporalBatch,
  hop: TemporalHop,
  gap: number,
  { from, to }: RootRange,
): Tensor {
  const features = nodeFeatures as Tensor;
  const width = features.shape[1];
  const x = features.dataSync() as Float32Array;
  const sums = new Float32Array((to - from) * width);
  for (let root = from; root < to; root++) {
    const at = (root - from) * width;
    let neighbors = 0;
    for (let p = hop.indptr[root]; p < hop.indptr[root + 1]; p++) {
      if (hop.spans[p] >= gap) continue;
      neighbors++;
      const row = nodeOfRow[0][hop.sources[p]] * width;
      for (let j = 0; j < width; j++) sums[at + j] += x[row + j];
    }
    const own = nodeOfRow[0][root] * width;
    for (let j = 0; j < width; j++)
      sums[at + j] = x[own + j] + (neighbors === 0 ? 0 : sums[at + j] / neighbors);
  }
  return fromTypedArray(sums, [to - from, width]);
}

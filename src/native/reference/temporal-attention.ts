/** Attention over the recent edges of a node: twins of `native/kernels/attention/temporal_attention.cpp`. */
import type { Kernels } from '../kernels.js';
import type { FloatArray } from '../types.js';
import { attentionMask, edgeRow } from './temporal-edge-row.js';

export const temporalAttentionTwins = {
  temporalAttention(args) {
    const { query, h, neighbors, features, eventRows, spans, w, b, offsets, key, drop, raw, alpha } = args;
    const { encoded, y, numDst, heads, dimNode, dimEdge, dimTime, scale, slope } = args;
    const width = dimNode + dimEdge + dimTime + 1;
    const x = new Float64Array(width);
    const sums = new Float64Array(heads * width);
    const cosines = new Float64Array(dimTime);
    const load = (p: number): void => {
      for (let j = 0; j < dimTime; j++) cosines[j] = Math.cos(spans[p] * w[j] + b[j]);
      edgeRow(x, h, neighbors[p], features, eventRows[p], cosines, 0, dimNode, dimEdge, dimTime);
    };
    for (let i = 0; i < numDst; i++) {
      const begin = offsets[i];
      const end = offsets[i + 1];
      for (let p = begin; p < end; p++) {
        load(p);
        encoded?.set(cosines, p * dimTime);
        for (let k = 0; k < heads; k++) {
          const from = (k * numDst + i) * width;
          let dot = 0;
          for (let f = 0; f < width; f++) dot += query[from + f] * x[f];
          raw[p * heads + k] = dot;
        }
      }
      for (let k = 0; k < heads; k++) softmaxOf(raw, alpha, begin, end, heads, k, scale, slope);
      sums.fill(0);
      for (let p = begin; p < end; p++) {
        load(p);
        for (let k = 0; k < heads; k++) {
          const c = (p - begin) * heads + k;
          const share = alpha[p * heads + k] * attentionMask(key, drop, i, c);
          for (let f = 0; f < width; f++) sums[k * width + f] += share * x[f];
        }
      }
      for (let k = 0; k < heads; k++)
        y.set(sums.subarray(k * width, (k + 1) * width), (k * numDst + i) * width);
    }
  },
  temporalAttentionBackward(args) {
    const { gy, query, h, neighbors, features, eventRows, spans, w, b, offsets, key, drop, raw } = args;
    const { alpha, encoded, gQuery, gNeighbors, gw, gb, numDst, heads, dimNode, dimEdge, dimTime } = args;
    const { scale, slope } = args;
    const width = dimNode + dimEdge + dimTime + 1;
    const timeAt = dimNode + dimEdge;
    const x = new Float64Array(width);
    const sums = new Float64Array(heads * width);
    const sumW = new Float64Array(dimTime);
    const sumB = new Float64Array(dimTime);
    const row = (p: number): void =>
      edgeRow(x, h, neighbors[p], features, eventRows[p], encoded, p * dimTime, dimNode, dimEdge, dimTime);
    for (let i = 0; i < numDst; i++) {
      const begin = offsets[i];
      const end = offsets[i + 1];
      const gScore = scoreGradients(begin, end, i);
      sums.fill(0);
      for (let p = begin; p < end; p++) {
        row(p);
        for (let k = 0; k < heads; k++) {
          const g = gScore[(p - begin) * heads + k];
          for (let f = 0; f < width; f++) sums[k * width + f] += g * x[f];
        }
        x.fill(0);
        for (let k = 0; k < heads; k++) {
          const c = (p - begin) * heads + k;
          const share = alpha[p * heads + k] * attentionMask(key, drop, i, c);
          const from = (k * numDst + i) * width;
          for (let f = 0; f < width; f++) x[f] += gScore[c] * query[from + f] + share * gy[from + f];
        }
        gNeighbors?.set(x.subarray(0, dimNode), p * dimNode);
        for (let j = 0; j < dimTime; j++) {
          const g = -Math.sin(spans[p] * w[j] + b[j]) * x[timeAt + j];
          sumW[j] += g * spans[p];
          sumB[j] += g;
        }
      }
      for (let k = 0; k < heads; k++)
        gQuery?.set(sums.subarray(k * width, (k + 1) * width), (k * numDst + i) * width);
    }
    gw?.set(sumW);
    gb?.set(sumB);

    /** Returns the gradient of raw for the edges of i: through the weighted sum, mask, softmax, scale and slope. */
    function scoreGradients(begin: number, end: number, i: number): Float64Array {
      const g = new Float64Array((end - begin) * heads);
      const common = new Float64Array(heads);
      for (let p = begin; p < end; p++) {
        row(p);
        for (let k = 0; k < heads; k++) {
          const c = (p - begin) * heads + k;
          const from = (k * numDst + i) * width;
          let dot = 0;
          for (let f = 0; f < width; f++) dot += gy[from + f] * x[f];
          g[c] = dot * attentionMask(key, drop, i, c);
          common[k] += alpha[p * heads + k] * g[c];
        }
      }
      for (let c = 0; c < g.length; c++) {
        const at = begin * heads + c;
        g[c] = alpha[at] * (g[c] - common[c % heads]) * scale * (raw[at] > 0 ? 1 : slope);
      }
      return g;
    }
  },
} satisfies Partial<Kernels>;

function softmaxOf(
  raw: FloatArray,
  alpha: FloatArray,
  begin: number,
  end: number,
  heads: number,
  k: number,
  scale: number,
  slope: number,
): void {
  const score = (p: number): number => {
    const value = raw[p * heads + k];
    return scale * (value > 0 ? value : slope * value);
  };
  let top = -Infinity;
  let total = 0;
  for (let p = begin; p < end; p++) top = Math.max(top, score(p));
  for (let p = begin; p < end; p++) total += Math.exp(score(p) - top);
  for (let p = begin; p < end; p++) alpha[p * heads + k] = Math.exp(score(p) - top) / total;
}

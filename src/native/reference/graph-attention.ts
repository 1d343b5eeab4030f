/** Attention with additive scores: twins of `native/kernels/gat_attention.cpp`. */
import { philoxWords } from '../../util/philox.js';
import type { FloatArray, Offsets, RandomKey } from '../types.js';

/** The first random word of an entry: by its id, or by its place. */
function maskWord(ids: Int32Array | null, p: number, heads: number): number {
  return (ids === null ? p : ids[p] >>> 0) * heads;
}

export { mergeAttention, mergeExtreme } from './merge-parts.js';

export function gatAttention(
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
): void {
  const word = new Uint32Array(1);
  const values = new Float64Array(width);
  for (let r = 0; r < rows; r++) {
    const begin = offsets[r];
    const end = offsets[r + 1];
    for (let h = 0; h < heads; h++) {
      const score = (p: number): number => {
        const sum = el[indices[p] * heads + h] + er[r * heads + h] + (ee === null ? 0 : ee[p * heads + h]);
        return sum > 0 ? sum : slope * sum;
      };
      let top = -Infinity;
      let total = 0;
      for (let p = begin; p < end; p++) top = Math.max(top, score(p));
      for (let p = begin; p < end; p++) total += Math.exp(score(p) - top);
      values.fill(0);
      for (let p = begin; p < end; p++) {
        let weight = Math.exp(score(p) - top) / total;
        if (key !== null) {
          philoxWords(key, maskWord(ids, p, heads) + h, 1, word);
          weight = word[0] >= drop * 4294967296 ? weight / (1 - drop) : 0;
        }
        const from = (indices[p] * heads + h) * width;
        for (let d = 0; d < width; d++) values[d] += weight * z[from + d];
      }
      y.set(values, (r * heads + h) * width);
      lse[r * heads + h] = begin < end ? top + Math.log(total) : 0;
    }
  }
}

export function gatAttentionBackward(
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
): void {
  const word = new Uint32Array(1);
  for (let r = 0; r < rows; r++) {
    for (let h = 0; h < heads; h++) {
      const to = (r * heads + h) * width;
      let common = 0;
      for (let d = 0; d < width; d++) common += gy[to + d] * y[to + d];
      for (let p = offsets[r]; p < offsets[r + 1]; p++) {
        const entry = p * heads + h;
        const sum = el[indices[p] * heads + h] + er[r * heads + h] + (ee === null ? 0 : ee[entry]);
        const alpha = Math.exp((sum > 0 ? sum : slope * sum) - lse[r * heads + h]);
        let mask = 1;
        if (key !== null) {
          philoxWords(key, maskWord(ids, p, heads) + h, 1, word);
          mask = word[0] >= drop * 4294967296 ? 1 / (1 - drop) : 0;
        }
        const from = (indices[p] * heads + h) * width;
        let dot = 0;
        for (let d = 0; d < width; d++) dot += gy[to + d] * z[from + d];
        // A dropped entry has no share in y, whatever z holds.
        attention[entry] = mask === 0 ? 0 : alpha * mask;
        gscore[entry] = alpha * ((mask === 0 ? 0 : mask * dot) - common) * (sum > 0 ? 1 : slope);
      }
    }
  }
}

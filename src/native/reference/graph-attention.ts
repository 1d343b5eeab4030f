/** Attention with additive scores: twins of `native/kernels/attention/gat_attention.cpp`. */
import { philoxWords } from '../../util/philox.js';
import type { Kernels } from '../kernels.js';

/** The first random word of an entry: by its id, or by its position. */
function maskWord(ids: Int32Array | null, p: number, heads: number): number {
  return (ids === null ? p : ids[p] >>> 0) * heads;
}

export const attentionTwins = {
  gatAttention({ z, el, er, ee, offsets, indices, ids, key, drop, y, lse, rows, heads, width, slope }) {
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
  },
  gatAttentionBackward(args) {
    const { z, el, er, ee, y, lse, gy, offsets, indices, ids, key, drop, attention, gscore, rows } = args;
    const { heads, width, slope } = args;
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
          // A dropped entry does not contribute to y, even if z is NaN or infinite.
          attention[entry] = mask === 0 ? 0 : alpha * mask;
          gscore[entry] = alpha * ((mask === 0 ? 0 : mask * dot) - common) * (sum > 0 ? 1 : slope);
        }
      }
    }
  },
} satisfies Partial<Kernels>;

/** Scores of GATv2: twins of `native/kernels/attention/gatv2.cpp`. */
import type { Kernels } from '../kernels.js';

export const gatv2Twins = {
  gatv2Scores({ xl, xr, a, ee, offsets, indices, out, rows, heads, width, slope }) {
    const all = heads * width;
    for (let r = 0; r < rows; r++) {
      for (let p = offsets[r]; p < offsets[r + 1]; p++) {
        const from = indices[p] * all;
        for (let h = 0; h < heads; h++) {
          let score = 0;
          for (let f = h * width; f < (h + 1) * width; f++) {
            const sum = xl[from + f] + xr[r * all + f] + (ee === null ? 0 : ee[p * all + f]);
            score += a[f] * (sum > 0 ? sum : slope * sum);
          }
          out[p * heads + h] = score;
        }
      }
    }
  },
  gatv2ScoresBackward({ xl, xr, a, ee, gout, offsets, indices, gxr, ga, gee, rows, heads, width, slope }) {
    const all = heads * width;
    const sums = new Float64Array(all);
    const weights = new Float64Array(all);
    for (let r = 0; r < rows; r++) {
      sums.fill(0);
      for (let p = offsets[r]; p < offsets[r + 1]; p++) {
        const from = indices[p] * all;
        for (let f = 0; f < all; f++) {
          const g = gout[p * heads + Math.floor(f / width)];
          const sum = xl[from + f] + xr[r * all + f] + (ee === null ? 0 : ee[p * all + f]);
          const gsum = g * a[f] * (sum > 0 ? 1 : slope);
          sums[f] += gsum;
          weights[f] += g * (sum > 0 ? sum : slope * sum);
          if (gee !== null) gee[p * all + f] = gsum;
        }
      }
      gxr.set(sums, r * all);
    }
    ga.set(weights);
  },
  gatv2ScoresBackwardSource(args) {
    const { xl, xr, a, ee, gout, offsets, indices, positions, gxl, rows, heads, width, slope } = args;
    const all = heads * width;
    const sums = new Float64Array(all);
    for (let r = 0; r < rows; r++) {
      sums.fill(0);
      for (let p = offsets[r]; p < offsets[r + 1]; p++) {
        const position = positions[p];
        const from = indices[p] * all;
        for (let f = 0; f < all; f++) {
          const sum = xl[r * all + f] + xr[from + f] + (ee === null ? 0 : ee[position * all + f]);
          sums[f] += gout[position * heads + Math.floor(f / width)] * a[f] * (sum > 0 ? 1 : slope);
        }
      }
      gxl.set(sums, r * all);
    }
  },
} satisfies Partial<Kernels>;

/** Scores of GATv2: twins of `native/kernels/gatv2.cpp`. */
import type { FloatArray, Offsets } from '../types.js';

export function gatv2Scores(
  xl: FloatArray,
  xr: FloatArray,
  a: FloatArray,
  ee: FloatArray | null,
  offsets: Offsets,
  indices: Int32Array,
  out: FloatArray,
  rows: number,
  heads: number,
  width: number,
  slope: number,
): void {
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
}

export function gatv2ScoresBackward(
  xl: FloatArray,
  xr: FloatArray,
  a: FloatArray,
  ee: FloatArray | null,
  gout: FloatArray,
  offsets: Offsets,
  indices: Int32Array,
  gxr: FloatArray,
  ga: FloatArray,
  gee: FloatArray | null,
  rows: number,
  heads: number,
  width: number,
  slope: number,
): void {
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
}

export function gatv2ScoresBackwardSource(
  xl: FloatArray,
  xr: FloatArray,
  a: FloatArray,
  ee: FloatArray | null,
  gout: FloatArray,
  offsets: Offsets,
  indices: Int32Array,
  slots: Int32Array,
  gxl: FloatArray,
  rows: number,
  heads: number,
  width: number,
  slope: number,
): void {
  const all = heads * width;
  const sums = new Float64Array(all);
  for (let r = 0; r < rows; r++) {
    sums.fill(0);
    for (let p = offsets[r]; p < offsets[r + 1]; p++) {
      const slot = slots[p];
      const from = indices[p] * all;
      for (let f = 0; f < all; f++) {
        const sum = xl[r * all + f] + xr[from + f] + (ee === null ? 0 : ee[slot * all + f]);
        sums[f] += gout[slot * heads + Math.floor(f / width)] * a[f] * (sum > 0 ? 1 : slope);
      }
    }
    gxl.set(sums, r * all);
  }
}

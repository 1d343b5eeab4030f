/** Reductions over the segments of a CSR layout: twins of `native/kernels/segment/segment.cpp`. */
import type { Kernels } from '../kernels.js';
import { reduceCode } from '../op-codes.js';

export const segmentTwins = {
  segmentReduce(op, x, offsets, y, arg, segments, width) {
    const adds = op === reduceCode.sum || op === reduceCode.mean;
    const sign = op === reduceCode.min ? -1 : 1;
    const sums = new Float64Array(width);
    for (let s = 0; s < segments; s++) {
      const begin = offsets[s];
      const end = offsets[s + 1];
      const to = s * width;
      if (adds) {
        sums.fill(0);
        for (let row = begin; row < end; row++) {
          for (let j = 0; j < width; j++) sums[j] += x[row * width + j];
        }
        const divisor = op === reduceCode.mean && end > begin ? end - begin : 1;
        for (let j = 0; j < width; j++) y[to + j] = sums[j] / divisor;
        continue;
      }
      for (let j = 0; j < width; j++) {
        let winner = begin < end ? begin : -1;
        for (let row = begin + 1; row < end; row++) {
          const best = x[winner * width + j];
          const value = x[row * width + j];
          // NaN wins, and the first of equals stays the winner.
          if (sign * value > sign * best || (Number.isNaN(value) && !Number.isNaN(best))) winner = row;
        }
        y[to + j] = winner < 0 ? 0 : x[winner * width + j];
        if (arg !== null) arg[to + j] = winner;
      }
    }
  },
  segmentReduceBackward(op, gy, offsets, arg, gx, segments, width) {
    for (let s = 0; s < segments; s++) {
      const begin = offsets[s];
      const end = offsets[s + 1];
      const from = s * width;
      if (op === reduceCode.sum || op === reduceCode.mean) {
        const divisor = op === reduceCode.mean ? end - begin : 1;
        for (let row = begin; row < end; row++) {
          for (let j = 0; j < width; j++) gx[row * width + j] = gy[from + j] / divisor;
        }
        continue;
      }
      gx.fill(0, begin * width, end * width);
      if (arg === null || begin === end) continue;
      for (let j = 0; j < width; j++) gx[arg[from + j] * width + j] = gy[from + j];
    }
  },
} satisfies Partial<Kernels>;

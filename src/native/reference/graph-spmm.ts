/** Products with a sparse structure: twins of `native/kernels/sparse/spmm*.cpp` and `sddmm.cpp`. */
import type { Kernels } from '../kernels.js';
import { reduceCode } from '../op-codes.js';

/** NaN wins, and the first of equals stays the winner. */
function wins(value: number, best: number): boolean {
  return value > best || (Number.isNaN(value) && !Number.isNaN(best));
}

export const spmmTwins = {
  spmm(args) {
    const { op, x, w, xScale, yScale, offsets, indices, positions, y, arg, rows, xRows, width, wCols } = args;
    const { hasSelf, self, accumulate } = args;
    const adds = op === reduceCode.sum || op === reduceCode.mean;
    const sign = op === reduceCode.min ? -1 : 1;
    const block = width / wCols;
    // Extremes compare values of the arrays' precision, so that ties are those of C++.
    const round = x instanceof Float32Array ? Math.fround : (value: number) => value;
    const values = new Float64Array(width);
    const winners = new Int32Array(width);
    for (let r = 0; r < rows; r++) {
      values.fill(0);
      winners.fill(-1);
      let count = 0;
      if (adds && hasSelf && r + self >= 0 && r + self < xRows) {
        const scale = xScale === null ? 1 : xScale[r + self];
        for (let f = 0; f < width; f++) values[f] = scale * x[(r + self) * width + f];
        count++;
      }
      for (let p = offsets[r]; p < offsets[r + 1]; p++, count++) {
        const from = indices[p] * width;
        const position = positions === null ? p : positions[p];
        const scale = xScale === null ? 1 : xScale[indices[p]];
        for (let f = 0; f < width; f++) {
          const weight = w === null ? scale : round(scale * w[position * wCols + Math.floor(f / block)]);
          const value = weight * x[from + f];
          if (adds) {
            values[f] += value;
          } else if (count === 0 || wins(sign * round(value), sign * values[f])) {
            values[f] = round(value);
            winners[f] = position;
          }
        }
      }
      const factor = yScale === null ? 1 : yScale[r];
      const divisor = op === reduceCode.mean && count > 0 ? count : 1;
      for (let f = 0; f < width; f++) {
        const value = factor * (values[f] / divisor);
        y[r * width + f] = accumulate ? y[r * width + f] + value : value;
      }
      if (!adds && arg !== null) arg.set(winners, r * width);
    }
  },
  spmmArgBackward({ gy, w, arg, offsets, indices, positions, gx, rows, width, wCols }) {
    const block = width / wCols;
    const sums = new Float64Array(width);
    for (let r = 0; r < rows; r++) {
      sums.fill(0);
      for (let p = offsets[r]; p < offsets[r + 1]; p++) {
        const from = indices[p] * width;
        const position = positions[p];
        for (let f = 0; f < width; f++) {
          if (arg[from + f] !== position) continue;
          sums[f] += w === null ? gy[from + f] : w[position * wCols + Math.floor(f / block)] * gy[from + f];
        }
      }
      gx.set(sums, r * width);
    }
  },
  sddmm({ x, y, xScale, yScale, arg, offsets, indices, out, rows, width, heads }) {
    const block = width / heads;
    for (let r = 0; r < rows; r++) {
      const to = r * width;
      const factor = yScale === null ? 1 : yScale[r];
      for (let p = offsets[r]; p < offsets[r + 1]; p++) {
        const u = indices[p];
        const scale = xScale === null ? factor : factor * xScale[u];
        for (let h = 0; h < heads; h++) {
          let sum = 0;
          for (let f = h * block; f < (h + 1) * block; f++) {
            if (arg === null || arg[to + f] === p) sum += x[u * width + f] * y[to + f];
          }
          out[p * heads + h] = scale * sum;
        }
      }
    }
  },
} satisfies Partial<Kernels>;

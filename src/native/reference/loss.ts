/** Fused losses: twins of `native/kernels/softmax/loss.cpp`, within tolerance. */
import type { Kernels } from '../kernels.js';

export const lossTwins = {
  crossEntropy(x, labels, loss, lse, rows, cols) {
    for (let r = 0; r < rows; r++) {
      const from = r * cols;
      const to = from + cols;
      let top = -Infinity;
      for (let i = from; i < to; i++) top = x[i] > top ? x[i] : top;
      let sum = 0;
      for (let i = from; i < to; i++) sum += Math.exp(x[i] - top);
      const logSum = Math.log(sum);
      lse[r] = top + logSum;
      // The large numbers cancel first.
      loss[r] = labels[r] < 0 ? 0 : top - x[from + labels[r]] + logSum;
    }
  },
  crossEntropyBackward(x, labels, lse, gRow, gx, rows, cols) {
    for (let r = 0; r < rows; r++) {
      const from = r * cols;
      const label = labels[r];
      if (label < 0) {
        gx.fill(0, from, from + cols);
        continue;
      }
      const g = gRow[r];
      for (let c = 0; c < cols; c++)
        gx[from + c] = g * (Math.exp(x[from + c] - lse[r]) - (c === label ? 1 : 0));
    }
  },
  crossEntropyTotal(x, labels, weights, factor, gx, rows, cols) {
    let total = 0;
    for (let r = 0; r < rows; r++) {
      const from = r * cols;
      const label = labels[r];
      if (label < 0) {
        gx?.fill(0, from, from + cols);
        continue;
      }
      let top = -Infinity;
      for (let i = from; i < from + cols; i++) top = x[i] > top ? x[i] : top;
      let sum = 0;
      for (let i = from; i < from + cols; i++) sum += Math.exp(x[i] - top);
      const weight = weights === null ? 1 : weights[r];
      total += weight * (top - x[from + label] + Math.log(sum));
      if (gx === null) continue;
      const g = factor * weight;
      for (let c = 0; c < cols; c++)
        gx[from + c] = g * (Math.exp(x[from + c] - top) / sum - (c === label ? 1 : 0));
    }
    return factor * total;
  },
  bceWithLogits(x, target, loss, n) {
    for (let i = 0; i < n; i++) {
      loss[i] = Math.max(x[i], 0) - x[i] * target[i] + Math.log1p(Math.exp(-Math.abs(x[i])));
    }
  },
  bceWithLogitsBackward(x, target, g, gx, n) {
    for (let i = 0; i < n; i++) {
      const e = Math.exp(-Math.abs(x[i]));
      gx[i] = g[i] * ((x[i] < 0 ? e : 1) / (1 + e) - target[i]);
    }
  },
} satisfies Partial<Kernels>;

/** Softmax and its logarithm over rows: twins of `native/kernels/softmax/softmax.cpp`, within tolerance. */
import type { Kernels } from '../kernels.js';

export const softmaxTwins = {
  softmax(x, y, rows, cols) {
    for (let r = 0; r < rows; r++) {
      const from = r * cols;
      const to = from + cols;
      let top = -Infinity;
      for (let i = from; i < to; i++) top = x[i] > top ? x[i] : top;
      let sum = 0;
      for (let i = from; i < to; i++) sum += Math.exp(x[i] - top);
      for (let i = from; i < to; i++) y[i] = Math.exp(x[i] - top) / sum;
    }
  },
  softmaxBackward(y, gy, gx, rows, cols) {
    for (let r = 0; r < rows; r++) {
      const from = r * cols;
      const to = from + cols;
      let dot = 0;
      for (let i = from; i < to; i++) dot += y[i] * gy[i];
      for (let i = from; i < to; i++) gx[i] = y[i] * (gy[i] - dot);
    }
  },
  logSoftmax(x, y, rows, cols) {
    for (let r = 0; r < rows; r++) {
      const from = r * cols;
      const to = from + cols;
      let top = -Infinity;
      for (let i = from; i < to; i++) top = x[i] > top ? x[i] : top;
      let sum = 0;
      for (let i = from; i < to; i++) sum += Math.exp(x[i] - top);
      const logSum = Math.log(sum);
      for (let i = from; i < to; i++) y[i] = x[i] - top - logSum;
    }
  },
  logSoftmaxBackward(y, gy, gx, rows, cols) {
    for (let r = 0; r < rows; r++) {
      const from = r * cols;
      const to = from + cols;
      let sum = 0;
      for (let i = from; i < to; i++) sum += gy[i];
      for (let i = from; i < to; i++) gx[i] = gy[i] - Math.exp(y[i]) * sum;
    }
  },
} satisfies Partial<Kernels>;

/**
 * Layer and batch normalisation: twins of `native/kernels/norm/norm_layer.cpp` and `norm_batch.cpp`, within tolerance.
 * Means first, then sums of squared deviations from them: stable for data far from 0.
 */
import type { Kernels } from '../kernels.js';

export const normTwins = {
  layerNorm({ x, gamma, beta, y, mean, rstd, rows, cols, eps }) {
    for (let r = 0; r < rows; r++) {
      const from = r * cols;
      let sum = 0;
      for (let c = 0; c < cols; c++) sum += x[from + c];
      const m = sum / cols;
      let squares = 0;
      for (let c = 0; c < cols; c++) squares += (x[from + c] - m) ** 2;
      const s = 1 / Math.sqrt(squares / cols + eps);
      mean[r] = m;
      rstd[r] = s;
      for (let c = 0; c < cols; c++) {
        y[from + c] = (x[from + c] - m) * s * (gamma === null ? 1 : gamma[c]) + (beta === null ? 0 : beta[c]);
      }
    }
  },
  layerNormBackward({ x, gy, gamma, mean, rstd, gx, ggamma, gbeta, rows, cols }) {
    const sumGamma = new Float64Array(cols);
    const sumBeta = new Float64Array(cols);
    for (let r = 0; r < rows; r++) {
      const from = r * cols;
      const m = mean[r];
      const s = rstd[r];
      let sumG = 0;
      let sumGH = 0;
      for (let c = 0; c < cols; c++) {
        const h = (x[from + c] - m) * s;
        const up = gy[from + c];
        const g = gamma === null ? up : up * gamma[c];
        sumGamma[c] += up * h;
        sumBeta[c] += up;
        sumG += g;
        sumGH += g * h;
      }
      for (let c = 0; c < cols; c++) {
        const h = (x[from + c] - m) * s;
        const g = gamma === null ? gy[from + c] : gy[from + c] * gamma[c];
        gx[from + c] = s * (g - sumG / cols - h * (sumGH / cols));
      }
    }
    ggamma?.set(sumGamma);
    gbeta?.set(sumBeta);
  },
  columnStats(x, mean, variance, rows, cols) {
    const m = new Float64Array(cols);
    const squares = new Float64Array(cols);
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < cols; c++) m[c] += x[r * cols + c];
    }
    for (let c = 0; c < cols; c++) m[c] /= rows;
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < cols; c++) squares[c] += (x[r * cols + c] - m[c]) ** 2;
    }
    for (let c = 0; c < cols; c++) {
      mean[c] = m[c];
      variance[c] = squares[c] / rows;
    }
  },
  batchNorm(x, mean, rstd, gamma, beta, y, rows, cols) {
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < cols; c++) {
        const h = (x[r * cols + c] - mean[c]) * rstd[c];
        y[r * cols + c] = h * (gamma === null ? 1 : gamma[c]) + (beta === null ? 0 : beta[c]);
      }
    }
  },
  batchNormBackward({ x, gy, mean, rstd, gamma, gx, ggamma, gbeta, rows, cols }) {
    const sumGamma = new Float64Array(cols);
    const sumBeta = new Float64Array(cols);
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < cols; c++) {
        const up = gy[r * cols + c];
        sumGamma[c] += up * ((x[r * cols + c] - mean[c]) * rstd[c]);
        sumBeta[c] += up;
      }
    }
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < cols; c++) {
        const h = (x[r * cols + c] - mean[c]) * rstd[c];
        const inner = gy[r * cols + c] - sumBeta[c] / rows - h * (sumGamma[c] / rows);
        gx[r * cols + c] = (gamma === null ? rstd[c] : gamma[c] * rstd[c]) * inner;
      }
    }
    ggamma.set(sumGamma);
    gbeta.set(sumBeta);
  },
} satisfies Partial<Kernels>;

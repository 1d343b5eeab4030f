/** Fused losses: twins of `native/kernels/loss.cpp`, within tolerance. */
import type { FloatArray } from '../types.js';

export function crossEntropy(
  x: FloatArray,
  labels: Int32Array,
  loss: FloatArray,
  lse: FloatArray,
  rows: number,
  cols: number,
): void {
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
}

export function crossEntropyBackward(
  x: FloatArray,
  labels: Int32Array,
  lse: FloatArray,
  gRow: FloatArray,
  gx: FloatArray,
  rows: number,
  cols: number,
): void {
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
}

export function crossEntropyTotal(
  x: FloatArray,
  labels: Int32Array,
  weights: FloatArray | null,
  factor: number,
  gx: FloatArray | null,
  rows: number,
  cols: number,
): number {
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
}

export function bceWithLogits(x: FloatArray, target: FloatArray, loss: FloatArray, n: number): void {
  for (let i = 0; i < n; i++) {
    loss[i] = Math.max(x[i], 0) - x[i] * target[i] + Math.log1p(Math.exp(-Math.abs(x[i])));
  }
}

export function bceWithLogitsBackward(
  x: FloatArray,
  target: FloatArray,
  g: FloatArray,
  gx: FloatArray,
  n: number,
): void {
  for (let i = 0; i < n; i++) {
    const e = Math.exp(-Math.abs(x[i]));
    gx[i] = g[i] * ((x[i] < 0 ? e : 1) / (1 + e) - target[i]);
  }
}

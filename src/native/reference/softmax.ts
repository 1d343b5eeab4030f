/** Softmax and its logarithm over rows: twins of `native/kernels/softmax.cpp`, within tolerance. */
import type { FloatArray } from '../types.js';

export function softmax(x: FloatArray, y: FloatArray, rows: number, cols: number): void {
  for (let r = 0; r < rows; r++) {
    const from = r * cols;
    const to = from + cols;
    let top = -Infinity;
    for (let i = from; i < to; i++) top = x[i] > top ? x[i] : top;
    let sum = 0;
    for (let i = from; i < to; i++) sum += Math.exp(x[i] - top);
    for (let i = from; i < to; i++) y[i] = Math.exp(x[i] - top) / sum;
  }
}

export function softmaxBackward(
  y: FloatArray,
  gy: FloatArray,
  gx: FloatArray,
  rows: number,
  cols: number,
): void {
  for (let r = 0; r < rows; r++) {
    const from = r * cols;
    const to = from + cols;
    let dot = 0;
    for (let i = from; i < to; i++) dot += y[i] * gy[i];
    for (let i = from; i < to; i++) gx[i] = y[i] * (gy[i] - dot);
  }
}

export function logSoftmax(x: FloatArray, y: FloatArray, rows: number, cols: number): void {
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
}

export function logSoftmaxBackward(
  y: FloatArray,
  gy: FloatArray,
  gx: FloatArray,
  rows: number,
  cols: number,
): void {
  for (let r = 0; r < rows; r++) {
    const from = r * cols;
    const to = from + cols;
    let sum = 0;
    for (let i = from; i < to; i++) sum += gy[i];
    for (let i = from; i < to; i++) gx[i] = gy[i] - Math.exp(y[i]) * sum;
  }
}

/** Twins of `native/kernels/reduce*.cpp`: reductions accumulated in double. */
import { type ReduceOp, reduceCode, reduceOps } from '../op-codes.js';
import type { FloatArray } from '../types.js';

interface Reduction {
  readonly start: number;
  readonly join: (total: number, x: number) => number;
}

const sum: Reduction = { start: 0, join: (total, x) => total + x };
const reductions: Readonly<Record<ReduceOp, Reduction>> = {
  sum,
  mean: sum,
  max: { start: -Infinity, join: Math.max },
  min: { start: Infinity, join: Math.min },
};

export function reduce(
  op: number,
  x: FloatArray,
  y: FloatArray,
  outer: number,
  mid: number,
  inner: number,
): void {
  const name = reduceOps[op];
  const { start, join } = reductions[name];
  const divisor = name === 'mean' ? mid : 1;
  const totals = new Float64Array(inner);
  for (let o = 0; o < outer; o++) {
    totals.fill(mid === 0 ? 0 : start);
    for (let m = 0; m < mid; m++) {
      const row = (o * mid + m) * inner;
      for (let j = 0; j < inner; j++) totals[j] = join(totals[j], x[row + j]);
    }
    for (let j = 0; j < inner; j++) y[o * inner + j] = totals[j] / divisor;
  }
}

export function argReduce(
  op: number,
  x: FloatArray,
  index: Int32Array,
  outer: number,
  mid: number,
  inner: number,
): void {
  const sign = op === reduceCode.max ? 1 : -1;
  for (let o = 0; o < outer; o++) {
    for (let j = 0; j < inner; j++) {
      let best = 0;
      let bestValue = x[o * mid * inner + j];
      for (let m = 1; m < mid && !Number.isNaN(bestValue); m++) {
        const value = x[(o * mid + m) * inner + j];
        if (sign * value > sign * bestValue || Number.isNaN(value)) {
          best = m;
          bestValue = value;
        }
      }
      index[o * inner + j] = best;
    }
  }
}

export function sumSquares(x: FloatArray, n: number): number {
  let total = 0;
  for (let i = 0; i < n; i++) total += x[i] * x[i];
  return total;
}

export function allFinite(x: FloatArray, n: number): number {
  for (let i = 0; i < n; i++) if (!Number.isFinite(x[i])) return 0;
  return 1;
}

export function findOutOfRange(ids: Int32Array, n: number, lo: number, hi: number): number {
  for (let i = 0; i < n; i++) if (ids[i] < lo || ids[i] >= hi) return i;
  return -1;
}

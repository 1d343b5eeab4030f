/**
 * Twins of the reductions over the middle axis of [outer, mid, inner]. Sums are in f64.
 */
import { reduceOps } from '../kernels.js';
import type { FloatArray } from '../types.js';

export function reduce(op: number, x: FloatArray, y: FloatArray, outer: number, mid: number, inner: number): void {
  const name = reduceOps[op];
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++) {
      const start = o * mid * inner + i;
      if (name === 'sum' || name === 'mean') {
        let total = 0;
        for (let m = 0; m < mid; m++) total += x[start + m * inner];
        y[o * inner + i] = name === 'sum' ? total : total / mid;
      } else {
        const better = name === 'max' ? Math.max : Math.min;
        let best = x[start];
        for (let m = 1; m < mid; m++) best = better(best, x[start + m * inner]);
        y[o * inner + i] = best;
      }
    }
  }
}

export function argReduce(op: number, x: FloatArray, index: Int32Array, outer: number, mid: number, inner: number): void {
  const sign = reduceOps[op] === 'max' ? 1 : -1;
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++) {
      const start = o * mid * inner + i;
      let at = 0;
      for (let m = 1; m < mid && !Number.isNaN(x[start + at * inner]); m++) {
        const value = x[start + m * inner];
        if (Number.isNaN(value) || sign * value > sign * x[start + at * inner]) at = m;
      }
      index[o * inner + i] = at;
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

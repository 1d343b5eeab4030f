/** Twins of `native/kernels/reduce/reduce*.cpp` and `arg_scatter.cpp`: reductions accumulated in double. */
import type { Kernels } from '../kernels.js';
import { type ReduceOp, reduceCode, reduceOps } from '../op-codes.js';
import type { FloatArray } from '../types.js';

/** Joins a row into the totals. One loop per operation: a shared loop over a callback would run several times slower. */
const joinRow: Readonly<Record<ReduceOp, (totals: Float64Array, x: FloatArray, row: number) => void>> = {
  sum: addRow,
  mean: addRow,
  max: (totals, x, row) => {
    for (let j = 0; j < totals.length; j++) totals[j] = Math.max(totals[j], x[row + j]);
  },
  min: (totals, x, row) => {
    for (let j = 0; j < totals.length; j++) totals[j] = Math.min(totals[j], x[row + j]);
  },
};
const starts: Readonly<Record<ReduceOp, number>> = { sum: 0, mean: 0, max: -Infinity, min: Infinity };

function addRow(totals: Float64Array, x: FloatArray, row: number): void {
  for (let j = 0; j < totals.length; j++) totals[j] += x[row + j];
}

export const reduceTwins = {
  reduce(op, x, y, outer, mid, inner) {
    const name = reduceOps[op];
    const join = joinRow[name];
    const divisor = name === 'mean' ? mid : 1;
    const totals = new Float64Array(inner);
    for (let o = 0; o < outer; o++) {
      totals.fill(mid === 0 ? 0 : starts[name]);
      for (let m = 0; m < mid; m++) join(totals, x, (o * mid + m) * inner);
      for (let j = 0; j < inner; j++) y[o * inner + j] = totals[j] / divisor;
    }
  },
  argReduce(op, x, index, outer, mid, inner) {
    // The smallest is the largest of the negated.
    const sign = op === reduceCode.max ? 1 : -1;
    const best = new Float64Array(inner);
    for (let o = 0; o < outer; o++) {
      const out = o * inner;
      for (let m = 0; m < mid; m++) {
        const row = (o * mid + m) * inner;
        for (let j = 0; j < inner; j++) {
          const value = sign * x[row + j];
          const firstNaN = Number.isNaN(value) && !Number.isNaN(best[j]);
          if (m === 0 || value > best[j] || firstNaN) {
            best[j] = value;
            index[out + j] = m;
          }
        }
      }
    }
  },
  sumSquares(x, n) {
    let total = 0;
    for (let i = 0; i < n; i++) total += x[i] * x[i];
    return total;
  },
  allFinite(x, n) {
    for (let i = 0; i < n; i++) if (!Number.isFinite(x[i])) return 0;
    return 1;
  },
  findOutOfRange(ids, n, lo, hi) {
    for (let i = 0; i < n; i++) if (ids[i] < lo || ids[i] >= hi) return i;
    return -1;
  },
  argScatter(gy, index, gx, outer, mid, inner) {
    gx.fill(0, 0, outer * mid * inner);
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < inner; i++) {
        const from = o * inner + i;
        gx[(o * mid + index[from]) * inner + i] = gy[from];
      }
    }
  },
} satisfies Partial<Kernels>;

/**
 * Walks two strided operands along one shape, in row-major order of that shape.
 */
import type { Dims } from '../kernels.js';

/** Calls visit(i, offset in the first, offset in the second) for i = 0 … n−1. */
export function forEachPair(n: number, dims: Dims, visit: (i: number, first: number, second: number) => void): void {
  if (dims === null) {
    for (let i = 0; i < n; i++) visit(i, i, i);
    return;
  }
  const rank = dims[0];
  const index = new Int32Array(rank);
  let p = 0;
  let q = 0;
  for (let i = 0; i < n; i++) {
    visit(i, p, q);
    for (let axis = rank - 1; axis >= 0; axis--) {
      const size = dims[1 + axis];
      const stepP = dims[1 + rank + axis];
      const stepQ = dims[1 + 2 * rank + axis];
      p += stepP;
      q += stepQ;
      if (++index[axis] < size) break;
      p -= stepP * size;
      q -= stepQ * size;
      index[axis] = 0;
    }
  }
}

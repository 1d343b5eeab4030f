/**
 * Matrix product in plain TypeScript: the specification of `native/kernels/gemm/gemm.cpp` and the fallback without it.
 *
 * Row-major and contiguous: c[m,n] = (accumulate ? c : 0) + bias[n] + op(a) · op(b), where a is [m,k] ([k,m] when
 * transposed) and b is [k,n] ([n,k] when transposed). Shapes are checked by the caller.
 *
 * A row is summed in double precision over rising k and rounded once when it is stored, so float results are a little
 * closer to the exact product than the native chain of float operations; they agree within the tolerance of the type.
 * An output row depends on its input row, b and its start value only, as in the native kernel.
 */
import type { Kernels } from '../kernels.js';
import type { FloatArray } from '../types.js';

export const gemmTwins = {
  /** c = (accumulate ? c : 0) + bias + op(a) · op(b). */
  gemm({ a, b, bias, c, m, n, k, transA, transB, accumulate }) {
    // With b as [k,n] the inner loop runs along a row of b and of the sums: i-k-j touches memory in order.
    const rows = transB ? transpose(b, n, k, 0) : b;
    multiply(a, rows, bias, c, m, n, k, transA, accumulate, 0, 0, 0);
  },
  /** c = (accumulate ? c : 0) + op(a) · op(b) for `batch` products, stored one after another in a, b and c. */
  gemmBatched({ a, b, c, batch, m, n, k, transA, transB, accumulate }) {
    for (let i = 0; i < batch; i++) {
      const rows = transB ? transpose(b, n, k, i * n * k) : b;
      const rowsStart = transB ? 0 : i * n * k;
      multiply(a, rows, null, c, m, n, k, transA, accumulate, i * m * k, rowsStart, i * m * n);
    }
  },
  /** c = f(bias + a1 · b1ᵀ + a2 · b2ᵀ), f = relu or identity. */
  gemmPair({ a1, b1, k1, a2, b2, k2, bias, c, m, n, relu }) {
    const shape = { c, m, n, transA: false, transB: true };
    gemmTwins.gemm({ ...shape, a: a1, b: b1, k: k1, bias, accumulate: false });
    gemmTwins.gemm({ ...shape, a: a2, b: b2, k: k2, bias: null, accumulate: true });
    if (relu) for (let i = 0; i < m * n; i++) if (c[i] < 0) c[i] = 0;
  },
  /** gb1 = hᵀ · a1, gb2 = hᵀ · a2, gbias = Σ rows of h, where h is g where the relu with result y passed it, else 0. */
  gemmPairBackward({ g, y, a1, gb1, k1, a2, gb2, k2, gbias, m, n }) {
    const h = g.slice(0, m * n);
    if (y !== null) for (let i = 0; i < m * n; i++) if (y[i] <= 0) h[i] = 0;
    const product = { a: h, bias: null, m: n, k: m, transA: true, transB: false, accumulate: false };
    gemmTwins.gemm({ ...product, b: a1, c: gb1, n: k1 });
    gemmTwins.gemm({ ...product, b: a2, c: gb2, n: k2 });
    if (gbias === null) return;
    const sums = new Float64Array(n);
    for (let i = 0; i < m * n; i++) sums[i % n] += h[i];
    for (let j = 0; j < n; j++) gbias[j] = sums[j];
  },
} satisfies Partial<Kernels>;

/** [n,k] at `start` of b, as a new [k,n]. */
function transpose(b: FloatArray, n: number, k: number, start: number): FloatArray {
  const out = b instanceof Float32Array ? new Float32Array(n * k) : new Float64Array(n * k);
  for (let j = 0; j < n; j++) {
    for (let p = 0; p < k; p++) out[p * n + j] = b[start + j * k + p];
  }
  return out;
}

/** The product for b as [k,n]; the last three arguments are the starts of the matrices in their arrays. */
function multiply(
  a: FloatArray,
  b: FloatArray,
  bias: FloatArray | null,
  c: FloatArray,
  m: number,
  n: number,
  k: number,
  transA: boolean,
  accumulate: boolean,
  aStart: number,
  bStart: number,
  cStart: number,
): void {
  const rowStride = transA ? 1 : k;
  const stepStride = transA ? m : 1;
  const sums = new Float64Array(n);
  for (let i = 0; i < m; i++) {
    const row = cStart + i * n;
    for (let j = 0; j < n; j++) sums[j] = (accumulate ? c[row + j] : 0) + (bias === null ? 0 : bias[j]);
    for (let p = 0; p < k; p++) {
      const scale = a[aStart + i * rowStride + p * stepStride];
      const from = bStart + p * n;
      for (let j = 0; j < n; j++) sums[j] += scale * b[from + j];
    }
    for (let j = 0; j < n; j++) c[row + j] = sums[j];
  }
}

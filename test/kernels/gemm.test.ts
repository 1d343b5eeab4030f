/**
 * Matrix products: every transpose and edge size against the twin, row invariance, thread counts.
 */
import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import {
  expectClose,
  expectSameBytes,
  expectSameBytesForThreads,
  type FloatType,
  floatTypes,
  randomFloats,
  zeros,
} from './harness.js';

const transposes = [
  [false, false],
  [false, true],
  [true, false],
  [true, true],
] as const;

const shapes = [
  [0, 3, 4],
  [3, 0, 4],
  [3, 4, 0],
  [1, 1, 1],
  [7, 9, 8],
  [8, 8, 8],
  [9, 7, 127],
  [15, 17, 16],
  [31, 33, 129],
  [64, 65, 63],
  [127, 129, 128],
  [1, 300, 70],
  [300, 1, 70],
  [513, 47, 260],
  [40, 40, 5000],
] as const;

interface Product {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly transA?: boolean;
  readonly transB?: boolean;
  readonly bias?: FloatArray | null;
  readonly start?: FloatArray;
}

function multiply(kernels: Kernels, type: FloatType, a: FloatArray, b: FloatArray, p: Product): FloatArray {
  const c = p.start?.slice() ?? zeros(type, p.m * p.n).fill(NaN);
  const { transA = false, transB = false, bias = null } = p;
  kernels.gemm({ a, b, bias, c, m: p.m, n: p.n, k: p.k, transA, transB, accumulate: p.start !== undefined });
  return c;
}

describe.runIf(nativeKernels !== null)('gemm', () => {
  const native = nativeKernels as Kernels;

  describe.each(floatTypes)('native = reference in %s', (type) => {
    it.each(shapes)('%i × %i × %i, all transposes, bias, accumulation', (m, n, k) => {
      const a = randomFloats(type, m * k, 1, -1, 1);
      const b = randomFloats(type, k * n, 2, -1, 1);
      const bias = randomFloats(type, n, 3);
      const start = randomFloats(type, m * n, 4);
      // The error of a sum of k products grows with k at worst, with its root in practice.
      const scale = Math.max(1, Math.sqrt(k) / 4);
      for (const [transA, transB] of transposes) {
        for (const options of [{}, { bias }, { start }, { bias, start }]) {
          const p = { m, n, k, transA, transB, ...options };
          expectClose(
            multiply(native, type, a, b, p),
            multiply(referenceKernels, type, a, b, p),
            type,
            scale,
          );
        }
      }
    });

    it('batches', () => {
      const [batch, m, n, k] = [3, 17, 9, 33];
      const a = randomFloats(type, batch * m * k, 1);
      const b = randomFloats(type, batch * k * n, 2);
      for (const [transA, transB] of transposes) {
        const got = zeros(type, batch * m * n);
        const want = zeros(type, batch * m * n);
        native.gemmBatched({ a, b, c: got, batch, m, n, k, transA, transB, accumulate: false });
        referenceKernels.gemmBatched({ a, b, c: want, batch, m, n, k, transA, transB, accumulate: false });
        expectClose(got, want, type, 4);
      }
    });
  });

  describe.each(floatTypes)('a row depends on its input row, b and bias alone, in %s', (type) => {
    it.each([false, true])('transB = %s', (transB) => {
      for (const [m, n, k] of [
        [1000, 256, 128],
        [257, 64, 300],
        [100, 47, 1000],
        [33, 7, 16],
      ]) {
        const a = randomFloats(type, m * k, 5);
        const b = randomFloats(type, k * n, 6);
        const bias = randomFloats(type, n, 7);
        const whole = multiply(native, type, a, b, { m, n, k, transB, bias });
        // Permuted rows give permuted results.
        const step = m % 7 === 0 ? 11 : 7;
        const order = Array.from({ length: m }, (_, i) => (i * step + 3) % m);
        const shuffled = zeros(type, m * k);
        for (const [i, row] of order.entries()) shuffled.set(a.subarray(row * k, (row + 1) * k), i * k);
        const permuted = multiply(native, type, shuffled, b, { m, n, k, transB, bias });
        for (const [i, row] of order.entries()) {
          expectSameBytes(permuted.subarray(i * n, (i + 1) * n), whole.subarray(row * n, (row + 1) * n));
        }
        // Slices give slices, down to a single row.
        for (const [from, to] of [
          [0, 1],
          [m - 1, m],
          [5, 18],
          [m >> 1, m],
        ]) {
          const part = multiply(native, type, a.subarray(from * k, to * k), b, {
            m: to - from,
            n,
            k,
            transB,
            bias,
          });
          expectSameBytes(part, whole.subarray(from * n, to * n));
        }
      }
    });
  });

  it('gives the same bytes for 1, 2 and 4 threads, weight gradients included', () => {
    for (const [m, n, k, transA, transB] of [
      [5000, 64, 128, false, false],
      [700, 300, 500, false, true],
      [64, 100, 20_000, true, false],
      [16, 7, 40_000, true, false],
      [200, 200, 200, true, true],
    ] as const) {
      const a = randomFloats('f32', m * k, 8);
      const b = randomFloats('f32', k * n, 9);
      expectSameBytesForThreads((kernels) => [multiply(kernels, 'f32', a, b, { m, n, k, transA, transB })]);
    }
  });

  it('keeps the accuracy of long weight gradients', () => {
    const k = 100_000;
    const a = randomFloats('f32', k * 4, 1, 0, 1);
    const b = randomFloats('f32', k * 5, 2, 0, 1);
    const wide = (x: FloatArray): FloatArray => Float64Array.from(x);
    const p = { m: 4, n: 5, k, transA: true };
    const got = multiply(native, 'f32', a, b, p);
    const want = multiply(referenceKernels, 'f64', wide(a), wide(b), p);
    for (let i = 0; i < got.length; i++) expect(Math.abs(got[i] / want[i] - 1)).toBeLessThan(1e-5);
  });
});

import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import {
  edgeSizes,
  expectClose,
  expectSameBytesForThreads,
  type FloatType,
  floatTypes,
  randomFloats,
  zeros,
} from './harness.js';

const implementations: [string, Kernels | null][] = [
  ['reference', referenceKernels],
  ['native', nativeKernels],
];
const names = ['softmax', 'softmaxBackward', 'logSoftmax', 'logSoftmaxBackward'] as const;
type Name = (typeof names)[number];

/** Runs one kernel on data that fits it; one element more than needed shows writes beyond the end. */
function run(k: Kernels, name: Name, type: FloatType, rows: number, cols: number, spread = 2): FloatArray {
  const n = rows * cols;
  const x = randomFloats(type, n, 5, -spread, spread);
  const out = zeros(type, n + 1).fill(7);
  if (name === 'softmax' || name === 'logSoftmax') {
    k[name](x, out, rows, cols);
    return out;
  }
  const y = zeros(type, n);
  referenceKernels[name === 'softmaxBackward' ? 'softmax' : 'logSoftmax'](x, y, rows, cols);
  k[name](y, randomFloats(type, n, 6), out, rows, cols);
  return out;
}

function dot(a: FloatArray, b: FloatArray): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

function total(a: FloatArray): number {
  let sum = 0;
  for (const v of a) sum += v;
  return sum;
}

for (const [implementation, kernels] of implementations) {
  describe.skipIf(kernels === null)(`softmax, ${implementation}`, () => {
    const k = kernels as Kernels;
    const apply = (name: 'softmax' | 'logSoftmax', row: number[]): number[] => {
      const y = new Float32Array(row.length);
      k[name](Float32Array.from(row), y, 1, row.length);
      return [...y];
    };
    it('gives NaN for rows of -inf, and for rows with NaN or +inf', () => {
      const rows = [new Array(20).fill(-Infinity), [1, NaN, 2, -Infinity]];
      for (const row of rows) {
        expect(apply('softmax', row).every(Number.isNaN)).toBe(true);
        expect(apply('logSoftmax', row).every(Number.isNaN)).toBe(true);
      }
      expect(apply('softmax', [1, Infinity, 2])[1]).toBeNaN();
    });
    it('gives -inf entries no weight', () => {
      expect(apply('softmax', [0, -Infinity, 0])).toEqual([0.5, 0, 0.5]);
      expect(apply('logSoftmax', [-Infinity, 5, -Infinity])).toEqual([-Infinity, 0, -Infinity]);
    });
    it('does not overflow', () => {
      expect(apply('softmax', [1e30, 1e30, -1e30, 0])).toEqual([0.5, 0.5, 0, 0]);
      expect(apply('softmax', [3e38, -3e38])).toEqual([1, 0]);
      expect(apply('logSoftmax', [1000, 0])).toEqual([0, -1000]);
    });
    it.each(floatTypes)('sums to 1, %s', (type) => {
      for (const cols of edgeSizes.slice(1)) {
        const y = run(k, 'softmax', type, 3, cols, 30);
        const sum = total(y.subarray(cols, 2 * cols));
        expect(Math.abs(sum - 1)).toBeLessThan(type === 'f32' ? 1e-6 : 1e-14);
      }
    });
    it('backward is the derivative', () => {
      const cols = 19;
      const x = randomFloats('f64', cols, 8);
      const gy = randomFloats('f64', cols, 9);
      for (const name of ['softmax', 'logSoftmax'] as const) {
        const value = (input: FloatArray): number => {
          const y = zeros('f64', cols);
          k[name](input, y, 1, cols);
          return dot(y, gy);
        };
        const y = zeros('f64', cols);
        const gx = zeros('f64', cols);
        k[name](x, y, 1, cols);
        k[`${name}Backward`](y, gy, gx, 1, cols);
        for (let i = 0; i < cols; i++) {
          const [up, down] = [x.slice(), x.slice()];
          up[i] += 1e-5;
          down[i] -= 1e-5;
          expect(gx[i]).toBeCloseTo((value(up) - value(down)) / 2e-5, 7);
        }
      }
    });
  });
}

describe.skipIf(nativeKernels === null)('native = reference', () => {
  for (const name of names) {
    it.each(floatTypes)(`${name} %s`, (type) => {
      for (const cols of [...edgeSizes, 47, 255, 3000]) {
        for (const rows of cols < 100 ? [0, 1, 5, 700] : [3]) {
          const want = run(referenceKernels, name, type, rows, cols);
          expectClose(run(nativeKernels as Kernels, name, type, rows, cols), want, type);
        }
      }
    });
  }
});

it('gives the same bytes for any number of threads', () => {
  expectSameBytesForThreads((k) =>
    names.flatMap((name) =>
      floatTypes.flatMap((type) => [run(k, name, type, 3001, 47), run(k, name, type, 3, 40001)]),
    ),
  );
});

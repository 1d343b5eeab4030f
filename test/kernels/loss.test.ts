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
  randomIds,
  zeros,
} from './harness.js';

const implementations: [string, Kernels | null][] = [
  ['reference', referenceKernels],
  ['native', nativeKernels],
];

/** loss, lse and gx; every seventh row is ignored. */
function crossEntropy(k: Kernels, type: FloatType, rows: number, cols: number, spread = 3): FloatArray[] {
  const x = randomFloats(type, rows * cols, 5, -spread, spread);
  const labels = randomIds(rows, cols, 3).map((label, i) => (i % 7 === 6 ? -1 : label));
  const [loss, lse] = [zeros(type, rows + 1).fill(7), zeros(type, rows + 1).fill(7)];
  const gx = zeros(type, rows * cols + 1).fill(7);
  k.crossEntropy(x, labels, loss, lse, rows, cols);
  k.crossEntropyBackward(x, labels, lse, randomFloats(type, rows, 4), gx, rows, cols);
  return [loss, lse, gx];
}

/** The total and its gradient, the total alone, both with weights; every seventh row is ignored. */
function crossEntropyTotal(
  k: Kernels,
  type: FloatType,
  rows: number,
  cols: number,
  spread = 3,
): FloatArray[] {
  const x = randomFloats(type, rows * cols, 5, -spread, spread);
  const labels = randomIds(rows, cols, 3).map((label, i) => (i % 7 === 6 ? -1 : label));
  const weights = randomFloats(type, rows, 4, 0, 2);
  return [null, weights].flatMap((w) => {
    const gx = zeros(type, rows * cols + 1).fill(7);
    const totals = zeros(type, 2);
    totals[0] = k.crossEntropyTotal(x, labels, w, 1 / (rows + 1), gx, rows, cols);
    totals[1] = k.crossEntropyTotal(x, labels, w, 1 / (rows + 1), null, rows, cols);
    return [totals, gx];
  });
}

function bce(k: Kernels, type: FloatType, n: number, spread = 5): FloatArray[] {
  const x = randomFloats(type, n, 5, -spread, spread);
  const target = randomFloats(type, n, 6, 0, 1);
  const [loss, gx] = [zeros(type, n + 1).fill(7), zeros(type, n + 1).fill(7)];
  k.bceWithLogits(x, target, loss, n);
  k.bceWithLogitsBackward(x, target, randomFloats(type, n, 7), gx, n);
  return [loss, gx];
}

function total(a: FloatArray): number {
  let sum = 0;
  for (const v of a) sum += v;
  return sum;
}

for (const [implementation, kernels] of implementations) {
  describe.skipIf(kernels === null)(`cross entropy, ${implementation}`, () => {
    const k = kernels as Kernels;
    const single = (row: number[], label: number) => {
      const [loss, lse] = [new Float32Array(1), new Float32Array(1)];
      const gx = new Float32Array(row.length).fill(7);
      const x = Float32Array.from(row);
      k.crossEntropy(x, Int32Array.of(label), loss, lse, 1, row.length);
      k.crossEntropyBackward(x, Int32Array.of(label), lse, Float32Array.of(2), gx, 1, row.length);
      return { loss: loss[0], lse: lse[0], gx: [...gx] };
    };
    it('ignores rows with a negative label', () => {
      const { loss, lse, gx } = single([1, 2, 3], -100);
      expect(loss).toBe(0);
      expect(lse).toBeCloseTo(3.4076, 4);
      expect(gx).toEqual([0, 0, 0]);
    });
    it('is NaN for a row of -inf and infinite for an impossible label', () => {
      expect(single([-Infinity, -Infinity], 0).loss).toBeNaN();
      expect(single([-Infinity, 0], 0).loss).toBe(Infinity);
      expect(single([-Infinity, 0], 1)).toEqual({ loss: 0, lse: 0, gx: [0, 0] });
    });
    it('gives the total of the rows, with the gradient and without', () => {
      for (const cols of edgeSizes.slice(1)) {
        const x = randomFloats('f64', 70 * cols, 5, -3, 3);
        const labels = randomIds(70, cols, 3).map((label, i) => (i % 7 === 6 ? -1 : label));
        const weights = randomFloats('f64', 70, 4, 0, 2);
        const [loss, lse, want, gx] = [
          zeros('f64', 70),
          zeros('f64', 70),
          zeros('f64', 70 * cols),
          x.slice(),
        ];
        k.crossEntropy(x, labels, loss, lse, 70, cols);
        k.crossEntropyBackward(x, labels, lse, weights.map((w) => w / 2) as FloatArray, want, 70, cols);
        const sum = total(loss.map((l, i) => (l * weights[i]) / 2) as FloatArray);
        expect(k.crossEntropyTotal(x, labels, weights, 0.5, gx, 70, cols)).toBeCloseTo(sum, 10);
        expect(k.crossEntropyTotal(x, labels, weights, 0.5, null, 70, cols)).toBeCloseTo(sum, 10);
        expectClose(gx, want, 'f64', 10);
      }
    });
    it('totals impossible labels and rows of -inf as it does single ones', () => {
      const run = (row: number[]) => {
        const gx = new Float32Array(2);
        return [k.crossEntropyTotal(Float32Array.from(row), Int32Array.of(0), null, 1, gx, 1, 2), ...gx];
      };
      expect(run([-Infinity, -Infinity])).toEqual([NaN, NaN, NaN]);
      expect(run([-Infinity, 0])).toEqual([Infinity, -1, 1]);
      expect(run([0, -Infinity])).toEqual([0, 0, 0]);
      expect(run([1e4, 1e4])[0]).toBeCloseTo(Math.LN2, 6);
    });
    it('keeps its precision for large logits', () => {
      expect(single([1e6, 1e6], 1).loss).toBeCloseTo(Math.LN2, 6);
      expect(single([1e4, 0, 0], 1).loss).toBe(1e4);
    });
    it('gives a gradient that sums to 0', () => {
      for (const cols of edgeSizes.slice(1)) {
        const [, , gx] = crossEntropy(k, 'f64', 3, cols);
        expect(Math.abs(total(gx.subarray(0, cols)))).toBeLessThan(1e-14);
      }
    });
    it('has the derivative as gradient', () => {
      const cols = 11;
      const x = randomFloats('f64', cols, 8);
      const label = Int32Array.of(4);
      const value = (input: FloatArray): number => {
        const loss = zeros('f64', 1);
        k.crossEntropy(input, label, loss, zeros('f64', 1), 1, cols);
        return loss[0];
      };
      const [lse, gx] = [zeros('f64', 1), zeros('f64', cols)];
      k.crossEntropy(x, label, zeros('f64', 1), lse, 1, cols);
      k.crossEntropyBackward(x, label, lse, Float64Array.of(1), gx, 1, cols);
      for (let i = 0; i < cols; i++) {
        const [up, down] = [x.slice(), x.slice()];
        up[i] += 1e-5;
        down[i] -= 1e-5;
        expect(gx[i]).toBeCloseTo((value(up) - value(down)) / 2e-5, 8);
      }
    });
  });

  describe.skipIf(kernels === null)(`binary cross entropy, ${implementation}`, () => {
    const k = kernels as Kernels;
    it('does not overflow', () => {
      const x = Float32Array.of(1000, -1000, 1000, -1000, 0, NaN);
      const target = Float32Array.of(1, 0, 0, 1, 0.5, 0);
      const [loss, gx] = [new Float32Array(6), new Float32Array(6)];
      k.bceWithLogits(x, target, loss, 6);
      k.bceWithLogitsBackward(x, target, new Float32Array(6).fill(1), gx, 6);
      expect([...loss]).toEqual([0, 0, 1000, 1000, Math.fround(Math.LN2), NaN]);
      expect([...gx]).toEqual([0, 0, 1, -1, 0, NaN]);
    });
  });
}

describe.skipIf(nativeKernels === null)('native = reference', () => {
  const native = nativeKernels as Kernels;
  it.each(floatTypes)('cross entropy %s', (type) => {
    for (const cols of [...edgeSizes.slice(1), 47, 2000]) {
      for (const rows of cols < 100 ? [0, 1, 8, 600] : [9]) {
        const want = crossEntropy(referenceKernels, type, rows, cols);
        for (const [i, got] of crossEntropy(native, type, rows, cols).entries())
          expectClose(got, want[i], type);
      }
    }
  });
  it.each(floatTypes)('total cross entropy %s', (type) => {
    for (const cols of [...edgeSizes.slice(1), 47, 2000]) {
      for (const rows of cols < 100 ? [0, 1, 8, 600] : [9]) {
        const want = crossEntropyTotal(referenceKernels, type, rows, cols);
        for (const [i, got] of crossEntropyTotal(native, type, rows, cols).entries())
          expectClose(got, want[i], type);
      }
    }
  });
  it.each(floatTypes)('cross entropy of far-spread logits %s', (type) => {
    const want = crossEntropy(referenceKernels, type, 50, 47, 300);
    for (const [i, got] of crossEntropy(native, type, 50, 47, 300).entries())
      expectClose(got, want[i], type, 5);
  });
  it.each(floatTypes)('binary cross entropy %s', (type) => {
    for (const n of [...edgeSizes, 40000]) {
      const want = bce(referenceKernels, type, n);
      for (const [i, got] of bce(native, type, n).entries()) expectClose(got, want[i], type);
    }
  });
});

it('gives the same bytes for any number of threads', () => {
  expectSameBytesForThreads((k) =>
    floatTypes.flatMap((type) => [
      ...crossEntropy(k, type, 3001, 47),
      ...crossEntropyTotal(k, type, 3001, 47),
      ...bce(k, type, 150001),
    ]),
  );
});

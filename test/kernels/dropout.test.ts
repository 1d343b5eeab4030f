import { type FloatArray, type Kernels, nativeKernels, referenceKernels } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { edgeSizes, expectSameBytesForThreads, floatTypes, randomFloats, zeros } from './harness.js';

const key = Uint32Array.of(7, 0, 0x80000001, 5);
const bytes = (a: FloatArray): Buffer => Buffer.from(a.buffer as ArrayBuffer);

for (const [name, kernels] of [
  ['reference', referenceKernels],
  ['native', nativeKernels],
] as const) {
  describe.skipIf(kernels === null)(`dropout, ${name}`, () => {
    const k = kernels as Kernels;
    it('drops all for p = 1, infinities and NaN included', () => {
      const x = Float32Array.of(1, Infinity, NaN, -3, 0);
      const y = new Float32Array(5).fill(9);
      k.dropout(x, y, 5, 1, key);
      expect([...y]).toEqual([0, 0, 0, 0, 0]);
    });
    it('keeps all for p = 0', () => {
      const x = randomFloats('f64', 1000);
      const y = zeros('f64', 1000);
      k.dropout(x, y, 1000, 0, key);
      expect(y).toEqual(x);
    });
    it('decides by the words of the key and scales what is kept', () => {
      const n = 3001;
      const words = new Uint32Array(n);
      k.randomBits(words, n, key, 0);
      const x = randomFloats('f64', n);
      const y = zeros('f64', n);
      k.dropout(x, y, n, 0.2, key);
      for (let i = 0; i < n; i++) expect(y[i]).toBe(words[i] >= 0.2 * 2 ** 32 ? x[i] * (1 / 0.8) : 0);
      const kept = y.filter((v) => v !== 0).length;
      expect(kept / n).toBeCloseTo(0.8, 1);
    });
    it('repeats its decisions for the gradient', () => {
      const n = 2000;
      const ones = zeros('f32', n).fill(1);
      const mask = zeros('f32', n);
      const x = randomFloats('f32', n, 3, 1, 2);
      const y = zeros('f32', n);
      k.dropout(ones, mask, n, 0.5, key);
      k.dropout(x, y, n, 0.5, key);
      for (let i = 0; i < n; i++) expect(y[i]).toBe(mask[i] * x[i]);
    });
  });
}

describe.skipIf(nativeKernels === null)('native = reference, bit for bit', () => {
  it.each(floatTypes)('%s', (type) => {
    for (const n of [...edgeSizes, 1023, 1025, 40000]) {
      for (const p of [0, 1e-9, 0.1, 0.5, 0.97, 1]) {
        const x = randomFloats(type, n, n + 1);
        const want = zeros(type, n + 1);
        const got = zeros(type, n + 1);
        referenceKernels.dropout(x, want, n, p, key);
        nativeKernels?.dropout(x, got, n, p, key);
        // Typed arrays of this length are slow to compare element by element.
        expect(Buffer.compare(bytes(got), bytes(want)), `n ${n}, p ${p}`).toBe(0);
      }
    }
  });
  it('gives the same bytes for any number of threads', () => {
    expectSameBytesForThreads((k) =>
      floatTypes.map((type) => {
        const y = zeros(type, 200003);
        k.dropout(randomFloats(type, y.length), y, y.length, 0.5, key);
        return y;
      }),
    );
  });
});

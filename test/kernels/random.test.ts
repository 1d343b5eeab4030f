import { readFileSync } from 'node:fs';
import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import { edgeSizes, expectSameBytesForThreads, type FloatType, floatTypes, zeros } from './harness.js';

const golden: { cases: Golden[] } = JSON.parse(
  readFileSync(new URL('../golden/philox.json', import.meta.url), 'utf8'),
);
const implementations: [string, Kernels | null][] = [
  ['reference', referenceKernels],
  ['native', nativeKernels],
];
const key = Uint32Array.of(0x12345678, 0x9abcdef0, 3, 0xfedcba98);
// Every lane, a block number beyond 32 bits, and the crossing of that border.
const starts = [0, 1, 2, 3, 1000, 2 ** 34 - 6, 2 ** 34 + 1, 2 ** 50 + 3];
const sizes = [...edgeSizes, 1023, 1024, 1025, 4097];

type Fill = (kernels: Kernels, n: number, start: number, type: FloatType) => ArrayBufferView;

const fills: Record<string, Fill> = {
  randomBits: (k, n, start) => {
    const out = new Uint32Array(n + 1);
    k.randomBits(out, n, key, start);
    return out;
  },
  randomUniform: (k, n, start, type) => {
    const out = zeros(type, n + 1);
    k.randomUniform(out, n, -0.3, 7.1, key, start);
    return out;
  },
  randomNormal: (k, n, start, type) => {
    const out = zeros(type, n + 1);
    k.randomNormal(out, n, 0.7, 1.3, key, start);
    return out;
  },
  randomBernoulli: (k, n, start) => {
    const out = new Uint8Array(n + 1);
    k.randomBernoulli(out, n, 0.37, key, start);
    return out;
  },
  randomIntegers: (k, n, start) => {
    const out = new Int32Array(n + 1);
    k.randomIntegers(out, n, -17, 1001, key, start);
    return out;
  },
  randomPermutation: (k, n) => {
    const out = new Int32Array(n + 1);
    k.randomPermutation(out, n, key);
    return out;
  },
};

for (const [name, kernels] of implementations) {
  describe.skipIf(kernels === null)(`golden values, ${name}`, () => {
    const k = kernels as Kernels;
    it.each(golden.cases)('seed $seed', (c) => {
      const { start, bits, uniformF32, uniformF64, normalF64, bernoulli, integers, permutation } = c;
      const words = Uint32Array.from(c.key);
      const n = bits.length;
      const same = (out: { [Symbol.iterator](): Iterator<number> }, values: number[]) =>
        expect([...out]).toEqual(values);
      const u32 = new Uint32Array(n);
      k.randomBits(u32, n, words, start);
      same(u32, bits);
      const f32 = new Float32Array(n);
      k.randomUniform(f32, n, uniformF32.lo, uniformF32.hi, words, start);
      same(f32, uniformF32.values);
      const f64 = new Float64Array(n);
      k.randomUniform(f64, n, uniformF64.lo, uniformF64.hi, words, start);
      same(f64, uniformF64.values);
      k.randomNormal(f64, n, normalF64.mean, normalF64.std, words, start);
      same(f64, normalF64.values);
      k.randomNormal(f32, n, normalF64.mean, normalF64.std, words, start);
      same(f32, normalF64.values.map(Math.fround));
      const u8 = new Uint8Array(n);
      k.randomBernoulli(u8, n, bernoulli.p, words, start);
      same(u8, bernoulli.values);
      const i32 = new Int32Array(n);
      k.randomIntegers(i32, n, integers.lo, integers.hi, words, start);
      same(i32, integers.values);
      k.randomPermutation(i32, n, words);
      same(i32, permutation);
    });
  });
}

interface Golden {
  seed: number;
  key: number[];
  start: number;
  bits: number[];
  uniformF32: { lo: number; hi: number; values: number[] };
  uniformF64: { lo: number; hi: number; values: number[] };
  normalF64: { mean: number; std: number; values: number[] };
  bernoulli: { p: number; values: number[] };
  integers: { lo: number; hi: number; values: number[] };
  permutation: number[];
}

describe.skipIf(nativeKernels === null)('native = reference, bit for bit', () => {
  for (const [name, fill] of Object.entries(fills)) {
    it.each(floatTypes)(`${name} %s`, (type) => {
      for (const start of starts) {
        const lengths = start === 0 ? sizes : [9, 1025];
        for (const n of lengths) {
          const want = fill(referenceKernels, n, start, type);
          expect(fill(nativeKernels as Kernels, n, start, type), `n ${n}, start ${start}`).toEqual(want);
        }
      }
    });
  }
  it('for the whole range of integers', () => {
    const ranges = [
      [-(2 ** 31), 2 ** 31],
      [-(2 ** 31), 2 ** 31 - 1],
      [5, 6],
      [0, 2 ** 31 - 1],
    ];
    for (const [lo, hi] of ranges) {
      const want = new Int32Array(100);
      const got = new Int32Array(100);
      referenceKernels.randomIntegers(want, 100, lo, hi, key, 0);
      nativeKernels?.randomIntegers(got, 100, lo, hi, key, 0);
      expect(got).toEqual(want);
      expect(want.every((v) => v >= lo && v < hi)).toBe(true);
    }
  });
});

for (const [name, kernels] of implementations) {
  describe.skipIf(kernels === null)(`meaning, ${name}`, () => {
    const k = kernels as Kernels;
    it('a slice is the same in every call that computes it', () => {
      const all = new Float64Array(100);
      const part = new Float64Array(30);
      k.randomNormal(all, 100, 0, 1, key, 8);
      k.randomNormal(part, 30, 0, 1, key, 8 + 4 * 41);
      expect(part).toEqual(all.slice(41, 71));
    });
    it('bernoulli keeps its word at 0, 1 and in between', () => {
      const out = new Uint8Array(20000);
      const mean = (p: number) => {
        k.randomBernoulli(out, out.length, p, key, 0);
        return out.reduce((sum, v) => sum + v, 0) / out.length;
      };
      expect(mean(0)).toBe(0);
      expect(mean(1)).toBe(1);
      expect(mean(0.25)).toBeCloseTo(0.25, 1);
    });
    it('normals have the moments of a normal', () => {
      const n = 100000;
      const out: FloatArray = new Float32Array(n);
      k.randomNormal(out, n, 0, 1, key, 0);
      const moment = (power: number) => out.reduce((sum, v) => sum + v ** power, 0) / n;
      expect(Math.abs(moment(1))).toBeLessThan(0.02);
      expect(Math.abs(moment(2) - 1)).toBeLessThan(0.02);
      expect(Math.abs(moment(3))).toBeLessThan(0.06);
      expect(Math.abs(moment(4) - 3)).toBeLessThan(0.15);
    });
    it('a permutation has every element once', () => {
      const out = new Int32Array(5000);
      k.randomPermutation(out, out.length, key);
      expect(Array.from(out).sort((a, b) => a - b)).toEqual(Array.from({ length: 5000 }, (_, i) => i));
      expect(out[0] === 0 && out[1] === 1 && out[2] === 2).toBe(false);
    });
  });
}

it('gives the same bytes for any number of threads', () => {
  expectSameBytesForThreads((k) =>
    Object.values(fills).flatMap((fill) => floatTypes.map((type) => fill(k, 150001, 7, type))),
  );
});

/** Reductions: empty and special inputs, native = reference over shapes that take every path, accuracy, threads. */
import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import {
  type Kernels,
  nativeKernels,
  type ReduceOp,
  reduceCode,
  reduceOps,
  referenceKernels,
} from '#internal/native/index.js';
import {
  edgeSizes,
  expectClose,
  expectSameBytes,
  expectSameBytesForThreads,
  floatTypes,
  randomFloats,
  randomIds,
  zeros,
} from './harness.js';

const implementations: [string, Kernels | null][] = [
  ['reference', referenceKernels],
  ['native', nativeKernels],
];

/** [outer, mid, inner]: short and long rows, narrow and wide columns, several tiles, several blocks. */
const shapes: [number, number, number][] = [
  ...edgeSizes.filter((n) => n > 0).map((n): [number, number, number] => [3, n, 1]),
  ...edgeSizes.filter((n) => n > 0).map((n): [number, number, number] => [2, 70, n]),
  [1, 513, 1],
  [5, 1024, 1],
  [2, 70_001, 1],
  [1, 3, 2500],
  [1, 3000, 256],
  [1, 40_000, 7],
  [20, 65, 3],
  [300, 4, 8],
  [1, 1, 5],
  [4, 1, 1],
];

for (const [name, kernels] of implementations) {
  describe.skipIf(kernels === null)(`reduce, ${name}`, () => {
    const k = kernels as Kernels;
    const reduce = (op: ReduceOp, x: number[], outer: number, mid: number, inner: number): number[] => {
      const y = new Float32Array(outer * inner).fill(9);
      k.reduce(reduceCode[op], Float32Array.from(x), y, outer, mid, inner);
      return [...y];
    };

    it('defines empty reductions', () => {
      expect(reduce('sum', [], 2, 0, 3)).toEqual([0, 0, 0, 0, 0, 0]);
      expect(reduce('mean', [], 1, 0, 2)).toEqual([NaN, NaN]);
      expect(reduce('sum', [], 0, 4, 3)).toEqual([]);
      expect(k.sumSquares(new Float32Array(0), 0)).toBe(0);
      expect(k.allFinite(new Float64Array(0), 0)).toBe(1);
      expect(k.findOutOfRange(new Int32Array(0), 0, 0, 5)).toBe(-1);
    });

    it('reduces the middle axis', () => {
      const x = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
      expect(reduce('sum', x, 2, 3, 2)).toEqual([9, 12, 27, 30]);
      expect(reduce('mean', x, 2, 3, 2)).toEqual([3, 4, 9, 10]);
      expect(reduce('max', x, 2, 3, 2)).toEqual([5, 6, 11, 12]);
      expect(reduce('min', x, 1, 12, 1)).toEqual([1]);
    });

    it('lets NaN win at every position', () => {
      for (const [outer, mid, inner] of [
        [1, 100, 1],
        [1, 600, 1],
        [1, 100, 3],
        [1, 9, 40],
      ] as const) {
        for (const at of [0, 1, 7, 8, 50, 99, 300, 599]) {
          if (at >= mid * inner) continue;
          const x = [...randomFloats('f32', mid * inner)];
          x[at] = NaN;
          for (const op of reduceOps)
            expect(reduce(op, x, outer, mid, inner)[at % inner], `${op} at ${at}`).toBeNaN();
          const index = new Int32Array(inner);
          k.argReduce(reduceCode.max, Float32Array.from(x), index, outer, mid, inner);
          expect(index[at % inner]).toBe(Math.floor(at / inner));
        }
      }
      expect(reduce('max', [-Infinity, -Infinity], 1, 2, 1)).toEqual([-Infinity]);
      expect(reduce('min', [Infinity, 3, -Infinity], 1, 3, 1)).toEqual([-Infinity]);
    });

    it('argReduce takes the lowest index of ties', () => {
      const arg = (op: ReduceOp, x: number[], mid: number, inner = 1): number[] => {
        const index = new Int32Array(inner);
        k.argReduce(reduceCode[op], Float64Array.from(x), index, 1, mid, inner);
        return [...index];
      };
      expect(arg('max', [1, 3, 3, 2], 4)).toEqual([1]);
      expect(arg('min', [1, 1, 3, 0, 0], 5)).toEqual([3]);
      expect(arg('max', [2, NaN, 9, NaN], 4)).toEqual([1]);
      expect(arg('max', new Array(200).fill(-Infinity), 200)).toEqual([0]);
      expect(arg('min', [1, 2, 1, 0, 3, 0], 3, 2)).toEqual([0, 1]);
      const long = new Array(1000).fill(0);
      for (const at of [999, 998, 513, 40]) {
        long[at] = 5;
        expect(arg('max', long, 1000)).toEqual([at]);
      }
    });

    it('finds what is not finite and ids out of range', () => {
      for (const n of [1, 9, 1000, 70_000]) {
        for (const at of [0, n >> 1, n - 1]) {
          for (const bad of [NaN, Infinity, -Infinity]) {
            for (const x of [new Float32Array(n), new Float64Array(n)]) {
              expect(k.allFinite(x, n)).toBe(1);
              x[at] = bad;
              expect(k.allFinite(x, n)).toBe(0);
            }
          }
          const ids = randomIds(n, 100, 3);
          expect(k.findOutOfRange(ids, n, 0, 100)).toBe(-1);
          ids[at] = 100;
          expect(k.findOutOfRange(ids, n, 0, 100)).toBe(at);
          ids[n - 1] = -1;
          expect(k.findOutOfRange(ids, n, 0, 101)).toBe(n - 1);
          expect(k.findOutOfRange(ids, n, -(2 ** 31), 2 ** 31)).toBe(-1);
          expect(k.findOutOfRange(ids, n, -1, 2 ** 40)).toBe(-1);
          expect(k.findOutOfRange(ids, n, 5, 5)).toBe(0);
        }
      }
    });
  });
}

describe.skipIf(nativeKernels === null)('reduce, native = reference', () => {
  const native = nativeKernels as Kernels;
  for (const type of floatTypes) {
    it.each(shapes)(`[%i, %i, %i] ${type}`, (outer, mid, inner) => {
      const x = randomFloats(type, outer * mid * inner, mid + inner, -1, 3);
      for (const op of reduceOps) {
        const [got, want] = [native, referenceKernels].map((k) => {
          const y = zeros(type, outer * inner + 1).fill(7);
          k.reduce(reduceCode[op], x, y, outer, mid, inner);
          return y;
        });
        expectClose(got, want, type);
      }
      // Few distinct values, so that ties are common.
      const coarse = x.map((v) => Math.round(v * 4)) as FloatArray;
      for (const op of ['max', 'min'] as const) {
        const [got, want] = [native, referenceKernels].map((k) => {
          const index = new Int32Array(outer * inner + 1).fill(-7);
          k.argReduce(reduceCode[op], coarse, index, outer, mid, inner);
          return index;
        });
        expectSameBytes(got, want, op);
      }
    });

    it(`sumSquares ${type}`, () => {
      for (const n of [...edgeSizes, 70_001]) {
        const x = randomFloats(type, n, n);
        const want = referenceKernels.sumSquares(x, n);
        expect(Math.abs(native.sumSquares(x, n) - want)).toBeLessThanOrEqual(1e-13 * want);
      }
    });
  }

  it('sums ten million f32 to 1e-6', () => {
    const n = 10_000_000;
    const x = randomFloats('f32', n, 5, 0, 1);
    const want = new Float64Array(1);
    let exact = 0;
    for (let i = 0; i < n; i++) exact += x[i];
    want[0] = exact;
    const y = new Float32Array(1);
    native.reduce(reduceCode.sum, x, y, 1, n, 1);
    expect(Math.abs(y[0] / want[0] - 1)).toBeLessThan(1e-6);
    const columns = new Float32Array(2);
    native.reduce(reduceCode.sum, x, columns, 1, n / 2, 2);
    expect(Math.abs((columns[0] + columns[1]) / want[0] - 1)).toBeLessThan(1e-6);
  });
});

it('reduce: same bytes for any number of threads', () => {
  const x = randomFloats('f32', 1_200_000);
  const cases: [number, number, number][] = [
    [1, 1_200_000, 1],
    [12_000, 100, 1],
    [1, 12_000, 100],
    [1, 400_000, 3],
    [100, 100, 120],
    [1, 40, 30_000],
  ];
  expectSameBytesForThreads((k) =>
    cases.flatMap(([outer, mid, inner]) =>
      reduceOps.flatMap((op) => {
        const y = new Float32Array(outer * inner);
        const index = new Int32Array(outer * inner);
        k.reduce(reduceCode[op], x, y, outer, mid, inner);
        k.argReduce(reduceCode.min, x, index, outer, mid, inner);
        return [y, index, Float64Array.of(k.sumSquares(x, x.length))];
      }),
    ),
  );
});

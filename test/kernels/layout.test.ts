/** Strided copies and casts: exact everywhere, so native and reference must agree bit for bit. */

import type { TypedArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import {
  type Kernels,
  nativeKernels,
  referenceKernels,
  storageCode,
  storageTypes,
} from '#internal/native/index.js';
import { edgeSizes, expectSameBytes, expectSameBytesForThreads, randomFloats, randomIds } from './harness.js';

const implementations: [string, Kernels | null][] = [
  ['reference', referenceKernels],
  ['native', nativeKernels],
];

function strides(shape: number[]): number[] {
  const out: number[] = [];
  let step = 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    out[d] = step;
    step *= shape[d];
  }
  return out;
}

/** A copy of a permuted view of a contiguous array: the shape and strides of the view, then a contiguous target. */
function permuted(shape: number[], order: number[]): Int32Array {
  const from = strides(shape);
  const viewShape = order.map((d) => shape[d]);
  return Int32Array.from([shape.length, ...viewShape, ...order.map((d) => from[d]), ...strides(viewShape)]);
}

const total = (shape: number[]): number => shape.reduce((p, s) => p * s, 1);

const permutations: [number[], number[]][] = [
  [[1], [0]],
  [[7], [0]],
  [
    [3, 5],
    [1, 0],
  ],
  [
    [32, 64],
    [1, 0],
  ],
  [
    [64, 32],
    [1, 0],
  ],
  [
    [67, 131],
    [1, 0],
  ],
  [
    [1, 40],
    [1, 0],
  ],
  [
    [2, 3, 4],
    [2, 0, 1],
  ],
  [
    [5, 70, 40],
    [0, 2, 1],
  ],
  [
    [33, 5, 66],
    [2, 1, 0],
  ],
  [
    [6, 4, 5, 8],
    [0, 2, 1, 3],
  ],
  [
    [3, 2, 34, 65],
    [1, 3, 0, 2],
  ],
  [
    [4, 0, 3],
    [2, 1, 0],
  ],
  // Large enough for streaming stores, with rows that are whole cache lines and with others.
  [
    [1024, 2112],
    [1, 0],
  ],
  [
    [1027, 2113],
    [1, 0],
  ],
];

for (const [name, kernels] of implementations) {
  describe.skipIf(kernels === null)(`layout, ${name}`, () => {
    const k = kernels as Kernels;
    it('copies slices, expansions and reversed dimension orders', () => {
      const src = Int32Array.from({ length: 12 }, (_, i) => i);
      const slice = new Int32Array(4);
      k.copyStrided(src.subarray(5), slice, 4, Int32Array.of(2, 2, 2, 4, 1, 2, 1));
      expect([...slice]).toEqual([5, 6, 9, 10]);
      const expanded = new Int32Array(6);
      k.copyStrided(src.subarray(3), expanded, 4, Int32Array.of(2, 2, 3, 1, 0, 3, 1));
      expect([...expanded]).toEqual([3, 3, 3, 4, 4, 4]);
      const into = new Int32Array(8);
      k.copyStrided(src, into, 4, Int32Array.of(1, 4, 1, 2));
      expect([...into]).toEqual([0, 0, 1, 0, 2, 0, 3, 0]);
      const scalar = new Int32Array(1);
      k.copyStrided(src.subarray(9), scalar, 4, Int32Array.of(0));
      expect([...scalar]).toEqual([9]);
    });

    const cast = (
      from: TypedArray,
      fromType: keyof typeof storageCode,
      to: TypedArray,
      toType: keyof typeof storageCode,
    ) => {
      k.cast(from, storageCode[fromType], to, storageCode[toType], from.length);
      return [...to];
    };

    it('truncates and saturates to integers', () => {
      const x = [1.9, -1.9, 300, -3e9, 3e9, NaN, Infinity, -Infinity, 2147483520, 254.999];
      const whole = [1, -1, 300, -2147483648, 2147483647, 0, 2147483647, -2147483648, 2147483520];
      expect(cast(Float32Array.from(x), 'f32', new Int32Array(10), 'i32')).toEqual([...whole, 254]);
      expect(cast(Float64Array.from(x), 'f64', new Int32Array(10), 'i32')).toEqual([...whole, 254]);
      const bytes = [1, 0, 255, 0, 255, 0, 255, 0, 255, 254];
      expect(cast(Float32Array.from(x), 'f32', new Uint8Array(10), 'u8')).toEqual(bytes);
      expect(cast(Float64Array.from(x), 'f64', new Uint8Array(10), 'u8')).toEqual(bytes);
      expect(cast(Int32Array.of(-1, 256, 7), 'i32', new Uint8Array(3), 'u8')).toEqual([0, 255, 7]);
    });

    it('rounds to f16 and bf16 once, ties to even', () => {
      const half = (x: number): number => cast(Float64Array.of(x), 'f64', new Uint16Array(1), 'f16')[0];
      expect([1, -2, 65504, 65519.99, 65520, 2 ** -24, 2 ** -25, 2 ** -25 * 1.001].map(half)).toEqual([
        0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 1, 0, 1,
      ]);
      expect([-0, -Infinity, NaN, 1e-300, 2 ** -14, 2 ** -14 - 2 ** -25].map(half)).toEqual([
        0x8000, 0xfc00, 0x7e00, 0, 0x0400, 0x0400,
      ]);
      // Half way between two f16 values plus less than f32 can see: rounding twice would go to even, down.
      expect(half(1 + 2 ** -11 + 2 ** -40)).toBe(0x3c01);
      expect(half(1 + 2 ** -11)).toBe(0x3c00);
      const brain = (x: number): number => cast(Float32Array.of(x), 'f32', new Uint16Array(1), 'bf16')[0];
      expect([1, 3.4e38, -Infinity, NaN, 1 + 2 ** -8, 1 + 3 * 2 ** -8].map(brain)).toEqual([
        0x3f80, 0x7f80, 0xff80, 0x7fc0, 0x3f80, 0x3f82,
      ]);
    });

    it('reads every f16 and bf16 and writes the same pattern back', () => {
      const patterns = Uint16Array.from({ length: 65536 }, (_, i) => i);
      for (const [type, quiet, infinite] of [
        ['f16', 0x7e00, 0x7c00],
        ['bf16', 0x7fc0, 0x7f80],
      ] as const) {
        const wide = new Float32Array(65536);
        const back = new Uint16Array(65536);
        cast(patterns, type, wide, 'f32');
        cast(wide, 'f32', back, type);
        for (let i = 0; i < 65536; i++) {
          const want = (i & 0x7fff) > infinite ? quiet : i;
          if (back[i] !== want) expect.fail(`${type} ${i}: got ${back[i]}, wanted ${want}`);
        }
      }
      expect(cast(Uint16Array.of(0x3555, 0x0001, 0x7bff), 'f16', new Float64Array(3), 'f64')).toEqual([
        0.333251953125,
        2 ** -24,
        65504,
      ]);
    });
  });
}

describe.skipIf(nativeKernels === null)('layout, native = reference', () => {
  const native = nativeKernels as Kernels;
  const arrays = { 1: Uint8Array, 2: Uint16Array, 4: Float32Array, 8: Float64Array } as const;

  it.each(permutations)('copyStrided of %j in order %j', (shape, order) => {
    const n = total(shape);
    const sizes = n < 1e6 ? ([1, 2, 4, 8] as const) : ([4, 8] as const);
    for (const size of sizes) {
      // Bytes without structure; some are NaN patterns when seen as floats.
      const bytes = new Uint8Array(n * size);
      for (let i = 0; i < bytes.length; i++) bytes[i] = Math.imul(i + size, 0x9e3779b1) >>> 24;
      const src = new arrays[size](bytes.buffer);
      const [got, want] = [native, referenceKernels].map((k) => {
        const dst = new arrays[size](n + 3);
        k.copyStrided(src, dst.subarray(1), size, permuted(shape, order));
        return dst;
      });
      expectSameBytes(got, want, `${size} bytes`);
    }
  });

  it('casts between all pairs', () => {
    const make = {
      f32: (n: number) => randomFloats('f32', n, 2, -70000, 70000),
      f64: (n: number) => randomFloats('f64', n, 3, -300, 300),
      i32: (n: number) => randomIds(n, 4_000_000, 4).map((v) => v - 2_000_000),
      u8: (n: number) => Uint8Array.from(randomIds(n, 256, 5)),
      f16: (n: number) => Uint16Array.from(randomIds(n, 0x7c00, 6)),
      bf16: (n: number) => Uint16Array.from(randomIds(n, 0x7f80, 7)),
    };
    for (const from of storageTypes) {
      for (const to of storageTypes) {
        for (const n of edgeSizes) {
          const src = make[from](n + 1);
          const [got, want] = [native, referenceKernels].map((k) => {
            const dst = make[to](n + 1).fill(1);
            k.cast(src, storageCode[from], dst, storageCode[to], n);
            return dst;
          });
          expectSameBytes(got, want, `${from} to ${to}, ${n}`);
        }
      }
    }
  });
});

it('layout: same bytes for any number of threads', () => {
  const src = randomFloats('f32', 700 * 900);
  expectSameBytesForThreads((k) => {
    const transposed = new Float32Array(700 * 900);
    const halves = new Uint16Array(700 * 900);
    k.copyStrided(src, transposed, 4, permuted([700, 900], [1, 0]));
    k.cast(src, storageCode.f32, halves, storageCode.f16, src.length);
    return [transposed, halves];
  });
});

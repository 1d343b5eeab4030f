/** Twins of `native/kernels/layout/layout*.cpp`, with the same bits: strided copies and casts between storage types. */
import type { Kernels } from '../kernels.js';
import { type StorageType, storageTypes } from '../op-codes.js';
import type { TypedArray } from '../types.js';
import { fromBF16, fromF16, toBF16, toF16 } from './half-floats.js';
import { forEachRow } from './strided-walk.js';

export const layoutTwins = {
  copyStrided(src, dst, elementBytes, dims) {
    // As unsigned integers (8 bytes: two of them), so that no NaN pattern changes.
    const width = elementBytes === 8 ? 2 : 1;
    const from = asIntegers(src, elementBytes);
    const to = asIntegers(dst, elementBytes);
    forEachRow(dims, (first, second, length, firstStep, secondStep) => {
      for (let i = 0; i < length; i++) {
        const read = (first + i * firstStep) * width;
        const write = (second + i * secondStep) * width;
        for (let part = 0; part < width; part++) to[write + part] = from[read + part];
      }
    });
  },
  cast(src, srcType, dst, dstType, n) {
    const read = readers[storageTypes[srcType]];
    const write = writers[storageTypes[dstType]];
    for (let i = 0; i < n; i++) dst[i] = write(read(src[i]));
  },
} satisfies Partial<Kernels>;

function asIntegers(array: TypedArray, elementBytes: number): Uint8Array | Uint16Array | Uint32Array {
  const { buffer, byteOffset, byteLength } = array;
  if (elementBytes === 1) return new Uint8Array(buffer, byteOffset, byteLength);
  if (elementBytes === 2) return new Uint16Array(buffer, byteOffset, byteLength / 2);
  return new Uint32Array(buffer, byteOffset, byteLength / 4);
}

const same = (x: number): number => x;

const saturate =
  (lo: number, hi: number) =>
  (x: number): number =>
    Number.isNaN(x) ? 0 : Math.trunc(Math.min(Math.max(x, lo), hi));

const readers: Readonly<Record<StorageType, (x: number) => number>> = {
  f32: same,
  f64: same,
  i32: same,
  u8: same,
  f16: fromF16,
  bf16: fromBF16,
};

const writers: Readonly<Record<StorageType, (x: number) => number>> = {
  f32: same,
  f64: same,
  i32: saturate(-(2 ** 31), 2 ** 31 - 1),
  u8: saturate(0, 255),
  f16: toF16,
  bf16: toBF16,
};

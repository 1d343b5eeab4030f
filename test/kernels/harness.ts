/**
 * Shared by the kernel tests: seeded inputs, comparison with one tolerance table, runs over thread counts.
 */

import { type FloatArray, getThreads, setThreads } from 'skein/native';
import { expect } from 'vitest';
import { type Kernels, nativeKernels } from '#internal/native/index.js';

/** Lengths on the edges of vectors, unrolled loops and blocks. */
export const edgeSizes = [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 127, 128, 129, 1000] as const;

export const floatTypes = ['f32', 'f64'] as const;
export type FloatType = (typeof floatTypes)[number];

/**
 * Relative to max(1, |expected|): f32 kernels differ from the f64-accumulating twins by a few ulp (6e-8) per
 * operation, times the length of a sum's blocks; f64 likewise at 1e-16.
 */
const tolerance: Readonly<Record<FloatType, number>> = { f32: 2e-5, f64: 1e-12 };

export function zeros(type: FloatType, n: number): FloatArray {
  return type === 'f32' ? new Float32Array(n) : new Float64Array(n);
}

/** Seeded uniform values in [lo, hi), independent of the library's own generator. */
export function randomFloats(type: FloatType, n: number, seed = 1, lo = -2, hi = 2): FloatArray {
  const next = lcg(seed);
  const out = zeros(type, n);
  for (let i = 0; i < n; i++) out[i] = lo + (hi - lo) * next();
  return out;
}

export function randomIds(n: number, bound: number, seed = 1): Int32Array {
  const next = lcg(seed);
  return Int32Array.from({ length: n }, () => Math.floor(next() * bound));
}

export function expectClose(actual: FloatArray, expected: FloatArray, type: FloatType, scale = 1): void {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < expected.length; i++) {
    const want = expected[i];
    const got = actual[i];
    if (Object.is(want, got) || want === got || (Number.isNaN(want) && Number.isNaN(got))) continue;
    const error = Math.abs(got - want) / Math.max(1, Math.abs(want));
    if (!(error <= tolerance[type] * scale)) {
      expect.fail(
        `element ${i}: expected ${want}, got ${got} (error ${error}, allowed ${tolerance[type] * scale})`,
      );
    }
  }
}

/** For exact results: much faster than `toEqual` on large arrays. */
export function expectSameBytes(actual: ArrayBufferView, expected: ArrayBufferView, label = 'bytes'): void {
  expect(Buffer.compare(bytes(actual), bytes(expected)), label).toBe(0);
}

/** Runs `work` with 1, 2 and 4 threads and expects the same bytes each time. */
export function expectSameBytesForThreads(work: (kernels: Kernels) => ArrayBufferView[]): void {
  if (nativeKernels === null) return;
  const before = getThreads();
  try {
    const results = [1, 2, 4].map((count) => {
      setThreads(count);
      return work(nativeKernels as Kernels).map(bytes);
    });
    for (const other of results.slice(1)) {
      for (const [i, view] of other.entries())
        expect(Buffer.compare(view, results[0][i]), `output ${i}`).toBe(0);
    }
  } finally {
    setThreads(before);
  }
}

function bytes(view: ArrayBufferView): Buffer {
  return Buffer.from(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
}

function lcg(seed: number): () => number {
  let state = (Math.imul(seed, 2654435761) ^ 0x9e3779b9) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

/** mergeExtreme and mergeAttention: native against the twins, ties and NaN, rows that have nothing yet. */
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
} from './harness.js';

const implementations: [string, Kernels][] = [['reference', referenceKernels]];
if (nativeKernels !== null) implementations.push(['native', nativeKernels]);

/** Every second row, or all. */
function rowsOf(count: number, spread: boolean): Int32Array | null {
  return spread ? Int32Array.from({ length: count }, (_, i) => 2 * i) : null;
}

function runExtreme(
  k: Kernels,
  type: FloatType,
  count: number,
  width: number,
  spread: boolean,
): ArrayBufferView[] {
  const size = (spread ? 2 : 1) * count * width;
  const y = randomFloats(type, size, 1).map(Math.round);
  const part = randomFloats(type, count * width, 2).map(Math.round);
  const arg = randomIds(size, 9, 3).map((slot) => slot - 1);
  const argPart = randomIds(count * width, 9, 4);
  k.mergeExtreme(count % 2 === 0, y, arg, part, argPart, rowsOf(count, spread), count, width);
  return [y, arg];
}

function runAttention(
  k: Kernels,
  type: FloatType,
  count: number,
  width: number,
  spread: boolean,
): FloatArray[] {
  const heads = 2;
  const rows = (spread ? 2 : 1) * count;
  const y = randomFloats(type, rows * heads * width, 1);
  const lse = randomFloats(type, rows * heads, 2, -5, 5);
  for (let i = 0; i < lse.length; i += 3) lse[i] = -Infinity;
  const part = randomFloats(type, count * heads * width, 3);
  const lsePart = randomFloats(type, count * heads, 4, -5, 5);
  k.mergeAttention(y, lse, part, lsePart, rowsOf(count, spread), count, heads, width);
  return [y, lse];
}

describe.each(implementations)('%s', (_name, kernels) => {
  it('lets NaN win, and of equals the lower position', () => {
    const y = Float32Array.of(1, 1, Number.NaN, 3, 0, Number.NaN);
    const arg = Int32Array.of(4, 4, 4, 4, -1, 2);
    const part = Float32Array.of(1, 1, 5, Number.NaN, -7, Number.NaN);
    const argPart = Int32Array.of(3, 5, 1, 9, 6, 1);
    kernels.mergeExtreme(true, y, arg, part, argPart, null, 1, 6);
    expect([...y]).toEqual([1, 1, Number.NaN, Number.NaN, -7, Number.NaN]);
    expect([...arg]).toEqual([3, 4, 4, 9, 6, 1]);
  });

  it('takes the part where there was nothing, and weighs by the sums of exponentials', () => {
    const y = Float64Array.of(0, 4);
    const lse = Float64Array.of(-Infinity, Math.log(3));
    kernels.mergeAttention(y, lse, Float64Array.of(5, 8), Float64Array.of(2, 0), null, 2, 1, 1);
    expect(y[0]).toBe(5);
    expect(lse[0]).toBeCloseTo(2, 12);
    expect(y[1]).toBeCloseTo(5, 12);
    expect(lse[1]).toBeCloseTo(Math.log(4), 12);
  });
});

describe.skipIf(nativeKernels === null).each(floatTypes)('native = reference, %s', (type) => {
  const native = nativeKernels as Kernels;
  it.each([true, false])('on edge sizes, rows named: %s', (spread) => {
    for (const width of edgeSizes) {
      for (const count of [0, 1, 5]) {
        expect(runExtreme(native, type, count, width, spread)).toEqual(
          runExtreme(referenceKernels, type, count, width, spread),
        );
        const got = runAttention(native, type, count, width, spread);
        const want = runAttention(referenceKernels, type, count, width, spread);
        for (const [i, array] of got.entries()) expectClose(array, want[i], type);
      }
    }
  });

  it('the same bytes for any number of threads', () => {
    const work = (k: Kernels) => [
      ...runExtreme(k, type, 6000, 33, true),
      ...runAttention(k, type, 6000, 17, true),
    ];
    expectSameBytesForThreads(work);
  });
});

/** rowPenalty: native against the twin on vector edges, selected and all rows, every power, threads. */
import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import {
  edgeSizes,
  expectClose,
  expectSameBytes,
  expectSameBytesForThreads,
  type FloatType,
  floatTypes,
  randomFloats,
  randomIds,
  zeros,
} from './harness.js';

interface Sizes {
  readonly rows: number;
  readonly count: number;
  readonly width: number;
}

function run(
  k: Kernels,
  type: FloatType,
  { rows, count, width }: Sizes,
  power: number,
  complex: boolean,
): FloatArray[] {
  const x = randomFloats(type, rows * width, 1);
  // A row of zeros, where the slope of a modulus is undefined and that of the penalty 0.
  x.fill(0, 0, width);
  const [loss, alone] = [zeros(type, count + 1).fill(7), zeros(type, count + 1).fill(7)];
  const grad = zeros(type, count * width + 1).fill(7);
  const common = {
    x,
    ids: count === rows ? null : randomIds(count, rows, 2),
    weights: randomFloats(type, count, 3, 0, 1),
    ...{ count, width, power, complex },
  };
  k.rowPenalty({ ...common, loss, grad });
  k.rowPenalty({ ...common, loss: alone, grad: null });
  expectSameBytes(alone, loss);
  return [loss, grad];
}

describe.skipIf(nativeKernels === null)('native = reference', () => {
  it.each([1, 2, 3, 4, 5])('power %i', (power) => {
    for (const type of floatTypes)
      for (const width of edgeSizes.slice(1))
        for (const complex of [false, true]) {
          if (complex && width % 2 !== 0) continue;
          for (const [rows, count] of [
            [9, 9],
            [9, 4],
            [9, 0],
          ]) {
            const got = run(nativeKernels as Kernels, type, { rows, count, width }, power, complex);
            const want = run(referenceKernels, type, { rows, count, width }, power, complex);
            // Up to 1000 terms of at most 2.9⁵ are added in another order.
            for (const [i, values] of got.entries()) expectClose(values, want[i], type, 5);
          }
        }
  });
});

it('has no gradient at 0', () => {
  for (const complex of [false, true]) {
    const [, grad] = run(referenceKernels, 'f64', { rows: 3, count: 3, width: 4 }, 1, complex);
    expect([...grad.subarray(0, 4)]).toEqual([0, 0, 0, 0]);
  }
});

it('gives the same bytes for any number of threads', () => {
  const sizes = { rows: 5000, count: 3000, width: 100 };
  expectSameBytesForThreads((k) => [2, 3].flatMap((power) => run(k, 'f32', sizes, power, true)));
});

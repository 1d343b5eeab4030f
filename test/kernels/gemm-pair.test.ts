/**
 * Pairs of linear maps: against the twin on edge sizes, the bits of the products they replace, thread counts.
 */
import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import {
  expectClose,
  expectSameBytes,
  expectSameBytesForThreads,
  type FloatType,
  floatTypes,
  randomFloats,
  zeros,
} from './harness.js';

type Sizes = readonly [rows: number, columns: number, k1: number, k2: number];

const shapes: Sizes[] = [
  [0, 3, 4, 2],
  [3, 0, 4, 2],
  [20, 4, 0, 3],
  [20, 4, 3, 0],
  [1, 1, 1, 1],
  [7, 9, 8, 127],
  [15, 17, 16, 1],
  [33, 31, 129, 100],
  [129, 128, 127, 64],
  [300, 47, 100, 100],
  [150, 33, 600, 20],
  [40, 1100, 9, 8],
  [5000, 48, 20, 33],
];

function inputs(type: FloatType, [m, n, k1, k2]: Sizes) {
  return {
    a1: randomFloats(type, m * k1, 1),
    b1: randomFloats(type, n * k1, 2),
    a2: randomFloats(type, m * k2, 3),
    b2: randomFloats(type, n * k2, 4),
    bias: randomFloats(type, n, 5),
    g: randomFloats(type, m * n, 6),
  };
}

function forward(k: Kernels, type: FloatType, sizes: Sizes, relu: boolean, biased: boolean): FloatArray {
  const [m, n, k1, k2] = sizes;
  const { a1, b1, a2, b2, bias } = inputs(type, sizes);
  const c = zeros(type, m * n + 1).fill(7);
  k.gemmPair({ a1, b1, k1, a2, b2, k2, bias: biased ? bias : null, c, m, n, relu });
  return c;
}

function backward(k: Kernels, type: FloatType, sizes: Sizes, masked: boolean): FloatArray[] {
  const [m, n, k1, k2] = sizes;
  const { a1, a2, g } = inputs(type, sizes);
  const y = masked ? randomFloats(type, m * n, 7).map((v) => Math.max(v, 0)) : null;
  const [gb1, gb2, gbias] = [n * k1, n * k2, n].map((size) => zeros(type, size + 1).fill(7));
  k.gemmPairBackward({ g, y, a1, gb1, k1, a2, gb2, k2, gbias, m, n });
  // Without a bias the weights' gradients are the same.
  const [again1, again2] = [gb1, gb2].map((want) => zeros(type, want.length).fill(7));
  k.gemmPairBackward({ g, y, a1, gb1: again1, k1, a2, gb2: again2, k2, gbias: null, m, n });
  expectSameBytes(again1, gb1);
  expectSameBytes(again2, gb2);
  return [gb1, gb2, gbias];
}

describe.runIf(nativeKernels !== null)('native', () => {
  const native = nativeKernels as Kernels;

  describe.each(floatTypes)('= reference in %s', (type) => {
    it.each(shapes)('%i × %i × (%i + %i)', (...sizes) => {
      const [m, , k1, k2] = sizes;
      for (const relu of [false, true]) {
        for (const biased of [false, true]) {
          const want = forward(referenceKernels, type, sizes, relu, biased);
          expectClose(
            forward(native, type, sizes, relu, biased),
            want,
            type,
            Math.max(1, Math.sqrt(k1 + k2) / 4),
          );
        }
        const want = backward(referenceKernels, type, sizes, relu);
        for (const [i, got] of backward(native, type, sizes, relu).entries())
          expectClose(got, want[i], type, Math.max(1, Math.sqrt(m) / 4));
      }
    });
  });

  it.each(floatTypes)('gives the bits of two products and relu in %s', (type) => {
    for (const sizes of shapes) {
      const [m, n, k1, k2] = sizes;
      const { a1, b1, a2, b2, bias } = inputs(type, sizes);
      const c = zeros(type, m * n + 1).fill(7);
      native.gemm({ a: a1, b: b1, bias, c, m, n, k: k1, transA: false, transB: true, accumulate: false });
      native.gemm({
        a: a2,
        b: b2,
        bias: null,
        c,
        m,
        n,
        k: k2,
        transA: false,
        transB: true,
        accumulate: true,
      });
      expectSameBytes(forward(native, type, sizes, false, true), c);
      native.unary(12, c, c, m * n, 0);
      expectSameBytes(forward(native, type, sizes, true, true), c);
    }
  });

  it('lets NaN through relu, forward and backward', () => {
    const [y, g] = [zeros('f32', 20), zeros('f32', 20)];
    const a = zeros('f32', 20).fill(NaN);
    native.gemmPair({
      a1: a,
      b1: zeros('f32', 1),
      k1: 1,
      a2: a,
      b2: zeros('f32', 1),
      k2: 1,
      bias: null,
      c: y,
      m: 20,
      n: 1,
      relu: true,
    });
    expect(y.every(Number.isNaN)).toBe(true);
    const ones = zeros('f32', 20).fill(1);
    native.gemmPairBackward({
      g: ones,
      y,
      a1: ones,
      gb1: g,
      k1: 1,
      a2: ones,
      gb2: zeros('f32', 1),
      k2: 1,
      gbias: null,
      m: 20,
      n: 1,
    });
    expect(g[0]).toBe(20);
  });
});

it('gives the same bytes for any number of threads', () => {
  expectSameBytesForThreads((k) =>
    floatTypes.flatMap((type) => [
      forward(k, type, [5000, 48, 20, 33], true, true),
      ...backward(k, type, [5000, 48, 20, 33], true),
      ...backward(k, type, [129, 128, 127, 64], false),
    ]),
  );
});

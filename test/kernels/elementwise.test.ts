/** Elementwise kernels: special values, native = reference, gradients, broadcasting, thread counts. */

import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import {
  type BinaryOp,
  binaryCode,
  binaryOps,
  compareCode,
  compareOps,
  type Kernels,
  nativeKernels,
  referenceKernels,
  type UnaryOp,
  unaryCode,
  unaryOps,
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

/** `[rank, ...shape, ...strides of a, ...strides of b]`. */
function dimsOf(shape: number[], a: number[], b: number[]): Int32Array {
  return Int32Array.from([shape.length, ...shape, ...a, ...b]);
}

/** Walks over shapes that take every path: merged, scalar, row, column, strided, many small dimensions, empty. */
const walks: [string, number[], number[], number[]][] = [
  ['no dimension', [], [], []],
  ['one element', [1, 1], [1, 1], [0, 0]],
  ['contiguous, merged', [3, 5, 7], [35, 7, 1], [35, 7, 1]],
  ['scalar right', [101], [1], [0]],
  ['scalar left', [101], [0], [1]],
  ['both scalar', [33], [0], [0]],
  ['row broadcast', [9, 33], [33, 1], [0, 1]],
  ['column broadcast', [9, 33], [33, 1], [1, 0]],
  ['row by column', [9, 33], [0, 1], [1, 0]],
  ['transposed', [17, 6], [6, 1], [1, 17]],
  ['every second', [40], [2], [1]],
  ['middle broadcast', [4, 5, 6], [30, 6, 1], [6, 0, 1]],
  ['four dimensions', [2, 3, 4, 5], [60, 0, 5, 1], [0, 20, 0, 1]],
  ['rows of one', [50, 1], [1, 1], [0, 1]],
  ['empty', [3, 0, 2], [0, 2, 1], [0, 2, 1]],
  ['longer than a segment', [3, 40_000], [40_000, 1], [0, 1]],
];
const sizeOf = (shape: number[]): number => shape.reduce((p, s) => p * s, 1);
/** Elements that a walk reads at most. */
const spanOf = (shape: number[], strides: number[]): number =>
  shape.reduce((p, s, d) => p + Math.max(0, s - 1) * strides[d], 1);

for (const [name, kernels] of implementations) {
  describe.skipIf(kernels === null)(`elementwise, ${name}`, () => {
    const k = kernels as Kernels;
    const unary = (op: UnaryOp, x: number[], alpha = 0): number[] => {
      const y = new Float64Array(x.length);
      k.unary(unaryCode[op], Float64Array.from(x), y, x.length, alpha);
      return [...y];
    };
    const binary = (op: BinaryOp, a: number[], b: number[]): number[] => {
      const y = new Float32Array(a.length);
      k.binary(binaryCode[op], Float32Array.from(a), Float32Array.from(b), y, a.length, null);
      return [...y];
    };
    const binaryI32 = (op: BinaryOp, a: number[], b: number[]): number[] => {
      const y = new Int32Array(a.length);
      k.binaryI32(binaryCode[op], Int32Array.from(a), Int32Array.from(b), y, a.length, null);
      return [...y];
    };

    it('gives PyTorch values', () => {
      expect(unary('sign', [-3, 0, 2, NaN])).toEqual([-1, 0, 1, NaN]);
      expect(unary('relu', [-3, 0, 2, NaN, Infinity])).toEqual([0, 0, 2, NaN, Infinity]);
      expect(unary('leakyRelu', [-3, 0, 2, NaN], 0.5)).toEqual([-1.5, 0, 2, NaN]);
      expect(unary('sqrt', [4, 0, -1])).toEqual([2, 0, NaN]);
      expect(unary('reciprocal', [4, 0])).toEqual([0.25, Infinity]);
      const close = (op: UnaryOp, x: number, want: number, alpha = 0): void =>
        expect(unary(op, [x], alpha)[0]).toBeCloseTo(want, 12);
      close('gelu', 1, 0.8413447460685429);
      close('gelu', -0.5, -0.15426876936299344);
      close('gelu', -3, -0.00404969409489031);
      close('elu', -1, -1.2642411176571153, 2);
      close('softplus', 0.3, 0.8543552444685272);
      close('softplus', -40, Math.exp(-40));
      close('logSigmoid', -2, -2.1269280110429727);
      expect(unary('softplus', [20.5])).toEqual([20.5]);
    });

    it('propagates NaN in maximum and minimum', () => {
      expect(binary('maximum', [NaN, 1, 2, -1], [1, NaN, 1, 3])).toEqual([NaN, NaN, 2, 3]);
      expect(binary('minimum', [NaN, 1, 2, -1], [1, NaN, 1, 3])).toEqual([NaN, NaN, 1, -1]);
      expect(binary('pow', [2, 1, -1, 0, -8], [10, NaN, Infinity, 0, 3])).toEqual([1024, 1, 1, 1, -512]);
      expect(binary('div', [1, 0, -1], [0, 0, 0])).toEqual([Infinity, NaN, -Infinity]);
    });

    it('wraps i32 and defines its division and powers', () => {
      const max = 2147483647;
      expect(binaryI32('add', [max, 1], [1, 2])).toEqual([-2147483648, 3]);
      expect(binaryI32('mul', [65536, max], [65536, 2])).toEqual([0, -2]);
      expect(binaryI32('div', [7, -7, 5, -2147483648], [2, 2, 0, -1])).toEqual([3, -3, 0, -2147483648]);
      expect(binaryI32('pow', [3, -2, 2, -1, 1, 0], [4, 3, -1, -3, -5, 0])).toEqual([81, -8, 0, -1, 1, 1]);
      expect(binaryI32('maximum', [-3, 9], [2, 4])).toEqual([2, 9]);
    });

    it('compares NaN as unequal to all', () => {
      const holds = (op: keyof typeof compareCode): number[] => {
        const y = new Uint8Array(4);
        k.compare(
          compareCode[op],
          Float32Array.of(1, 2, NaN, NaN),
          Float32Array.of(1, 1, 1, NaN),
          y,
          4,
          null,
        );
        return [...y];
      };
      expect(holds('eq')).toEqual([1, 0, 0, 0]);
      expect(holds('ne')).toEqual([0, 1, 1, 1]);
      expect(holds('lt')).toEqual([0, 0, 0, 0]);
      expect(holds('le')).toEqual([1, 0, 0, 0]);
      expect(holds('gt')).toEqual([0, 1, 0, 0]);
      expect(holds('ge')).toEqual([1, 1, 0, 0]);
    });

    it('clamps, chooses and updates in place', () => {
      const y = new Float32Array(4);
      k.clamp(Float32Array.of(-5, 0.5, 9, NaN), y, 4, -1, 2);
      expect([...y]).toEqual([-1, 0.5, 2, NaN]);
      k.where(Uint8Array.of(1, 0, 2, 0), Float32Array.of(1, 2, 3, 4), Float32Array.of(5, 6, 7, 8), y, 4);
      expect([...y]).toEqual([1, 6, 3, 8]);
      k.axpy(2, Float32Array.of(1, 1, 1, 1), y, 3);
      expect([...y]).toEqual([3, 8, 5, 8]);
      k.scale(y, 2, 0.5);
      expect([...y]).toEqual([1.5, 4, 5, 8]);
      k.fill(y, 3, -1);
      expect([...y]).toEqual([-1, -1, -1, 8]);
    });

    it.each(unaryOps)('%s: the gradient is the slope', (op) => {
      const n = 65;
      const positive = op === 'sqrt' || op === 'log' || op === 'reciprocal';
      const x = randomFloats('f64', n, 7, positive ? 0.2 : -3, 3);
      const h = 1e-6;
      const at = (shift: number): FloatArray => {
        const y = zeros('f64', n);
        k.unary(unaryCode[op], x.map((v) => v + shift) as FloatArray, y, n, 0.7);
        return y;
      };
      const [below, y, above] = [at(-h), at(0), at(h)];
      const gy = randomFloats('f64', n, 8);
      const gx = zeros('f64', n);
      k.unaryBackward(unaryCode[op], x, y, gy, gx, n, 0.7);
      const want = gy.map((g, i) => (g * (above[i] - below[i])) / (2 * h));
      for (let i = 0; i < n; i++) expect(gx[i]).toBeCloseTo(want[i], 6);
    });

    it('has the derivative of PyTorch at kinks', () => {
      const slope = (op: UnaryOp, x: number): number => {
        const gx = new Float32Array(1);
        k.unaryBackward(
          unaryCode[op],
          Float32Array.of(x),
          Float32Array.of(0),
          Float32Array.of(1),
          gx,
          1,
          0.5,
        );
        return gx[0];
      };
      expect([slope('relu', 0), slope('abs', 0), slope('sign', 0), slope('leakyRelu', 0)]).toEqual([
        0, 0, 0, 0.5,
      ]);
      expect([slope('elu', 0), slope('softplus', 21), slope('abs', -2)]).toEqual([0.5, 1, -1]);
    });
  });
}

describe.skipIf(nativeKernels === null)('elementwise, native = reference', () => {
  const native = nativeKernels as Kernels;
  /** Runs both and compares; one element more than needed shows writes beyond the end. */
  const both = (type: 'f32' | 'f64', n: number, work: (k: Kernels, out: FloatArray) => void): void => {
    const [got, want] = [native, referenceKernels].map((k) => {
      const out = zeros(type, n + 1).fill(7);
      work(k, out);
      return out;
    });
    expectClose(got, want, type);
  };

  for (const type of floatTypes) {
    it.each(unaryOps)(`%s ${type}`, (op) => {
      const code = unaryCode[op];
      const positive = op === 'sqrt' || op === 'log';
      for (const n of edgeSizes) {
        const x = randomFloats(type, n + 1, 3, positive ? 0.1 : -6, 6);
        const y = zeros(type, n + 1);
        referenceKernels.unary(code, x, y, n, 0.3);
        const gy = randomFloats(type, n + 1, 4);
        both(type, n, (k, out) => k.unary(code, x, out, n, 0.3));
        both(type, n, (k, out) => k.unaryBackward(code, x, y, gy, out, n, 0.3));
        both(type, n, (k, out) => {
          out.set(x);
          k.unary(code, out, out, n, 0.3);
        });
        both(type, n, (k, out) => {
          out.set(gy);
          k.unaryBackward(code, x, y, out, out, n, 0.3);
        });
      }
    });

    it.each(walks)(`binary ${type}: %s`, (_name, shape, a, b) => {
      const n = sizeOf(shape);
      const left = randomFloats(type, spanOf(shape, a), 5, 0.5, 2);
      const right = randomFloats(type, spanOf(shape, b), 6, 0.5, 2);
      for (const op of binaryOps) {
        both(type, n, (k, out) => k.binary(binaryCode[op], left, right, out, n, dimsOf(shape, a, b)));
      }
      for (const op of compareOps) {
        const [got, want] = [native, referenceKernels].map((k) => {
          const y = new Uint8Array(n + 1).fill(7);
          k.compare(compareCode[op], left, right, y, n, dimsOf(shape, a, b));
          return y;
        });
        expectSameBytes(got, want, op);
      }
    });

    it(`the rest ${type}`, () => {
      for (const n of edgeSizes) {
        const x = randomFloats(type, n + 1, 9);
        const z = randomFloats(type, n + 1, 10);
        const condition = Uint8Array.from(randomIds(n + 1, 2, 11));
        for (const op of binaryOps) {
          if (op !== 'pow') both(type, n, (k, out) => k.binary(binaryCode[op], x, z, out, n, null));
        }
        both(type, n, (k, out) => k.where(condition, x, z, out, n));
        both(type, n, (k, out) => k.clamp(x, out, n, -0.5, 1));
        both(type, n, (k, out) => k.axpy(0.37, x, out, n));
        both(type, n, (k, out) => k.scale(out, n, 0.37));
        both(type, n, (k, out) => k.fill(out, n, 0.1));
      }
    });
  }

  it.each(walks)('i32: %s', (_name, shape, a, b) => {
    const n = sizeOf(shape);
    const left = randomIds(spanOf(shape, a), 2000, 5).map((v) => v - 1000);
    const right = randomIds(spanOf(shape, b), 20, 6).map((v) => v - 5);
    const dims = dimsOf(shape, a, b);
    const run = (work: (k: Kernels, out: Int32Array) => void): void => {
      const [got, want] = [native, referenceKernels].map((k) => {
        const out = new Int32Array(n + 1).fill(7);
        work(k, out);
        return out;
      });
      expectSameBytes(got, want);
    };
    for (const op of binaryOps) run((k, out) => k.binaryI32(binaryCode[op], left, right, out, n, dims));
    for (const op of compareOps) {
      run((k, out) => {
        const y = new Uint8Array(n);
        k.compareI32(compareCode[op], left, right, y, n, dims);
        out.set(y);
      });
    }
  });
});

it('elementwise: same bytes for any number of threads', () => {
  const n = 150_001;
  const x = randomFloats('f32', n, 1, -6, 6);
  const row = dimsOf([1500, 100], [100, 1], [0, 1]);
  expectSameBytesForThreads((k) =>
    unaryOps.flatMap((op) => {
      const y = new Float32Array(n);
      const gx = new Float32Array(n);
      const z = new Float32Array(n);
      k.unary(unaryCode[op], x, y, n, 0.3);
      k.unaryBackward(unaryCode[op], x, y, x, gx, n, 0.3);
      k.binary(binaryCode.mul, x, y, z, 150_000, row);
      return [y, gx, z];
    }),
  );
});

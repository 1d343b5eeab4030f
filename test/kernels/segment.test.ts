/** segmentReduce and its gradient: empty, short, long and very uneven segments. */

import { describe, expect, it } from 'vitest';
import {
  type Kernels,
  nativeKernels,
  reduceCode,
  reduceOps,
  referenceKernels,
} from '#internal/native/index.js';
import {
  edgeSizes,
  expectClose,
  expectSameBytesForThreads,
  floatTypes,
  randomFloats,
  randomIds,
  zeros,
} from './harness.js';

const implementations: [string, Kernels][] = [['reference', referenceKernels]];
if (nativeKernels !== null) implementations.push(['native', nativeKernels]);
const native = nativeKernels as Kernels;

function offsetsOf(sizes: Iterable<number>, first = 0): Int32Array {
  const offsets = [first];
  for (const size of sizes) offsets.push(offsets[offsets.length - 1] + size);
  return Int32Array.from(offsets);
}

const bytes = (x: Int32Array | null): Uint8Array =>
  x === null ? new Uint8Array(0) : new Uint8Array(x.buffer, x.byteOffset, x.byteLength);

describe.each(implementations)('segments: %s', (_, kernels) => {
  it('accepts no segments and no columns', () => {
    kernels.segmentReduce(0, new Float32Array(0), new Int32Array([0]), new Float32Array(0), null, 0, 4);
    kernels.segmentReduce(0, new Float32Array(0), new Int32Array([0, 2]), new Float32Array(0), null, 1, 0);
    kernels.segmentReduceBackward(
      2,
      new Float32Array(0),
      new Int32Array([0]),
      new Int32Array(0),
      new Float32Array(0),
      0,
      4,
    );
  });

  it('reduces by hand', () => {
    const x = new Float64Array([1, 8, 3, 6, 5, 4]);
    const offsets = new Int32Array([0, 2, 2, 3]);
    const expected = {
      sum: [4, 14, 0, 0, 5, 4],
      mean: [2, 7, 0, 0, 5, 4],
      max: [3, 8, 0, 0, 5, 4],
      min: [1, 6, 0, 0, 5, 4],
    };
    for (const op of reduceOps) {
      const y = new Float64Array(6).fill(9);
      const arg = new Int32Array(6);
      kernels.segmentReduce(reduceCode[op], x, offsets, y, op === 'max' || op === 'min' ? arg : null, 3, 2);
      expect([...y], op).toEqual(expected[op]);
      if (op === 'max') expect([...arg]).toEqual([1, 0, -1, -1, 2, 2]);
      if (op === 'min') expect([...arg]).toEqual([0, 1, -1, -1, 2, 2]);
    }
  });

  it('lets NaN win and the first row keep a tie', () => {
    const x = new Float32Array([1, 2, Number.NaN, 2, 3, Number.NaN, -0, 0]);
    const offsets = new Int32Array([0, 4, 6, 8]);
    for (const [op, rows] of [
      ['max', [2, 5, 6]],
      ['min', [2, 5, 6]],
    ] as const) {
      const y = new Float32Array(3);
      const arg = new Int32Array(3);
      kernels.segmentReduce(reduceCode[op], x, offsets, y, arg, 3, 1);
      expect([...arg]).toEqual(rows);
      expect([...y]).toEqual([Number.NaN, Number.NaN, -0]);
    }
  });

  it('spreads gradients and leaves other rows alone', () => {
    const gy = new Float32Array([6, 8]);
    const offsets = new Int32Array([1, 3, 3, 4]);
    const expected = {
      sum: [9, 6, 6, 5, 9],
      mean: [9, 3, 3, 5, 9],
      max: [9, 0, 6, 5, 9],
      min: [9, 0, 6, 5, 9],
    };
    for (const op of reduceOps) {
      const gx = new Float32Array(5).fill(9);
      const full = new Float32Array([gy[0], 7, 5]);
      kernels.segmentReduceBackward(reduceCode[op], full, offsets, new Int32Array([2, -1, 3]), gx, 3, 1);
      expect([...gx], op).toEqual(expected[op]);
    }
  });
});

describe.skipIf(nativeKernels === null)('segments: native = reference', () => {
  const layouts: Record<string, Int32Array> = {
    short: offsetsOf(randomIds(100, 9)),
    empty: new Int32Array(200).fill(3),
    'edge sizes': offsetsOf(edgeSizes),
    'block edges': offsetsOf([1023, 0, 1024, 1, 1025, 2048, 31, 32, 33], 2),
    'one long': offsetsOf([5000]),
  };
  for (const [name, offsets] of Object.entries(layouts)) {
    it.each(floatTypes)(`${name}, %s`, (type) => {
      const segments = offsets.length - 1;
      const rows = offsets[segments];
      for (const width of [1, 2, 3, 4, 8, 9, 16, 17, 64, 130]) {
        // Whole numbers make ties frequent.
        const x = randomFloats(type, rows * width, width).map((v) => Math.round(v * 8) / 4);
        const gy = randomFloats(type, segments * width, 5);
        for (const op of reduceOps) {
          const code = reduceCode[op];
          const indexed = op === 'max' || op === 'min';
          const run = (kernels: Kernels) => {
            const y = zeros(type, segments * width);
            const arg = indexed ? new Int32Array(segments * width) : null;
            kernels.segmentReduce(code, x, offsets, y, arg, segments, width);
            const gx = zeros(type, rows * width);
            kernels.segmentReduceBackward(code, gy, offsets, arg, gx, segments, width);
            return { y, arg, gx };
          };
          const [want, got] = [run(referenceKernels), run(native)];
          expectClose(got.y, want.y, type);
          expectClose(got.gx, want.gx, type);
          if (indexed) expect(Buffer.compare(bytes(got.arg), bytes(want.arg)), op).toBe(0);
        }
      }
    });
  }

  it('works without arg', () => {
    const x = randomFloats('f32', 6000 * 3);
    const [want, got] = [zeros('f32', 6), zeros('f32', 6)];
    const offsets = new Int32Array([0, 10, 6000]);
    referenceKernels.segmentReduce(reduceCode.max, x, offsets, want, null, 2, 3);
    native.segmentReduce(reduceCode.max, x, offsets, got, null, 2, 3);
    expect(got).toEqual(want);
  });

  it('spreads gradients large enough to be streamed', () => {
    const offsets = offsetsOf(randomIds(20_000, 20));
    const rows = offsets[20_000];
    const width = Math.ceil((36 << 20) / 4 / rows);
    const gy = randomFloats('f32', 20_000 * width);
    for (const op of [reduceCode.sum, reduceCode.mean]) {
      const [want, got] = [new Float32Array(rows * width + 3), new Float32Array(rows * width + 3)];
      referenceKernels.segmentReduceBackward(op, gy, offsets, null, want.subarray(3), 20_000, width);
      native.segmentReduceBackward(op, gy, offsets, null, got.subarray(3), 20_000, width);
      expectClose(got, want, 'f32');
    }
  });

  it('gives the same bytes for every number of threads', () => {
    const offsets = offsetsOf([0, 30_000, ...randomIds(5000, 7), 2000, 0, 0]);
    const segments = offsets.length - 1;
    for (const width of [1, 5, 40]) {
      const x = randomFloats('f32', offsets[segments] * width);
      expectSameBytesForThreads((kernels) =>
        reduceOps.flatMap((op) => {
          const y = zeros('f32', segments * width);
          const arg = new Int32Array(segments * width);
          kernels.segmentReduce(reduceCode[op], x, offsets, y, arg, segments, width);
          const gx = zeros('f32', x.length);
          kernels.segmentReduceBackward(reduceCode[op], y, offsets, arg, gx, segments, width);
          return [y, arg, gx];
        }),
      );
    }
  });
});

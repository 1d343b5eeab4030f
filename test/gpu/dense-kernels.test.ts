/**
 * GPU kernels against their CPU twins for sizes that the operations' case tables do not cover: those that take
 * several tiles, parts or workgroups, in every layout, and twice with the same bits.
 */
import type { WebGpuTensorDevice } from 'skein/gpu';
import type { TypedArray } from 'skein/native';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import {
  binaryCode,
  binaryOps,
  compareCode,
  compareOps,
  type Kernels,
  reduceCode,
  referenceKernels,
} from '#internal/native/index.js';
import { byPosition } from '../native/kernel-calls.js';
import { useWebGpu } from './use-webgpu.js';

const webgpu = useWebGpu();

const random = new Random(11);

function floats(n: number): Float32Array {
  return Float32Array.from({ length: n }, () => random.nextFloat() * 2 - 1);
}

/** Runs a kernel on both sides; `out` names the arguments that it writes. Returns the device's values. */
async function both(
  name: keyof Kernels,
  args: readonly unknown[],
  out: readonly number[],
): Promise<TypedArray[]> {
  const isDevice = (value: unknown): value is TypedArray =>
    value instanceof Float32Array || value instanceof Uint8Array;
  const memory = new Map<unknown, ReturnType<WebGpuTensorDevice['allocate']>>();
  const held = args.map((value, i) => {
    if (!isDevice(value) && !out.includes(i)) return value;
    const data = value as TypedArray;
    const array = webgpu.device.allocate(
      data instanceof Float32Array ? 'f32' : data instanceof Int32Array ? 'i32' : 'u8',
      data.length,
    );
    webgpu.device.upload(array, data);
    memory.set(i, array);
    return array;
  });
  byPosition(webgpu.device.kernels, name)(...held);
  const results = await Promise.all(out.map((i) => webgpu.device.download(memory.get(i) as never)));
  for (const array of memory.values()) array.release();
  byPosition(referenceKernels, name)(...args);
  for (const [k, i] of out.entries()) expect(worst(results[k], args[i] as TypedArray)).toBeLessThan(1e-4);
  return results;
}

/** Returns the largest difference relative to max(1, |wanted|). */
function worst(actual: TypedArray, wanted: TypedArray): number {
  let largest = actual.length === wanted.length ? 0 : Infinity;
  for (let i = 0; i < wanted.length; i++) {
    if (Object.is(actual[i], wanted[i])) continue;
    const error = Math.abs(actual[i] - wanted[i]) / Math.max(1, Math.abs(wanted[i]));
    largest = error <= largest ? largest : error;
  }
  return largest;
}

describe('gemm on webgpu', () => {
  const sizes = [
    [130, 70, 33],
    [300, 7, 40],
    [5, 200, 21],
    [3, 4, 5],
    [65, 65, 0],
  ];
  const layouts = [false, true].flatMap((a) => [false, true].map((b) => [a, b] as const));
  for (const [m, n, k] of sizes) {
    it.each(layouts)(`${m}×${n}×${k}, transposed %s %s`, async (transA, transB) => {
      for (const accumulate of [false, true]) {
        const bias = accumulate ? null : floats(n);
        const args = [floats(m * k), floats(k * n), bias, floats(m * n), m, n, k, transA, transB, accumulate];
        await both('gemm', args, [3]);
      }
    });
  }

  it('splits a long sum into parts, with equal bits every time', async () => {
    const [m, n, k] = [9, 33, 3001];
    const args = [floats(m * k), floats(k * n), floats(n), floats(m * n), m, n, k, true, false, true];
    const copy = args.map((value) => (value instanceof Float32Array ? value.slice() : value));
    const [first] = await both('gemm', args, [3]);
    const [second] = await both('gemm', copy, [3]);
    expect(second).toEqual(first);
  });

  it('keeps a row independent of the others', async () => {
    const [m, n, k] = [200, 40, 50];
    const a = floats(m * k);
    const b = floats(k * n);
    const [all] = await both(
      'gemm',
      [a, b, null, new Float32Array(m * n), m, n, k, false, false, false],
      [3],
    );
    const some = a.slice(0, 3 * k);
    const [few] = await both(
      'gemm',
      [some, b, null, new Float32Array(3 * n), 3, n, k, false, false, false],
      [3],
    );
    expect(few).toEqual(all.slice(0, 3 * n));
  });

  it('batches', async () => {
    for (const [transA, transB] of layouts) {
      const args = [
        floats(7 * 20 * 9),
        floats(7 * 9 * 18),
        floats(7 * 20 * 18),
        7,
        20,
        18,
        9,
        transA,
        transB,
        false,
      ];
      await both('gemmBatched', args, [2]);
    }
  });

  it('pairs, forward and backward', async () => {
    const [m, n, k1, k2] = [700, 10, 12, 5];
    const [a1, a2] = [floats(m * k1), floats(m * k2)];
    const y = floats(m * n);
    await both('gemmPair', [a1, floats(n * k1), k1, a2, floats(n * k2), k2, floats(n), y, m, n, true], [7]);
    for (const passed of [y, null]) {
      const out = [new Float32Array(n * k1), new Float32Array(n * k2), new Float32Array(n)];
      await both(
        'gemmPairBackward',
        [floats(m * n), passed, a1, out[0], k1, a2, out[1], k2, out[2], m, n],
        [3, 6, 8],
      );
    }
  });
});

describe('reductions on webgpu', () => {
  const shapes = [
    [1, 9000, 1],
    [3, 5000, 1],
    [1, 3000, 5],
    [2, 700, 3],
    [70, 65, 300],
    [2, 0, 3],
  ];
  it.each(shapes)('[%i, %i, %i]', async (outer, mid, inner) => {
    const x = floats(outer * mid * inner);
    for (const op of Object.values(reduceCode)) {
      if (mid === 0 && op >= reduceCode.max) continue;
      await both('reduce', [op, x, new Float32Array(outer * inner), outer, mid, inner], [2]);
      if (mid === 0 || op < reduceCode.max) continue;
      const [index] = await both('argReduce', [op, x, new Int32Array(outer * inner), outer, mid, inner], [2]);
      await both('argScatter', [floats(outer * inner), index, x.slice(), outer, mid, inner], [2]);
    }
  });

  it('prefers NaN, and the first of equals', async () => {
    const x = new Float32Array(600).fill(2);
    await both('argReduce', [reduceCode.max, x, new Int32Array(1), 1, 600, 1], [2]);
    x[300] = NaN;
    x[400] = NaN;
    for (const op of [reduceCode.max, reduceCode.min]) {
      await both('reduce', [op, x, new Float32Array(1), 1, 600, 1], [2]);
      await both('argReduce', [op, x, new Int32Array(1), 1, 600, 1], [2]);
      await both('reduce', [op, x, new Float32Array(2), 1, 300, 2], [2]);
      await both('argReduce', [op, x, new Int32Array(12), 2, 50, 6], [2]);
    }
  });
});

describe('rows on webgpu', () => {
  const ids = (n: number, rows: number): Int32Array =>
    Int32Array.from({ length: n }, () => random.nextInt(rows));

  it('gathers, puts, and gathers with a stride', async () => {
    const some = ids(40, 9);
    const x = floats(9 * 5);
    await both('gatherRows', [x, some, new Float32Array(40 * 5), 40, 20], [2]);
    await both('gatherRows', [new Uint8Array(9 * 5).fill(3), some, new Uint8Array(40 * 5), 40, 5], [2]);
    await both('gatherRows', [floats(9 * 8), some, new Float32Array(40 * 8), 40, 32], [2]);
    some[3] = -1;
    await both('gatherRowsStrided', [floats(9 * 8), some, floats(40 * 12), 40, 32, 48], [2]);
    await both('gatherRowsStrided', [x, some, floats(40 * 7), 40, 20, 28], [2]);
    await both('putRows', [floats(3 * 5), Int32Array.of(8, 0, 4), x, 3, 20], [2]);
  });

  it.each([
    [50, 20, 3],
    [30, 100000, 2],
    [3000, 4, 5],
    [0, 4, 5],
  ])('adds %i rows to %i of width %i', async (n, rows, width) => {
    const some = ids(n, rows);
    const src = floats(n * width);
    const [first] = await both('scatterAddRows', [some, src, floats(rows * width), n, rows, width], [2]);
    expect(first.length).toBe(rows * width);
    await both('sumRows', [some, src, floats(rows * width), n, rows, width], [2]);
  });

  it('reduces long and empty segments', async () => {
    const offsets = Int32Array.of(0, 0, 2000, 2003, 2003, 2100);
    const x = floats(2100 * 3);
    for (const op of Object.values(reduceCode)) {
      const arg = op < reduceCode.max ? null : new Int32Array(15);
      await both('segmentReduce', [op, x, offsets, floats(15), arg, 5, 3], arg === null ? [3] : [3, 4]);
      const gradient = [op, floats(15), offsets, arg, floats(2100 * 3), 5, 3];
      await both('segmentReduceBackward', gradient, arg === null ? [4] : [3, 4]);
    }
  });
});

describe('optimiser steps on webgpu', () => {
  const n = 300;
  const positive = (): Float32Array => floats(n).map(Math.abs);
  const ids = Int32Array.from({ length: 20 }, (_, i) => (i * 7) % 60);

  it('sgd', async () => {
    for (const [nesterov, first] of [
      [false, true],
      [false, false],
      [true, false],
    ])
      await both(
        'sgdStep',
        [floats(n), floats(n), floats(n), n, 0.1, 0.9, 0.2, 0.01, nesterov, first],
        [0, 2],
      );
    await both('sgdStep', [floats(n), floats(n), null, n, 0.1, 0, 0, 0.01, false, true], [0]);
    await both('sgdStepRows', [floats(n), ids, floats(100), floats(n), 20, 5, 0.1, 0.9, 0.01], [0, 3]);
  });

  it('adagrad', async () => {
    await both('adagradStep', [floats(n), floats(n), positive(), n, 0.1, 1e-8, 0.01], [0, 2]);
    await both('adagradStepRows', [floats(n), ids, floats(100), positive(), 20, 5, 0.1, 1e-8, 0.01], [0, 3]);
  });

  it.each([true, false])('adam, decoupled %s', async (decoupled) => {
    const rest = [0.1, 0.9, 0.999, 1e-8, 0.01, decoupled, 0.271, 0.002997];
    await both('adamStep', [floats(n), floats(n), floats(n), positive(), n, ...rest], [0, 2, 3]);
    await both(
      'adamStepRows',
      [floats(n), ids, floats(100), floats(n), positive(), 20, 5, ...rest],
      [0, 3, 4],
    );
  });
});

describe('rows of many lengths on webgpu', () => {
  // One lane, 32 lanes and a workgroup per row.
  it.each([
    [300, 5],
    [40, 100],
    [3, 3000],
    [2, 1025],
  ])('[%i, %i]', async (rows, cols) => {
    const n = rows * cols;
    const x = floats(n);
    const g = floats(n);
    for (const name of ['softmax', 'logSoftmax'] as const) {
      const [y] = await both(name, [x, new Float32Array(n), rows, cols], [1]);
      await both(`${name}Backward`, [y, g, new Float32Array(n), rows, cols], [2]);
    }
    const labels = Int32Array.from({ length: rows }, (_, r) => (r === 1 ? -1 : random.nextInt(cols)));
    const lse = new Float32Array(rows);
    await both('crossEntropy', [x, labels, floats(rows), lse, rows, cols], [2, 3]);
    await both('crossEntropyBackward', [x, labels, lse, floats(rows), new Float32Array(n), rows, cols], [4]);
    const [mean, rstd, gamma] = [new Float32Array(rows), new Float32Array(rows), floats(cols)];
    await both('layerNorm', [x, gamma, floats(cols), floats(n), mean, rstd, rows, cols, 1e-5], [3, 4, 5]);
    const gradients = [floats(n), floats(cols), floats(cols)];
    await both('layerNormBackward', [x, g, gamma, mean, rstd, ...gradients, rows, cols], [5, 6, 7]);
  });

  it('normalises tall batches', async () => {
    const [rows, cols] = [3000, 7];
    const x = floats(rows * cols).map((v) => 5 + v);
    const [mean, variance, gamma] = [floats(cols), floats(cols), floats(cols)];
    await both('columnStats', [x, mean, variance, rows, cols], [1, 2]);
    const rstd = variance.map((v) => 1 / Math.sqrt(v));
    await both('batchNorm', [x, mean, rstd, gamma, null, floats(rows * cols), rows, cols], [5]);
    const gradients = [floats(rows * cols), floats(cols), floats(cols)];
    await both(
      'batchNormBackward',
      [x, floats(rows * cols), mean, rstd, gamma, ...gradients, rows, cols],
      [5, 6, 7],
    );
  });

  it('drops the same elements as the CPU', async () => {
    for (const p of [0.1, 0.5, 1]) {
      const x = floats(1003);
      const y = new Float32Array(1003);
      const [values] = await both('dropout', [x, y, 1003, p, new Random(5).split(3).key], [1]);
      expect(values).toEqual(y);
    }
  });

  it('drops rows by their ids as the CPU does', async () => {
    // Words of the larger ids are beyond 2^32.
    const ids = Int32Array.of(3, 0, 2 ** 31 - 1, -1, -70000, 123456789);
    for (const width of [1, 3, 8, 37]) {
      const y = new Float32Array(6 * width);
      const given = [floats(y.length), ids, y, 6, width, 0.4, new Random(5).split(3).key];
      const [values] = await both('dropoutRows', given, [2]);
      expect(values).toEqual(y);
    }
  });
});

describe('whole numbers on webgpu', () => {
  const pairs = [7, -7, 0, 1, -1, 2, 2147483647, -2147483648].flatMap((a) =>
    [3, -3, 0, 1, -1, 5, 31].map((b) => [a, b] as const),
  );
  const a = Int32Array.from(pairs, ([first]) => first);
  const b = Int32Array.from(pairs, ([, second]) => second);

  it.each(binaryOps.map((op) => [op, binaryCode[op]] as const))('%s', async (_op, code) => {
    await both('binaryI32', [code, a, b, new Int32Array(a.length), a.length, null], [3]);
  });

  it.each(compareOps.map((op) => [op, compareCode[op]] as const))('%s', async (_op, code) => {
    await both('compareI32', [code, a, b, new Uint8Array(a.length), a.length, null], [3]);
  });
});

/** gatherRows, putRows, scatterAddRows, coalesceRows: native against the twins, hubs, row widths off the beaten track. */

import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
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

describe.each(implementations)('rows by id: %s', (_, kernels) => {
  it('gathers no rows and rows of no bytes', () => {
    const y = new Float32Array([1, 2]);
    kernels.gatherRows(new Float32Array(4), new Int32Array(0), y, 0, 8);
    kernels.gatherRows(new Float32Array(4), new Int32Array([1, 0]), y, 2, 0);
    expect([...y]).toEqual([1, 2]);
  });

  it('coalesces nothing to nothing', () => {
    const none = new Int32Array(0);
    expect(kernels.coalesceRows(none, new Float32Array(0), none, new Float32Array(0), 0, 5, 3)).toBe(0);
  });

  it('gathers every element type', () => {
    const ids = new Int32Array([2, 0, 2]);
    for (const make of [Float32Array, Float64Array, Int32Array, Uint8Array, Uint16Array, Uint32Array]) {
      const x = make.from([1, 2, 3, 4, 5, 6]);
      const y = new make(6);
      kernels.gatherRows(x, ids, y, 3, 2 * make.BYTES_PER_ELEMENT);
      expect([...y]).toEqual([5, 6, 1, 2, 5, 6]);
    }
  });

  it('gathers rows with a stride, zeros for id −1', () => {
    for (const width of [1, 3, 17, 64]) {
      const ids = new Int32Array([2, -1, 0]);
      const x = Float32Array.from({ length: 3 * width }, (_, i) => i + 1);
      const y = new Float32Array(3 * (width + 5)).fill(-7);
      kernels.gatherRowsStrided(x, ids, y.subarray(2), 3, 4 * width, 4 * (width + 5));
      const want = Float32Array.from(y, (_, at) => {
        const [row, column] = [Math.floor(at / (width + 5)), (at % (width + 5)) - 2];
        if (column < 0 || column >= width) return -7;
        return ids[row] < 0 ? 0 : x[ids[row] * width + column];
      });
      expect(y).toEqual(want);
    }
  });

  it('puts rows back where they were gathered', () => {
    for (const width of [1, 3, 17, 64]) {
      const ids = new Int32Array([4, 0, 3]);
      const x = Uint16Array.from({ length: 5 * width }, (_, i) => i);
      const rows = new Uint16Array(3 * width);
      kernels.gatherRows(x, ids, rows, 3, 2 * width);
      const y = new Uint16Array(5 * width).fill(999);
      kernels.putRows(rows, ids, y, 3, 2 * width);
      const left = (i: number): boolean => [1, 2].includes(Math.floor(i / width));
      expect([...y]).toEqual(Array.from(x, (value, i) => (left(i) ? 999 : value)));
    }
  });

  it('adds rows to what is there', () => {
    const dst = new Float32Array([10, 20, 30, 40, 50, 60]);
    kernels.scatterAddRows(new Int32Array([2, 0, 2]), new Float32Array([1, 2, 3, 4, 5, 6]), dst, 3, 3, 2);
    expect([...dst]).toEqual([13, 24, 30, 40, 56, 68]);
  });

  it('coalesces to ascending unique ids', () => {
    const outIds = new Int32Array(4);
    const outRows = new Float64Array(4);
    const count = kernels.coalesceRows(
      new Int32Array([7, 2, 7, 0]),
      new Float64Array([1, 2, 3, 4]),
      outIds,
      outRows,
      4,
      8,
      1,
    );
    expect([count, ...outIds.subarray(0, 3), ...outRows.subarray(0, 3)]).toEqual([3, 0, 2, 7, 4, 2, 4]);
  });

  it('adds in ascending position', () => {
    // In f32, 1 + 2²⁴ loses the 1: only ascending order gives 0 here, and 1 there.
    const big = 2 ** 24;
    for (const [terms, total] of [
      [[1, big, -big], 0],
      [[big, -big, 1], 1],
    ] as const) {
      const src = Float32Array.from(terms);
      const dst = new Float32Array(1);
      kernels.scatterAddRows(new Int32Array(3), src, dst, 3, 1, 1);
      expect(dst[0]).toBe(total);
      const outRows = new Float32Array(3);
      kernels.coalesceRows(new Int32Array(3), src, new Int32Array(3), outRows, 3, 1, 1);
      expect(outRows[0]).toBe(total);
    }
  });
});

describe.skipIf(nativeKernels === null)('rows by id: native = reference', () => {
  it('gathers rows of any number of bytes, at any address', () => {
    const table = Uint8Array.from({ length: 64 * 1100 }, (_, i) => (i * 7 + (i >> 8)) & 255);
    for (const rowBytes of [1, 2, 3, 4, 5, 8, 12, 15, 16, 17, 20, 63, 64, 65, 100, 128, 400, 1000]) {
      const rows = Math.floor((table.length - 3) / rowBytes);
      const ids = randomIds(50, rows, rowBytes);
      const x = table.subarray(3);
      const [want, got] = [new Uint8Array(50 * rowBytes + 9), new Uint8Array(50 * rowBytes + 9)];
      referenceKernels.gatherRows(x, ids, want.subarray(5), 50, rowBytes);
      native.gatherRows(x, ids, got.subarray(5), 50, rowBytes);
      expect(Buffer.compare(got, want), `${rowBytes} bytes`).toBe(0);
    }
  });

  it('gathers results large enough to be streamed past the cache', () => {
    const x = randomFloats('f32', 1000 * 250) as Float32Array;
    for (const [width, shift] of [
      [64, 0],
      [33, 1],
      [250, 3],
    ] as const) {
      const n = Math.ceil((34 << 20) / (4 * width));
      const ids = randomIds(n, 1000, width);
      const [want, got] = [new Float32Array(n * width + 8), new Float32Array(n * width + 8)];
      referenceKernels.gatherRows(x, ids, want.subarray(shift), n, 4 * width);
      native.gatherRows(x, ids, got.subarray(shift), n, 4 * width);
      expect(Buffer.compare(Buffer.from(got.buffer), Buffer.from(want.buffer)), `width ${width}`).toBe(0);
    }
  });

  const cases = edgeSizes.flatMap((n) => [1, 3, 16, 33].map((width) => [n, width] as const));
  it.each(floatTypes)('scatters and coalesces %s', (type) => {
    for (const [n, width] of [...cases, [70_000, 1], [20_000, 5], [1500, 100]] as const) {
      for (const rows of n > 1000 ? [1, 700, 50_000] : [1, 5, 300]) {
        const ids = randomIds(n, rows, n + rows);
        const src = randomFloats(type, n * width, width);
        const [want, got] = [randomFloats(type, rows * width, 9), randomFloats(type, rows * width, 9)];
        referenceKernels.scatterAddRows(ids, src, want, n, rows, width);
        native.scatterAddRows(ids, src, got, n, rows, width);
        // Both round every addition, in the same order.
        expect(Buffer.compare(Buffer.from(got.buffer), Buffer.from(want.buffer))).toBe(0);

        const [wantIds, gotIds] = [new Int32Array(n), new Int32Array(n)];
        const [wantRows, gotRows] = [zeros(type, n * width), zeros(type, n * width)];
        const count = referenceKernels.coalesceRows(ids, src, wantIds, wantRows, n, rows, width);
        expect(native.coalesceRows(ids, src, gotIds, gotRows, n, rows, width)).toBe(count);
        expect(Buffer.compare(Buffer.from(gotIds.buffer), Buffer.from(wantIds.buffer))).toBe(0);
        expectClose(gotRows, wantRows, type);
      }
    }
  });

  it('handles ids that are sorted already, and ids up to 2³¹ − 1', () => {
    const n = 5000;
    const sorted = randomIds(n, 700).sort();
    const huge = Int32Array.from(randomIds(n, 700), (id) => 2 ** 31 - 1 - id * 1000);
    for (const ids of [sorted, huge]) {
      const src = randomFloats('f32', n * 4);
      const [wantIds, gotIds] = [new Int32Array(n), new Int32Array(n)];
      const [wantRows, gotRows] = [zeros('f32', n * 4), zeros('f32', n * 4)];
      const count = referenceKernels.coalesceRows(ids, src, wantIds, wantRows, n, 2 ** 31, 4);
      expect(native.coalesceRows(ids, src, gotIds, gotRows, n, 2 ** 31, 4)).toBe(count);
      expect(gotIds).toEqual(wantIds);
      expect(Buffer.compare(Buffer.from(gotRows.buffer), Buffer.from(wantRows.buffer))).toBe(0);
    }
  });

  it('gives the same bytes for every number of threads, hubs included', () => {
    const n = 60_000;
    const ids = randomIds(n, 5000).map((id, i) => (i % 2 === 0 ? 17 : id));
    for (const width of [1, 7, 64]) {
      const src = randomFloats('f32', n * width);
      expectSameBytesForThreads((kernels) => {
        const dst = randomFloats('f32', 5000 * width, 3);
        kernels.scatterAddRows(ids, src, dst, n, 5000, width);
        const outIds = new Int32Array(n);
        const outRows = zeros('f32', n * width);
        kernels.coalesceRows(ids, src, outIds, outRows, n, 5000, width);
        const gathered = zeros('f32', n * width);
        kernels.gatherRows(outRows, ids, gathered, n, 4 * width);
        return [dst, outIds, outRows, gathered];
      });
    }
  });
});

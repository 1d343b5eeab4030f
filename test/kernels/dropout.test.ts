import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import {
  edgeSizes,
  expectSameBytes,
  expectSameBytesForThreads,
  floatTypes,
  randomFloats,
  randomIds,
  zeros,
} from './harness.js';

const key = Uint32Array.of(7, 0, 0x80000001, 5);
const bytes = (a: FloatArray): Buffer => Buffer.from(a.buffer as ArrayBuffer);

for (const [name, kernels] of [
  ['reference', referenceKernels],
  ['native', nativeKernels],
] as const) {
  describe.skipIf(kernels === null)(`dropout, ${name}`, () => {
    const k = kernels as Kernels;
    it('drops all for p = 1, infinities and NaN included', () => {
      const x = Float32Array.of(1, Infinity, NaN, -3, 0);
      const y = new Float32Array(5).fill(9);
      k.dropout(x, y, 5, 1, key);
      expect([...y]).toEqual([0, 0, 0, 0, 0]);
    });
    it('keeps all for p = 0', () => {
      const x = randomFloats('f64', 1000);
      const y = zeros('f64', 1000);
      k.dropout(x, y, 1000, 0, key);
      expect(y).toEqual(x);
    });
    it('decides by the words of the key and scales what is kept', () => {
      const n = 3001;
      const words = new Uint32Array(n);
      k.randomBits(words, n, key, 0);
      const x = randomFloats('f64', n);
      const y = zeros('f64', n);
      k.dropout(x, y, n, 0.2, key);
      for (let i = 0; i < n; i++) expect(y[i]).toBe(words[i] >= 0.2 * 2 ** 32 ? x[i] * (1 / 0.8) : 0);
      const kept = y.filter((v) => v !== 0).length;
      expect(kept / n).toBeCloseTo(0.8, 1);
    });
    it('repeats its decisions for the gradient', () => {
      const n = 2000;
      const ones = zeros('f32', n).fill(1);
      const mask = zeros('f32', n);
      const x = randomFloats('f32', n, 3, 1, 2);
      const y = zeros('f32', n);
      k.dropout(ones, mask, n, 0.5, key);
      k.dropout(x, y, n, 0.5, key);
      for (let i = 0; i < n; i++) expect(y[i]).toBe(mask[i] * x[i]);
    });
  });
}

/** Widths with rows that begin in any lane of a block, up to rows that are drawn one by one. */
const widths = [0, 1, 2, 3, 4, 7, 8, 9, 31, 32, 33, 130, 1025] as const;
/** Ids of nodes, the largest there are, and negative ones. */
const idsOf = (rows: number): Int32Array =>
  randomIds(rows, 2 ** 31, rows + 3).map((id, r) => (r % 4 === 3 ? -1 - id : r % 4 === 2 ? 2 ** 31 - 1 : id));
/** Rows with 0, 1, 2, … entries in some of 50 columns. */
const sparse = (rows: number) => {
  const offsets = Int32Array.from({ length: rows + 1 }, (_, r) => (r * (r - 1)) / 2);
  return { offsets, columns: randomIds(offsets[rows], 50, rows), ids: idsOf(rows) };
};

for (const [name, kernels] of [
  ['reference', referenceKernels],
  ['native', nativeKernels],
] as const) {
  describe.skipIf(kernels === null)(`dropout by id, ${name}`, () => {
    const k = kernels as Kernels;
    it('is plain dropout for ids 0, 1, 2, …', () => {
      for (const width of widths) {
        const x = randomFloats('f32', 23 * width);
        const [want, got] = [zeros('f32', x.length), zeros('f32', x.length)];
        k.dropout(x, want, x.length, 0.4, key);
        k.dropoutRows(
          x,
          Int32Array.from({ length: 23 }, (_, r) => r),
          got,
          23,
          width,
          0.4,
          key,
        );
        expectSameBytes(got, want, `width ${width}`);
      }
    });
    it('gives a row the same mask at every position', () => {
      const ids = Int32Array.of(5, -3, 2 ** 31 - 1, 5);
      const x = zeros('f64', 4 * 37).fill(1);
      const y = zeros('f64', x.length);
      k.dropoutRows(x, ids, y, 4, 37, 0.5, key);
      const alone = ids.map((id) => id);
      for (const [r, id] of alone.entries()) {
        const row = zeros('f64', 37);
        k.dropoutRows(x, Int32Array.of(id), row, 1, 37, 0.5, key);
        expect([...y.subarray(r * 37, (r + 1) * 37)]).toEqual([...row]);
      }
      expect([...y.subarray(0, 37)]).not.toEqual([...y.subarray(37, 74)]);
    });
    it('drops entries of a sparse matrix as those of the dense one', () => {
      const { offsets, columns, ids } = sparse(30);
      const x = zeros('f32', columns.length).fill(1);
      for (const given of [ids, null]) {
        const rows = given ?? Int32Array.from({ length: 30 }, (_, r) => r);
        const dense = zeros('f32', 30 * 50).fill(1);
        const mask = zeros('f32', dense.length);
        k.dropoutRows(dense, rows, mask, 30, 50, 0.3, key);
        const y = zeros('f32', x.length);
        k.dropoutEntries({ x, offsets, columns, ids: given, y, rows: 30, width: 50, p: 0.3, key });
        for (let r = 0; r < 30; r++)
          for (let e = offsets[r]; e < offsets[r + 1]; e++) expect(y[e]).toBe(mask[r * 50 + columns[e]]);
      }
    });
  });
}

describe.skipIf(nativeKernels === null)('native = reference, bit for bit', () => {
  it.each(floatTypes)('by id, %s', (type) => {
    for (const p of [0, 0.1, 0.97, 1]) {
      for (const width of widths) {
        const ids = idsOf(70);
        const x = randomFloats(type, 70 * width);
        x.fill(Infinity, 0, 1);
        const both = [referenceKernels, nativeKernels as Kernels].map((k) => {
          const y = zeros(type, x.length + 1).fill(9);
          k.dropoutRows(x, ids, y, 70, width, p, key);
          return y;
        });
        expectSameBytes(both[1], both[0], `width ${width}, p ${p}`);
      }
      const { offsets, columns, ids } = sparse(60);
      const x = randomFloats(type, columns.length);
      const both = [referenceKernels, nativeKernels as Kernels].map((k) => {
        const y = zeros(type, x.length + 1).fill(9);
        k.dropoutEntries({ x, offsets, columns, ids, y, rows: 60, width: 50, p, key });
        return y;
      });
      expectSameBytes(both[1], both[0], `entries, p ${p}`);
    }
  });
  it.each(floatTypes)('%s', (type) => {
    for (const n of [...edgeSizes, 1023, 1025, 40000]) {
      for (const p of [0, 1e-9, 0.1, 0.5, 0.97, 1]) {
        const x = randomFloats(type, n, n + 1);
        const want = zeros(type, n + 1);
        const got = zeros(type, n + 1);
        referenceKernels.dropout(x, want, n, p, key);
        nativeKernels?.dropout(x, got, n, p, key);
        // Typed arrays of this length are slow to compare element by element.
        expect(Buffer.compare(bytes(got), bytes(want)), `n ${n}, p ${p}`).toBe(0);
      }
    }
  });
  it('gives the same bytes for any number of threads', () => {
    expectSameBytesForThreads((k) =>
      floatTypes.flatMap((type) => {
        const y = zeros(type, 200003);
        k.dropout(randomFloats(type, y.length), y, y.length, 0.5, key);
        const rows = zeros(type, 20011 * 9);
        k.dropoutRows(randomFloats(type, rows.length), idsOf(20011), rows, 20011, 9, 0.5, key);
        const { offsets, columns, ids } = sparse(400);
        const entries = zeros(type, columns.length);
        k.dropoutEntries({
          x: randomFloats(type, entries.length),
          offsets,
          columns,
          ids,
          y: entries,
          rows: 400,
          width: 50,
          p: 0.5,
          key,
        });
        return [y, rows, entries];
      }),
    );
  });
});

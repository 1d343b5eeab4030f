/** readRows: any rows of a file to any rows of memory, through the page cache and past it, native and twin; files that end early. */
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { asyncKernels, type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import { expectSameBytes, randomIds } from './harness.js';

const implementations: [string, Kernels, number][] = [['reference', referenceKernels, 0]];
if (nativeKernels !== null)
  implementations.push(['native', nativeKernels, 0], ['native, direct', nativeKernels, constants.O_DIRECT]);

const folder = mkdtempSync(join(tmpdir(), 'skein-rows-'));
afterAll(() => rmSync(folder, { recursive: true }));

function withFile<T>(
  rows: number,
  rowBytes: number,
  flags: number,
  use: (file: number, all: Uint8Array) => T,
): T {
  const all = Uint8Array.from({ length: rows * rowBytes }, (_, i) => (i * 2654435761) >>> 13);
  const path = join(folder, `${rows}-${rowBytes}`);
  writeFileSync(path, all);
  const file = openSync(path, constants.O_RDONLY | flags);
  try {
    return use(file, all);
  } finally {
    closeSync(file);
  }
}

describe.each(implementations)('readRows: %s', (_, kernels, flags) => {
  it.each([
    [5000, 12, 1000, 0],
    [5000, 512, 700, 16384],
    [300, 4100, 300, 16384],
    [40, 3, 60, 0],
    [3, 2_500_000, 4, 1 << 20],
    [10, 7, 0, 0],
  ])('%i rows of %i bytes, %i of them, gaps of %i', (rows, rowBytes, n, gap) => {
    withFile(rows, rowBytes, flags, (file, all) => {
      const ids = randomIds(n, rows, 3).sort();
      const places = Int32Array.from({ length: n }, (_, i) => n - 1 - i);
      const out = new Uint8Array(n * rowBytes);
      kernels.readRows(file, ids, places, out, n, rowBytes, gap);
      const want = new Uint8Array(n * rowBytes);
      ids.forEach((id, i) => {
        want.set(all.subarray(id * rowBytes, (id + 1) * rowBytes), places[i] * rowBytes);
      });
      expectSameBytes(out, want);
    });
  });

  it('names the row where a file ends', () => {
    withFile(10, 8, flags, (file) => {
      const ids = Int32Array.of(3, 12);
      expect(() => kernels.readRows(file, ids, Int32Array.of(0, 1), new Float64Array(2), 2, 8, 0)).toThrow(
        'the file ends before row 12',
      );
    });
  });
});

it('several concurrent calls', async () => {
  const path = join(folder, 'many');
  const all = Int32Array.from({ length: 100_000 }, (_, i) => i);
  writeFileSync(path, all);
  const file = openSync(path, 'r');
  const calls = Array.from({ length: 12 }, async (_, c) => {
    const ids = randomIds(500, all.length, c).sort();
    const out = new Int32Array(500);
    await asyncKernels.readRows(file, ids, Int32Array.from(ids.keys()), out, 500, 4, 0);
    expect(out).toEqual(ids);
  });
  await Promise.all(calls);
  closeSync(file);
});

/**
 * Feature tables when the device is missing, lost or out of memory. The rows are the same from any source, so a run
 * continues with a table that stays on the host.
 */
import { CGPUFeature } from 'skein/gpu';
import { SparseMatrix } from 'skein/graph';
import { fromTypedArray } from 'skein/tensor';
import { ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { skewedGraph } from '../sample/graphs.js';
import { deviceOpener, reasonOf } from './devices.js';

const [rows, width] = [300, 9];
const graph = skewedGraph(rows, 3000);
const data = Float32Array.from({ length: rows * width }, (_, i) => Math.sin(i));
const table = { data, shape: [rows, width] as const };
const idsOf = (step: number): Int32Array =>
  Int32Array.from({ length: 50 }, (_, i) => (13 * i + 29 * step) % rows);
const rowsOf = (ids: Int32Array): number[] =>
  [...ids].flatMap((id) => [...data.subarray(id * width, (id + 1) * width)]);
const open = deviceOpener();

async function read(feature: CGPUFeature, ids: Int32Array): Promise<number[]> {
  const block = await feature.get(ids);
  try {
    return [...(await block.toHost())] as number[];
  } finally {
    block.release();
  }
}

describe('malformed sizes', () => {
  it.each(['10', '1T', '', '-1G', '0.1X', 'G', '1e3M', Number.NaN, -1, Number.POSITIVE_INFINITY])(
    '%s',
    (size) => {
      expect(() => new CGPUFeature(graph, null, size)).toThrow(ValueError);
      expect(() => new CGPUFeature(graph, null, size)).toThrow(/^CGPUFeature: expected .* for size/);
    },
  );
});

describe('a table that does not fit its graph', () => {
  it('is rejected for any size, with and without a device', async () => {
    const small = { data: data.subarray(0, (rows - 1) * width), shape: [rows - 1, width] as const };
    for (const [gpu, size] of [
      [null, 0] as const,
      [await open(), '4K'] as const,
      [await open(), '1G'] as const,
    ])
      await expect(new CGPUFeature(graph, gpu, size).fromCpuTensor(small)).rejects.toThrow(
        `CGPUFeature: expected a row for each of ${rows} nodes for x, got "${rows - 1} rows"`,
      );
  });
  it('so are unknown policies, scores of another number, and sparse matrices', async () => {
    const take = (hotness: unknown) =>
      new CGPUFeature(graph, null, 0, { hotness: hotness as 'push' }).fromCpuTensor(table);
    await expect(take('hot')).rejects.toThrow(/push, degree, presample or scores for hotness, got "hot"/);
    await expect(take([1, 2])).rejects.toThrow(`expected ${rows} scores for hotness, got 2`);
    const sparse = SparseMatrix.fromDense(fromTypedArray(data, [rows, width]));
    await expect(new CGPUFeature(graph, null).fromCpuTensor(sparse as never)).rejects.toThrow(/toDense\(\)/);
  });
});

describe('a table without a device', () => {
  it('gives the rows of a table with one', async () => {
    const onHost = await new CGPUFeature(graph, null, '4K').fromCpuTensor(table);
    const onDevice = await new CGPUFeature(graph, await open(), '4K').fromCpuTensor(table);
    for (let step = 0; step < 3; step++) {
      const ids = idsOf(step);
      expect(await read(onHost, ids)).toEqual(rowsOf(ids));
      expect(await read(onDevice, ids)).toEqual(rowsOf(ids));
    }
    onDevice.release();
  });
});

describe('a device that is lost', () => {
  it('throws, and a table on the host works', async () => {
    const gpu = await open();
    let feature = await new CGPUFeature(graph, gpu, '4K').fromCpuTensor(table);
    expect(await read(feature, idsOf(0))).toEqual(rowsOf(idsOf(0)));
    const reading = read(feature, idsOf(1));
    gpu.raw.destroy();
    expect(await reasonOf(() => reading)).toBe('lost');
    expect(await reasonOf(() => read(feature, idsOf(1)))).toBe('lost');
    feature.release();
    feature = await new CGPUFeature(graph, null).fromCpuTensor(table);
    expect(await read(feature, idsOf(1))).toEqual(rowsOf(idsOf(1)));
  });
});

describe('a device that is out of memory', () => {
  it('rejects a cache that does not fit, frees its memory, and accepts a smaller one', async () => {
    const gpu = await open({ memoryBudget: 40_000 });
    const large = new CGPUFeature(graph, gpu, '1G');
    expect(
      await reasonOf(() => large.fromCpuTensor({ data: new Float32Array(rows * 64), shape: [rows, 64] })),
    ).toBe('memory');
    expect(gpu.stats()).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
    const small = await new CGPUFeature(graph, gpu, '2K').fromCpuTensor(table);
    const few = idsOf(0).subarray(0, 10);
    expect(await read(small, few)).toEqual(rowsOf(few));
    small.release();
    expect(gpu.stats()).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
  });
});

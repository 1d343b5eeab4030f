/** Group K: the dynamic cache on the device (SIEVE), counters, and updates that all tiers see. */
import { CGPUFeature, type GpuDevice } from 'skein/gpu';
import { equal, ok } from './assert.js';
import type { GpuCase } from './case.js';

const group = 'K';
const numRows = 3000;
const width = 2;
const rowBytes = 4 * width;
const makeTable = (): Float32Array => Float32Array.from({ length: numRows * width }, (_, i) => i);
const range = (first: number, count: number): Int32Array =>
  Int32Array.from({ length: count }, (_, i) => first + i);

/** Gathers rows by ids on the host or on the device. */
async function rowsOf(gpu: GpuDevice, feature: CGPUFeature, ids: Int32Array, onDevice: boolean) {
  const buffer = onDevice ? gpu.bufferOf(ids, 'ids') : null;
  const block = await feature.get(buffer === null ? ids : { nodeBuffer: buffer, numNodes: ids.length });
  const rows = await block.toHost();
  block.release();
  buffer?.release();
  return rows;
}

const wanted = (data: Float32Array, ids: Int32Array): number[] =>
  [...ids].flatMap((id) => [...data.subarray(id * width, (id + 1) * width)]);

/** Opens a table without a graph, so that the whole budget is a dynamic cache. */
async function open(gpu: GpuDevice, rows: number, data: Float32Array): Promise<CGPUFeature> {
  return new CGPUFeature(null, gpu, rows * rowBytes).fromCpuTensor({ data, shape: [numRows, width] });
}

const both = (name: string, run: (gpu: GpuDevice, onDevice: boolean) => Promise<void>): GpuCase[] =>
  [false, true].map((onDevice) => ({
    group,
    name: `${name}, ids on the ${onDevice ? 'device' : 'host'}`,
    run: (gpu) => run(gpu, onDevice),
  }));

export const cases: readonly GpuCase[] = [
  ...both('caches of 1 and of 1024 rows return the rows of the table', async (gpu, onDevice) => {
    const data = makeTable();
    for (const rows of [1, 1024]) {
      const feature = await open(gpu, rows, data);
      for (let pass = 0; pass < 5; pass++) {
        const ids = range(0, 500).map((_, i) => (i * 7919 + pass * 131) % numRows);
        equal(await rowsOf(gpu, feature, ids, onDevice), wanted(data, ids), `pass ${pass}`);
      }
      equal(feature.stats.hits + feature.stats.misses, 2500, 'requested rows');
      feature.release();
    }
  }),
  ...both('a set that fits is missed once', async (gpu, onDevice) => {
    const feature = await open(gpu, 64, makeTable());
    const ids = range(100, 64);
    for (let pass = 0; pass < 4; pass++) await rowsOf(gpu, feature, ids, onDevice);
    const { hits, misses, missRate, coldRows, dynamicRows } = feature.stats;
    equal([hits, misses, coldRows, dynamicRows], [192, 64, 64, 64], 'counters');
    equal(missRate, 0.25, 'miss rate');
    feature.release();
  }),
  ...both('a cache smaller than a batch works', async (gpu, onDevice) => {
    const data = makeTable();
    const feature = await open(gpu, 3, data);
    for (let pass = 0; pass < 3; pass++) {
      const ids = range(pass, 400);
      equal(await rowsOf(gpu, feature, ids, onDevice), wanted(data, ids), `pass ${pass}`);
    }
    equal(feature.stats.dynamicRows, 3, 'rows on the device');
    feature.release();
  }),
  ...both('frequently requested rows stay in the cache', async (gpu, onDevice) => {
    const feature = await open(gpu, 32, makeTable());
    const often = range(0, 16);
    for (let pass = 0; pass < 12; pass++) {
      await rowsOf(gpu, feature, often, onDevice);
      await rowsOf(gpu, feature, range(200 + 8 * pass, 8), onDevice);
    }
    const before = feature.stats.hits;
    await rowsOf(gpu, feature, often, onDevice);
    equal(feature.stats.hits - before, 16, 'hits');
    feature.release();
  }),
  ...both('updates are seen in every tier', async (gpu, onDevice) => {
    const data = makeTable();
    const scores = data.slice(0, numRows).map((_, id) => (id < 8 ? 1 : 0));
    const feature = new CGPUFeature(null, gpu, 16 * rowBytes, { hotness: scores, dynamicShare: 0.5 });
    await feature.fromCpuTensor({ data, shape: [numRows, width] });
    // Row 3 is fixed, row 50 is in the dynamic cache, row 900 is on the host.
    const ids = Int32Array.of(3, 50, 900);
    await rowsOf(gpu, feature, Int32Array.of(50), onDevice);
    await feature.update([3, 50, 900, 50], Float32Array.of(1, 1, 2, 2, 3, 3, 4, 4));
    equal(await rowsOf(gpu, feature, ids, onDevice), [1, 1, 4, 4, 3, 3], 'after the update');
    equal(wanted(data, ids), [1, 1, 4, 4, 3, 3], 'on the host');
    data.set([9, 9], 2 * 3);
    await feature.refresh(Int32Array.of(3));
    equal(await rowsOf(gpu, feature, Int32Array.of(3), onDevice), [9, 9], 'after a refresh');
    feature.release();
  }),
  {
    group,
    name: 'an update during a request leaves no stale rows in the cache',
    async run(gpu) {
      const data = makeTable();
      const feature = await open(gpu, 64, data);
      const ids = range(0, 40);
      const asked = feature.get(ids);
      await feature.update(ids, new Float32Array(80).fill(-5));
      (await asked).release();
      for (const onDevice of [false, true])
        ok(
          (await rowsOf(gpu, feature, ids, onDevice)).every((x) => x === -5),
          'new rows',
        );
      feature.release();
    },
  },
];

/** Group J: rows gathered through a cache on the device are the rows of the table, for any budget, width and type. */
import { CGPUFeature, type GpuDevice } from 'skein/gpu';
import { TensorView } from 'skein/interop';
import { fromTypedArray } from 'skein/tensor';
import { DeviceError, DTypeError, Random, ShapeError, StateError, ValueError } from 'skein/util';
import type { FeatureArray, FeatureType } from '#internal/gpu/feature/cold-rows.js';
import { equal, ok, throws } from './assert.js';
import type { GpuCase } from './case.js';

const group = 'J';
const numRows = 60;
const types = { f32: Float32Array, f16: Uint16Array, u8: Uint8Array } as const;

/** A ring with chords to node 0, by row: every node may draw 0. */
const csr = (() => {
  const indptr = Int32Array.from({ length: numRows + 1 }, (_, v) => 2 * v);
  const indices = Int32Array.from({ length: 2 * numRows }, (_, e) => (e % 2 ? 0 : ((e >> 1) + 1) % numRows));
  return { indptr, indices };
})();

/** Random bits, as a table of `width` columns. */
function table(width: number, dtype: keyof typeof types, seed = 1): FeatureArray {
  const random = new Random(seed);
  const data = new types[dtype](numRows * width);
  for (let i = 0; i < data.length; i++)
    data[i] = dtype === 'f32' ? random.nextFloat() : random.nextInt(65536);
  return data;
}

function pick(data: FeatureArray, width: number, ids: ArrayLike<number>): number[] {
  return Array.from(ids).flatMap((id) => [...data.subarray(id * width, (id + 1) * width)]);
}

const someIds = (n: number, seed: number): Int32Array => {
  const random = new Random(seed);
  return Int32Array.from({ length: n }, () => random.nextInt(numRows));
};

/** Gathers twice with ids on the host and twice on the device, with repeats. */
async function check(gpu: GpuDevice, feature: CGPUFeature, data: FeatureArray, width: number): Promise<void> {
  for (let pass = 0; pass < 4; pass++) {
    const ids = someIds(pass === 2 ? 1 : 45, pass);
    const buffer = pass % 2 === 1 ? gpu.bufferOf(ids, 'ids') : null;
    const block = await feature.get(buffer === null ? ids : { nodeBuffer: buffer, numNodes: ids.length });
    equal(block.shape, [ids.length, width], 'shape');
    equal(await block.toHost(), pick(data, width, ids), `rows of pass ${pass}`);
    block.release();
    buffer?.release();
  }
}

const matrices: GpuCase[] = [1, 3, 128, 602, 1025].flatMap((width) =>
  (Object.keys(types) as (keyof typeof types)[]).map((dtype) => ({
    group,
    name: `${dtype} rows of ${width}, budgets of nothing, one row, a fifth, all and more`,
    async run(gpu: GpuDevice) {
      const data = table(width, dtype);
      const rowBytes = 4 * Math.ceil((width * data.BYTES_PER_ELEMENT) / 4);
      for (const size of [0, rowBytes, 12 * rowBytes, numRows * rowBytes, '1G']) {
        const feature = new CGPUFeature(csr, gpu, size, { fanouts: [2], batchSize: 4, dynamicShare: 0.5 });
        await feature.fromCpuTensor({ data, shape: [numRows, width], dtype: dtype as FeatureType });
        await check(gpu, feature, data, width);
        const rows = size === '1G' ? numRows : (size as number) / rowBytes;
        equal(feature.cachedRatio, rows / numRows, 'cached');
        equal(feature.stats.fixedRows + feature.stats.dynamicCapacity, rows, 'rows on the device');
        feature.release();
      }
    },
  })),
);

const own: GpuCase[] = [
  {
    group,
    name: 'more rows than one binding, more missing rows than the staging memory',
    async run(gpu) {
      for (const [width, dtype] of [
        [8, 'f32'],
        [3, 'u8'],
      ] as const) {
        const data = table(width, dtype);
        const stride = 4 * Math.ceil((width * data.BYTES_PER_ELEMENT) / 4);
        const options = { segmentBytes: 7 * stride, stagingBytes: 5 * stride, dynamicShare: 0.3 };
        const feature = new CGPUFeature(csr, gpu, 24 * stride, options);
        await feature.fromCpuTensor({ data, shape: [numRows, width] });
        await check(gpu, feature, data, width);
        feature.release();
      }
    },
  },
  {
    group,
    name: 'hot rows are those of the highest scores; the order is a permutation with them first',
    async run(gpu) {
      const data = table(4, 'f32');
      const scores = Float64Array.from({ length: numRows }, (_, id) => (id * 37) % numRows);
      const options = { hotness: scores, dynamicShare: 0 };
      const feature = new CGPUFeature(csr, gpu, 10 * 16, options);
      await feature.fromCpuTensor({ data, shape: [numRows, 4] });
      const best = [...scores.keys()].sort((a, b) => scores[b] - scores[a]).slice(0, 10);
      equal(
        feature.hotIds,
        best.sort((a, b) => a - b),
        'hot rows',
      );
      const inverse = new Int32Array(numRows);
      feature.order.forEach((rank, id) => {
        inverse[rank] = id;
      });
      equal(inverse.slice(0, 10), feature.hotIds, 'first in the order');
      equal(
        Array.from(inverse, (id) => feature.order[id]),
        [...inverse.keys()],
        'order of inverse',
      );
      feature.release();
      // Every node may draw node 0, with any policy.
      for (const hotness of ['push', 'degree', 'presample'] as const) {
        const chosen = new CGPUFeature(csr, gpu, 16, {
          hotness,
          fanouts: [2],
          batchSize: 8,
          dynamicShare: 0,
        });
        await chosen.fromCpuTensor({ data, shape: [numRows, 4] });
        equal(chosen.hotIds, [0], hotness);
        chosen.release();
      }
    },
  },
  {
    group,
    name: 'two stores on one graph are independent',
    async run(gpu) {
      const first = table(4, 'f32', 1);
      const second = table(5, 'u8', 2);
      const a = await new CGPUFeature(csr, gpu, 200).fromCpuTensor({ data: first, shape: [numRows, 4] });
      const b = await new CGPUFeature(csr, gpu, 100).fromCpuTensor({ data: second, shape: [numRows, 5] });
      await a.update([3], Float32Array.of(1, 2, 3, 4));
      await check(gpu, b, second, 5);
      await check(gpu, a, first, 4);
      a.release();
      b.release();
    },
  },
  {
    group,
    name: 'shape, axes and the cached fraction',
    async run(gpu) {
      const lines: string[] = [];
      const onLog = (line: string): number => lines.push(line);
      const x = fromTypedArray(table(4, 'f32') as Float32Array, [numRows, 4]);
      for (const size of [0, 16 * 15, 16 * 20, '1M']) {
        const feature = await new CGPUFeature(csr, gpu, size, { onLog }).fromCpuTensor(x);
        equal(feature.shape, [numRows, 4], 'shape');
        equal([feature.dim(), feature.size(0), feature.size(1)], [2, numRows, 4], 'axes');
        equal(feature.log, lines.at(-1), 'log');
        feature.release();
      }
      equal(lines.join(), '0% data cached,25% data cached,33.33% data cached,100% data cached', 'log');
    },
  },
  {
    group,
    name: 'without a device the rows are the same, on the host',
    async run() {
      for (const dtype of ['f32', 'f16', 'u8'] as const) {
        const data = table(3, dtype);
        const feature = new CGPUFeature(csr, null, '1G');
        await feature.fromCpuTensor({ data, shape: [numRows, 3], dtype });
        const ids = someIds(50, 1);
        const block = await feature.get(ids);
        equal(await block.toHost(), pick(data, 3, ids), 'rows');
        equal(block.view().toTyped(), pick(data, 3, ids), 'view');
        await feature.update([5, 5], data.slice(0, 6));
        equal(data.slice(15, 18), data.slice(3, 6), 'updated');
        equal(feature.stats.misses, 50, 'misses');
        equal(feature.log, '0% data cached', 'log');
      }
    },
  },
  {
    group,
    name: 'ids of every type, no ids, and rows as views',
    async run(gpu) {
      const data = table(4, 'f32');
      const feature = await new CGPUFeature(csr, gpu, 160).fromCpuTensor({ data, shape: [numRows, 4] });
      const ids = someIds(20, 4);
      const buffer = gpu.bufferOf(Int32Array.from([9, 9, ...ids]), 'ids');
      const view = TensorView.fromGpuBuffer(buffer.raw, gpu.raw, {
        shape: [20],
        dtype: 'i32',
        byteOffset: 8,
      });
      for (const list of [ids, [...ids], Uint32Array.from(ids), fromTypedArray(ids, [20]), view]) {
        const block = await feature.get(list);
        const rows = block.view();
        equal(await rows.read(), pick(data, 4, ids), 'rows');
        rows.release();
        block.release();
        await throws(() => block.toHost(), StateError, /after release/);
      }
      view.release();
      buffer.release();
      const none = await feature.get([]);
      equal(none.shape, [0, 4], 'no rows');
      equal((await none.toHost()).length, 0, 'no elements');
      none.release();
      feature.release();
    },
  },
  {
    group,
    name: 'many concurrent requests',
    async run(gpu) {
      const data = table(4, 'f32');
      const feature = await new CGPUFeature(csr, gpu, 256, { dynamicShare: 0.5 }).fromCpuTensor({
        ...{ data, shape: [numRows, 4] },
      });
      const asked = Array.from({ length: 12 }, async (_, i) => {
        const ids = someIds(30, i);
        const buffer = gpu.bufferOf(ids, 'ids');
        const block = await feature.get(i % 2 === 0 ? ids : { nodeBuffer: buffer, numNodes: 30 });
        equal(await block.toHost(), pick(data, 4, ids), `request ${i}`);
        block.release();
        buffer.release();
      });
      await Promise.all(asked);
      feature.release();
    },
  },
  {
    group,
    name: 'error messages',
    async run(gpu) {
      const data = table(4, 'f32');
      const empty = new CGPUFeature(csr, gpu, 64);
      await throws(() => empty.get([1]), StateError, /Call `await fromCpuTensor\(x\)` first/);
      await throws(() => empty.fromCpuTensor({ data, shape: [7, 4] }), ShapeError, /28 elements/);
      await throws(
        () => empty.fromCpuTensor({ data: data.subarray(0, 40), shape: [10, 4] }),
        ShapeError,
        /a row for each of 60 nodes/,
      );
      const half = { data: new Uint16Array(numRows), shape: [numRows, 1] } as const;
      await throws(() => empty.fromCpuTensor(half), DTypeError, /Name the dtype/);
      const feature = await empty.fromCpuTensor({ data, shape: [numRows, 4] });
      await throws(() => feature.get([0, numRows]), ValueError, /an id from 0 to 59 for ids\[1\], got 60/);
      const buffer = gpu.bufferOf(Int32Array.of(1, -1, 99), 'ids');
      const ids = { nodeBuffer: buffer, numNodes: 3 };
      await throws(() => feature.get(ids), ValueError, /ids from 0 to 59 for ids\[1\]/);
      buffer.release();
      await throws(() => feature.update([1], Float32Array.of(1)), ShapeError, /1 rows of 4 elements/);
      feature.release();
    },
  },
  {
    group,
    name: 'more than the device has: the error states the request and the limit',
    async run(gpu) {
      const data = table(4, 'f32');
      const before = gpu.stats().liveBuffers;
      const feature = new CGPUFeature(csr, gpu, 160, { segmentBytes: 8 });
      await throws(
        () => feature.fromCpuTensor({ data, shape: [numRows, 4] }),
        DeviceError,
        /rows of at most 8 bytes .* got 16/,
      );
      equal(gpu.stats().liveBuffers, before, 'memory is released');
    },
  },
  {
    group,
    name: 'no memory remains on the device',
    async run(gpu) {
      const before = gpu.stats().liveBuffers;
      const data = table(3, 'u8');
      const feature = await new CGPUFeature(csr, gpu, 64).fromCpuTensor({ data, shape: [numRows, 3] });
      for (let i = 0; i < 20; i++) (await feature.get(someIds(20, i))).release();
      const held = gpu.stats().liveBuffers;
      for (let i = 0; i < 20; i++) (await feature.get(someIds(20, i))).release();
      equal(gpu.stats().liveBuffers, held, 'buffers after more batches');
      feature.release();
      equal(gpu.stats().liveBuffers, before, 'buffers at the end');
      ok(held > before, 'the cache is on the device');
    },
  },
];

export const cases: readonly GpuCase[] = [...matrices, ...own];

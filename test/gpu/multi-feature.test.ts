/** One feature table on several devices: in one thread, and with a thread per device. */
import { spawnSync } from 'node:child_process';
import { CGPUFeature, GPUSampler, MultiCGPUFeature } from 'skein/gpu';
import { MemoryStore } from 'skein/storage';
import { Random, StateError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { program } from '../programs.js';
import { deviceOpener, reasonOf } from './devices.js';

const open = deviceOpener();
const rows = 300;
const width = 5;
const makeTable = (): Float32Array => Float32Array.from({ length: rows * width }, (_, i) => i);
const pick = (data: Float32Array, ids: Int32Array): number[] =>
  [...ids].flatMap((id) => [...data.subarray(id * width, (id + 1) * width)]);

/** A graph in which every node has three neighbours. */
function graph() {
  const random = new Random(3);
  const indptr = Int32Array.from({ length: rows + 1 }, (_, v) => 3 * v);
  return { indptr, indices: Int32Array.from({ length: 3 * rows }, () => random.nextInt(rows)) };
}

describe('MultiCGPUFeature', () => {
  it('has the same rows on each device, one copy on the host, and updates that all see', async () => {
    const devices = [await open(), await open()];
    const data = makeTable();
    const lines: string[] = [];
    const features = new MultiCGPUFeature(1, devices, 60 * 4 * width, graph(), {
      onLog: (line) => lines.push(line),
      dynamicShare: 0.5,
    });
    await features.fromCpuTensor({ data, shape: [rows, width] });
    expect(lines).toEqual(['20% data cached']);
    expect([features.shape, features.dim(), features.size(1)]).toEqual([[rows, width], 2, width]);
    const ids = Int32Array.from({ length: 80 }, (_, i) => (i * 11) % rows);
    for (let pass = 0; pass < 2; pass++)
      for (const rank of [0, 1, undefined]) {
        const block = await features.get(ids, rank);
        expect(block.device).toBe(devices[rank ?? 1]);
        expect([...(await block.toHost())]).toEqual(pick(data, ids));
        block.release();
      }
    expect(features.stats(0).hits).toBeGreaterThan(20);
    await features.update(ids.slice(0, 20), new Float32Array(100).fill(-2));
    for (const rank of [0, 1]) {
      const block = await features.get(ids.slice(0, 20), rank);
      expect(new Set(await block.toHost())).toEqual(new Set([-2]));
      block.release();
    }
    const { memory } = features.share();
    const other = await MultiCGPUFeature.fromShared(features.share(), 0, [devices[0]]);
    expect(other.share().memory).toBe(memory);
    const block = await other.get(ids.slice(0, 1));
    expect([...(await block.toHost())]).toEqual([-2, -2, -2, -2, -2]);
    block.release();
    for (const one of [features, other]) one.release();
    expect(devices.map((gpu) => gpu.stats().liveBuffers)).toEqual([0, 0]);
  });

  it('serves threads with a device each', () => {
    const done = spawnSync(process.execPath, [program('test/gpu/feature-threads.ts')], {
      encoding: 'utf8',
      timeout: 240_000,
    });
    expect(done.status, done.stderr).toBe(0);
    const { right, seen, cached } = JSON.parse(done.stdout.trim().split('\n').at(-1) ?? '');
    expect(right).toEqual([true, true]);
    expect(seen).toEqual([Array(9).fill(-1), Array(9).fill(-1)]);
    expect(cached).toBe(0.2);
  }, 240_000);

  it('takes a table from shared memory without a copy, and one from a store', async () => {
    const shared = new Float32Array(new SharedArrayBuffer(4 * rows * width));
    shared.set(makeTable());
    const features = await new MultiCGPUFeature(0, [null], 0, null).fromCpuTensor({
      data: shared,
      shape: [rows, width],
    });
    expect(features.share().memory).toBe(shared.buffer);
    const store = new MemoryStore(makeTable(), { rows, width });
    const copied = await new MultiCGPUFeature(0, [null], 0, null).fromCpuTensor(store);
    const ids = Int32Array.of(299, 0, 7);
    for (const one of [features, copied])
      expect([...(await (await one.get(ids)).toHost())]).toEqual(pick(makeTable(), ids));
    expect(() => new MultiCGPUFeature(0, [null], 0, null).share()).toThrow(StateError);
    expect(() => new MultiCGPUFeature(2, [null, null], 0, null)).toThrow('rank');
    await expect(features.get(ids, 3)).rejects.toThrow('a rank below 1');
  });
});

describe('CGPUFeature', () => {
  it('gathers nodes that a sampler left on the device, from a store in any precision', async () => {
    const gpu = await open();
    const sampler = new GPUSampler(gpu, graph(), { sizes: [3, 2], seed: 2 });
    for (const dtype of ['f32', 'f16'] as const) {
      const data = makeTable().map((x) => x % 256);
      const store = new MemoryStore(data, { rows, width, dtype });
      const feature = new CGPUFeature(graph(), gpu, 50 * 4 * width, { fanouts: [3, 2], batchSize: 16 });
      await feature.fromCpuTensor(store);
      for (let step = 0; step < 4; step++) {
        const sample = await sampler.sampleOnDevice(Int32Array.from({ length: 16 }, (_, i) => i * 9 + step));
        const ids = (await sample.toHost()).allNode;
        for (const nodes of [sample, sample.allNode]) {
          const block = await feature.get(nodes);
          expect([...(await block.toHost())]).toEqual(pick(data, ids));
          block.release();
        }
        sample.release();
      }
      await feature.update([5], Float32Array.of(1, 2, 3, 4, 5));
      expect([...(await store.gather(Int32Array.of(5)))]).toEqual([1, 2, 3, 4, 5]);
      expect(feature.stats.missRate).toBeLessThan(1);
      feature.release();
    }
    sampler.release();
  });

  it('reports the request when the device is out of memory, and leaves nothing there', async () => {
    const gpu = await open({ memoryBudget: 20_000 });
    const feature = new CGPUFeature(graph(), gpu, '1M');
    const wide = new Float32Array(rows * 100);
    await expect(feature.fromCpuTensor({ data: wide, shape: [rows, 100] })).rejects.toThrow(
      /CGPUFeature: expected device memory for 117 KiB of hot rows .* budget of 20000 bytes/,
    );
    expect(gpu.stats().liveBuffers).toBe(0);
    expect(await reasonOf(() => feature.fromCpuTensor({ data: wide, shape: [rows, 100] }))).toBe('memory');
  });

  it('a lost device throws; the table works without one', async () => {
    const gpu = await open();
    const data = makeTable();
    const feature = await new CGPUFeature(graph(), gpu, 1000).fromCpuTensor({ data, shape: [rows, width] });
    gpu.raw.destroy();
    await gpu.lost;
    expect(await reasonOf(() => feature.get(Int32Array.of(1, 2)))).toBe('lost');
    const onHost = await new CGPUFeature(graph(), null).fromCpuTensor({ data, shape: [rows, width] });
    expect([...(await (await onHost.get([1, 2])).toHost())]).toEqual(pick(data, Int32Array.of(1, 2)));
  });
});

/**
 * Misuse: release with work in flight, stores that return wrong rows, ids of another device.
 * Each throws, no rows or batches are wrong, and no device memory remains in use.
 */
import {
  CGPUFeature,
  GPUSampler,
  MixedGraphSampler,
  MultiCGPUFeature,
  MultiGPUSampler,
  openGpuDevice,
  openSampler,
} from 'skein/gpu';
import { TensorView } from 'skein/interop';
import { NeighborSampler } from 'skein/sample';
import type { RowStore } from 'skein/storage';
import { ShapeError, StateError, ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { batchContents, skewedGraph } from '../sample/graphs.js';
import { deviceOpener, reasonOf } from './devices.js';

const graph = skewedGraph(200, 3000);
const open = deviceOpener();
const [rows, width] = [20, 3];

/** A store with the given `gather` only. */
function storeOf(gather: (ids: Int32Array) => Promise<unknown>): RowStore<Float32Array> {
  return { rows, width, dtype: 'f32', gather } as unknown as RowStore<Float32Array>;
}

describe('samplers', () => {
  it.each([
    { table: 'dense' as const },
    { table: 'hash' as const },
    { table: 'dense' as const, reserveEdges: 0 },
  ])('released with a batch in flight, reject it ($table)', async (options) => {
    const gpu = await open();
    const sampler = new GPUSampler(gpu, graph, { sizes: [-1, -1], ...options });
    const drawn = sampler.sample([1, 2]);
    sampler.release();
    await expect(drawn).rejects.toThrow(StateError);
    await expect(drawn).rejects.toThrow(/GPUSampler: .*after release\(\)\. Await its batches/);
    expect(gpu.stats().liveBuffers).toBe(0);
  });

  it('that cannot be created keep no device memory', async () => {
    const gpu = await open();
    expect(() => new GPUSampler(gpu, graph, { sizes: [-2] })).toThrow(ValueError);
    expect(() => new MultiGPUSampler([gpu, null as never], graph)).toThrow(/GpuDevice/);
    expect(gpu.stats().liveBuffers).toBe(0);
    const whole = new GPUSampler(gpu, graph);
    const bytes = gpu.stats().liveBytes;
    whole.release();
    // Memory for the graph and not for its node entries.
    const full = await open({ memoryBudget: bytes - 4 });
    expect(await reasonOf(() => new GPUSampler(full, graph))).toBe('memory');
    expect(full.stats().liveBuffers).toBe(0);
  });

  it('that continue on the CPU sample the seeds of the call, even if the array was changed', async () => {
    const gpu = await open();
    const sampler = await openSampler(graph, { gpu, sizes: [3], seed: 1, onFallback: () => {} });
    const seeds = Int32Array.of(1, 2);
    const drawn = sampler.sampleAsync(seeds, { step: 4 });
    gpu.raw.destroy();
    seeds.fill(7);
    const cpu = new NeighborSampler(graph, { fanouts: [3], seed: 1 });
    expect(batchContents(await drawn)).toEqual(batchContents(cpu.sample([1, 2], { step: 4 })));
  });

  it('on two engines close the source of jobs when the loop is left', async () => {
    const sampler = new MixedGraphSampler(null, graph, { sizes: [3], mode: 'cpu' });
    let isClosed = false;
    function* jobs() {
      try {
        for (;;) yield [1];
      } finally {
        isClosed = true;
      }
    }
    for await (const _ of sampler.epoch(jobs())) break;
    expect(isClosed).toBe(true);
    await expect(sampler.epoch(null as never).next()).rejects.toThrow(/a list of lists of seeds for jobs/);
  });
});

describe('feature tables', () => {
  it.each([
    ['fewer rows', async () => new Float32Array(width)],
    ['more rows', async () => new Float32Array(100)],
    ['another type', async (ids: Int32Array) => new Float64Array(ids.length * width)],
    ['nothing', async () => undefined],
  ])('reject a store that gathers %s', async (_, gather) => {
    const gpu = await open();
    const feature = await new CGPUFeature(null, gpu, 2 * width * 4).fromCpuTensor(storeOf(gather));
    const { liveBuffers } = gpu.stats();
    await expect(feature.get([1, 2, 3])).rejects.toThrow(ShapeError);
    expect(gpu.stats().liveBuffers).toBe(liveBuffers);
    const onHost = await new CGPUFeature(null, null).fromCpuTensor(storeOf(gather));
    await expect(onHost.get([1, 2, 3])).rejects.toThrow(/what the row store gathered/);
  });

  it('released with rows in flight, reject them', async () => {
    const gpu = await open();
    let resume = () => {};
    const wait = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const gather = (ids: Int32Array) => wait.then(() => new Float32Array(ids.length * width));
    const feature = await new CGPUFeature(null, gpu, 2 * width * 4).fromCpuTensor(storeOf(gather));
    const asked = [1, 2, 3, 4].map((id) => feature.get([id]));
    feature.release();
    resume();
    for (const { status, ...rest } of await Promise.allSettled(asked)) {
      expect(status).toBe('rejected');
      expect((rest as { reason: Error }).reason.message).toMatch(/CGPUFeature: .*after release\(\)/);
    }
    expect(gpu.stats().liveBuffers).toBe(0);
    // No error is reported to the next caller.
    await gpu.finish();
  });

  it('with two concurrent updates, have the last rows on the host and on the device', async () => {
    const gpu = await open();
    const host = new Float32Array(rows * width);
    const delays = [30, 0];
    const store = {
      ...storeOf(async (ids) => Float32Array.from([...ids].flatMap((id) => [...rowOf(id)]))),
      async put(ids: Int32Array, values: Float32Array) {
        host.set(values, ids[0] * width);
        await new Promise((resolve) => setTimeout(resolve, delays.shift()));
      },
    };
    const rowOf = (id: number) => host.subarray(id * width, (id + 1) * width);
    const feature = await new CGPUFeature(null, gpu, '1K').fromCpuTensor(store);
    const fresh = Float32Array.of(1, 1, 1);
    const first = feature.update([4], fresh);
    fresh.fill(2);
    await Promise.all([first, feature.update([4], fresh)]);
    const block = await feature.get([4]);
    expect([...rowOf(4), ...(await block.toHost())]).toEqual([2, 2, 2, 2, 2, 2]);
  });

  it('keep one of two tables that are set concurrently', async () => {
    const gpu = await open();
    const feature = new CGPUFeature(null, gpu, 2 * width * 4);
    const table = (value: number) => ({
      data: new Float32Array(rows * width).fill(value),
      shape: [rows, width] as const,
    });
    await Promise.all([feature.fromCpuTensor(table(1)), feature.fromCpuTensor(table(2))]);
    const block = await feature.get([5]);
    expect(new Set(await block.toHost()).size).toBe(1);
    block.release();
    feature.release();
    expect(gpu.stats().liveBuffers).toBe(0);
  });

  it('reject ids of another device, out-of-range counts, and invalid shapes', async () => {
    const [gpu, other] = [await open(), await open()];
    const data = new Float32Array(rows * width);
    const feature = await new CGPUFeature(null, gpu, '1K').fromCpuTensor({ data, shape: [rows, width] });
    const sample = await new GPUSampler(other, graph, { sizes: [2] }).sampleOnDevice([1]);
    expect(await reasonOf(() => feature.get(sample))).toBe('mixed');
    expect(await reasonOf(() => feature.get(sample.allNode))).toBe('mixed');
    const nodeBuffer = gpu.bufferOf(Int32Array.of(1, 2), 'ids');
    await expect(feature.get({ nodeBuffer, numNodes: 3 })).rejects.toThrow(/from 0 to 2 for numNodes/);
    await expect(feature.get(null as never)).rejects.toThrow(ValueError);
    await (await feature.get({ nodeBuffer, numNodes: 2 })).toHost();
    for (const shape of [undefined, [-20, -3], [1.5, 40], [20]])
      await expect(feature.fromCpuTensor({ data, shape } as never)).rejects.toThrow(/fromCpuTensor: .*shape/);
  });

  it('reject values that are not the result of share()', async () => {
    const table = { data: new Float32Array(6), shape: [2, 3] as const };
    const shared = (await new MultiCGPUFeature(0, [], 0, null).fromCpuTensor(table)).share();
    for (const wrong of [
      null,
      {},
      { ...shared, shape: [3, 3] as const },
      { ...shared, fixed: Int32Array.of(2) },
      { ...shared, versions: new SharedArrayBuffer(4) },
      { ...shared, dtype: 'f64' },
    ])
      await expect(MultiCGPUFeature.fromShared(wrong as never, 0, [null])).rejects.toThrow(/share\(\)/);
    await MultiCGPUFeature.fromShared(shared, 0, [null]);
  });

  it('report that the device is lost, not that the cache is too large', async () => {
    const gpu = await open();
    const feature = new CGPUFeature(null, gpu, '1K');
    gpu.destroy();
    const table = { data: new Float32Array(6), shape: [2, 3] as const };
    await expect(feature.fromCpuTensor(table)).rejects.toThrow(/^the GPU was lost/);
  });
});

it('a view of memory that its owner destroyed is not read as zeros', async () => {
  const gpu = await open();
  const view = TensorView.fromTyped(Float32Array.of(1, 2), [2]).toGpu(gpu.raw as never);
  const { data } = view;
  (data as { destroy(): void }).destroy();
  await expect(view.read()).rejects.toThrow(/an error of the device/);
  await gpu.finish();
});

it('requests that no adapter satisfies are device errors', async () => {
  expect(await reasonOf(() => openGpuDevice({ adapter: 'no such adapter' }))).toBe('no-adapter');
  await expect(openGpuDevice({ limits: { maxBufferSize: -1 } })).rejects.toThrow(/limits\.maxBufferSize/);
});

/** Loops of sampling, gathering and training leave no memory on the device, and none grows while they run. */
import { GraphSAGE } from 'skein/gnn';
import { CGPUFeature, enableWebGpu, GPUSampler, type GpuDevice, openGpuDevice } from 'skein/gpu';
import { Adam, crossEntropy } from 'skein/nn';
import { fromTypedArray, gatherRows, manualSeed, scope } from 'skein/tensor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { skewedGraph } from '../sample/graphs.js';

const numNodes = 200;
const width = 8;
const graph = skewedGraph(numNodes, 2000);
const table = Float32Array.from({ length: numNodes * width }, (_, i) => Math.sin(i));
const labels = Int32Array.from({ length: numNodes }, (_, v) => v % 4);
const seedsOf = (step: number): Int32Array =>
  Int32Array.from({ length: 24 }, (_, i) => (11 * i + 17 * step) % numNodes);

let gpu: GpuDevice;
beforeAll(async () => {
  gpu = await openGpuDevice();
});
afterAll(() => gpu?.destroy());

/** Returns the memory in use, after all reports have arrived. */
async function inUse(): Promise<{ buffers: number; bytes: number }> {
  await gpu.finish();
  const { liveBuffers, liveBytes } = gpu.stats();
  return { buffers: liveBuffers, bytes: liveBytes };
}

/** Runs `step` `times` times; the number of buffers in use must stay as after the first `settled` steps. */
async function repeat(times: number, settled: number, step: (i: number) => Promise<void>): Promise<void> {
  for (let i = 0; i < settled; i++) await step(i);
  const { buffers } = await inUse();
  const { idleBytes } = gpu.stats();
  for (let i = settled; i < times; i++) {
    await step(i);
    expect((await inUse()).buffers).toBe(buffers);
  }
  // Memory kept for reuse reaches a fixed size, so a leak would show.
  expect(gpu.stats().idleBytes).toBeLessThan(4 * idleBytes + 2 ** 20);
}

describe('memory of a device', () => {
  it('is as before after batches, read back or left there', async () => {
    const before = await inUse();
    const sampler = new GPUSampler(gpu, graph, { sizes: [4, 3], seed: 1 });
    await repeat(30, 1, async (step) => {
      await sampler.sampleAsync(seedsOf(step), { step });
      const left = await sampler.sampleOnDevice(seedsOf(step), { step });
      left.adjs[0].edgeIndex.release();
      left.release();
    });
    sampler.release();
    expect(await inUse()).toEqual(before);
  }, 240_000);

  it('is as before after gathers of hot and cold rows', async () => {
    const before = await inUse();
    const sampler = new GPUSampler(gpu, graph, { sizes: [4, 3], seed: 1 });
    const feature = new CGPUFeature(graph, gpu, '1K');
    await feature.fromCpuTensor({ data: table, shape: [numNodes, width] });
    // Staging memory is kept for the next batch, as large as the largest so far.
    await repeat(20, 5, async (step) => {
      (await feature.get(seedsOf(step))).release();
      const sample = await sampler.sampleOnDevice(seedsOf(step), { step });
      const block = await feature.get(sample);
      await block.toHost();
      block.release();
      sample.release();
      await feature.update([step, step + 1], new Float32Array(2 * width).fill(step));
    });
    feature.release();
    sampler.release();
    expect(await inUse()).toEqual(before);
  }, 240_000);

  it('is as before after training', async () => {
    const before = await inUse();
    const tensors = await enableWebGpu(gpu);
    const sampler = new GPUSampler(gpu, graph, { sizes: [4, 3], seed: 1 });
    manualSeed(1);
    const features = fromTypedArray(table, [numNodes, width]);
    const model = new GraphSAGE([width, 8, 4]).to('webgpu');
    const optimizer = new Adam(model.parameters(), { lr: 0.01 });
    // The device keeps 256 arrays of the latest blocks, eight or so from each step.
    await repeat(44, 36, async (step) => {
      const seeds = seedsOf(step);
      const { blocks, nodeIds } = await sampler.sampleAsync(seeds, { step });
      scope(() => {
        optimizer.zeroGrad();
        const x = gatherRows(features, nodeIds).to('webgpu');
        const targets = seeds.map((v) => labels[v]);
        crossEntropy(model.forward(blocks, x), targets).backward();
        optimizer.step();
      });
    });
    optimizer.zeroGrad();
    await model.cpu();
    await optimizer.cpu();
    sampler.release();
    tensors.release();
    expect(await inUse()).toEqual(before);
  }, 240_000);
});

/** 100 random graphs, rules and seeds: the native kernels, their TypeScript twins and WGSL give identical arrays. */
import { type GpuDevice, openGpuDevice } from 'skein/gpu';
import { NeighborSampler, type NeighborSamplerOptions } from 'skein/sample';
import { Random } from 'skein/util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nativeKernels, referenceKernels, withKernels } from '#internal/native/index.js';
import { equalBatches, skewedGraph, withSampler } from './cases/sampling-graphs.js';

let gpu: GpuDevice;
beforeAll(async () => {
  gpu = await openGpuDevice();
});
afterAll(() => gpu?.destroy());

/** Returns random options that all three engines support. */
function drawOptions(random: Random, numEdges: number): NeighborSamplerOptions {
  const sizes = [-1, 0, 1, 2, 3, 5, 10, 70];
  const fanouts = Array.from({ length: 1 + random.nextInt(3) }, () => sizes[random.nextInt(sizes.length)]);
  const weights = Float32Array.from({ length: numEdges }, () => random.nextInt(4) * random.nextFloat());
  return {
    fanouts,
    seed: random.nextInt(2 ** 31),
    replace: random.nextInt(2) === 1,
    ...(random.nextInt(3) === 0 ? { weights } : {}),
    ...(random.nextInt(4) === 0 ? { direction: 'out' as const } : {}),
  };
}

it.skipIf(nativeKernels === null)('agrees on 100 random graphs', { timeout: 240_000 }, async () => {
  const random = new Random(7);
  let edges = 0;
  for (let trial = 0; trial < 100; trial++) {
    const numNodes = 1 + random.nextInt(200);
    const numEdges = random.nextInt(1500);
    const graph = skewedGraph(numNodes, numEdges, trial);
    const { fanouts, ...options } = drawOptions(random, numEdges);
    const seeds = Int32Array.from({ length: random.nextInt(12) }, () => random.nextInt(numNodes));
    const at = { epoch: random.nextInt(5), step: random.nextInt(2 ** 32) };
    const native = new NeighborSampler(graph, { fanouts, ...options }).sample(seeds, at);
    const twin = withKernels(referenceKernels, () =>
      new NeighborSampler(graph, { fanouts, ...options }).sample(seeds, at),
    );
    const table = trial % 2 === 0 ? ('dense' as const) : ('hash' as const);
    const wgsl = await withSampler(gpu, graph, { ...options, sizes: fanouts, table }, (sampler) =>
      sampler.sampleAsync(seeds, at),
    );
    equalBatches(twin, native, `trial ${trial}: TypeScript`);
    equalBatches(wgsl, native, `trial ${trial}: WGSL`);
    edges += native.numEdges;
  }
  expect(edges).toBeGreaterThan(5000);
});

/** One worker thread per device: each samples over the one graph of the main thread, and all draw the same. */
import { MultiGPUSampler, openGpuDevice } from 'skein/gpu';
import { expect, it } from 'vitest';
import { skewedGraph } from '../sample/graphs.js';
import { startSamplerWorker } from './sampler-worker.js';

it('workers created from a shared sampler draw its batches', { timeout: 240_000 }, async () => {
  const gpu = await openGpuDevice();
  const graph = skewedGraph(200, 3000);
  const sampler = new MultiGPUSampler(gpu, graph, { sizes: [5, 3], seed: 7 });
  const batches = [0, 1, 2].map((b) => Int32Array.from({ length: 20 }, (_, i) => (7 * i + b) % 200));
  try {
    const shared = sampler.share();
    const [first, second] = await Promise.all([
      startSamplerWorker({ shared, batches }),
      startSamplerWorker({ shared, batches }),
    ]);
    expect(first.isShared).toBe(true);
    expect(second.samples).toEqual(first.samples);
    for (const [step, seeds] of batches.entries()) {
      const { allNode, adjs } = await sampler.sample(seeds, 0, { step });
      expect(first.samples[step]).toEqual({ allNode, eId: adjs[0].eId });
    }
  } finally {
    sampler.release();
    gpu.destroy();
  }
});

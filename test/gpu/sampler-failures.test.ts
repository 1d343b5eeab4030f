/**
 * Sampling when the device is missing, lost or out of memory. The CPU's sampler draws the same batches, so a run that
 * continues there gives the results it would have given.
 */
import { GPUSampler } from 'skein/gpu';
import { type Batch, NeighborSampler } from 'skein/sample';
import { DeviceError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { batchContents, skewedGraph } from '../sample/graphs.js';
import { deviceOpener, reasonOf } from './devices.js';

const graph = skewedGraph(200, 3000);
const fanouts = [5, 3];
const seedsOf = (step: number): Int32Array =>
  Int32Array.from({ length: 20 }, (_, i) => (7 * i + 13 * step) % 200);
const cpu = new NeighborSampler(graph, { fanouts, seed: 3 });

const open = deviceOpener();

describe('a device that is lost while it samples', () => {
  it('throws, and the CPU continues with the same batches', async () => {
    const gpu = await open();
    const sampler = new GPUSampler(gpu, graph, { sizes: fanouts, seed: 3 });
    const batches: Batch[] = [];
    let lostAt = -1;
    for (let step = 0; step < 6; step++) {
      const drawn = sampler.sampleAsync(seedsOf(step), { step });
      // Not through Skein, while the batch is in flight: as if the driver had reset.
      if (step === 3) gpu.raw.destroy();
      try {
        batches.push(await drawn);
      } catch (error) {
        expect(error).toBeInstanceOf(DeviceError);
        expect((error as DeviceError).details.reason).toBe('lost');
        if (lostAt < 0) lostAt = step;
        batches.push(cpu.sample(seedsOf(step), { step }));
      }
    }
    expect(lostAt).toBe(3);
    for (const [step, batch] of batches.entries())
      expect(batchContents(batch)).toEqual(batchContents(cpu.sample(seedsOf(step), { step })));
    sampler.release();
  });
});

describe('a device that is out of memory', () => {
  it('rejects a graph that does not fit, and frees its memory', async () => {
    const gpu = await open({ memoryBudget: 4096 });
    expect(await reasonOf(() => new GPUSampler(gpu, graph, { sizes: fanouts }))).toBe('memory');
    expect(gpu.stats()).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
  });

  it('rejects a batch that does not fit, and draws a smaller one after it', async () => {
    const roomy = await open();
    const first = new GPUSampler(roomy, graph, { sizes: fanouts });
    const gpu = await open({ memoryBudget: roomy.stats().liveBytes + 20_000 });
    first.release();
    const sampler = new GPUSampler(gpu, graph, { sizes: fanouts, seed: 3 });
    const { liveBuffers } = gpu.stats();
    const all = Int32Array.from({ length: 200 }, (_, i) => i);
    expect(await reasonOf(() => sampler.sampleAsync([...all], { step: 0 }))).toBe('memory');
    expect(gpu.stats().liveBuffers).toBe(liveBuffers);
    const few = seedsOf(0).subarray(0, 4);
    const batch = await sampler.sampleAsync(few, { step: 0 });
    expect(batchContents(batch)).toEqual(batchContents(cpu.sample(few, { step: 0 })));
    sampler.release();
    expect(gpu.stats().liveBuffers).toBe(0);
  });
});

/** A device that is missing, lost or out of memory: the error, and no memory left behind. */
import { describe, expect, it } from 'vitest';
import { deviceOpener, reasonOf, runWithoutAdapter } from './devices.js';
import { results } from './results.js';

const open = deviceOpener();

describe('a device that is lost', () => {
  it('rejects reads in flight and later calls', async () => {
    const gpu = await open();
    const buffer = gpu.bufferOf(new Uint32Array(1000).fill(7), 'data');
    const reading = gpu.read(buffer);
    // Not through Skein: as if the driver had reset.
    gpu.raw.destroy();
    expect(await reasonOf(() => reading)).toBe('lost');
    expect(await gpu.lost).toMatch(/./);
    expect(gpu.isLost).toBe(true);
    expect(await reasonOf(() => gpu.buffer(4, 'x'))).toBe('lost');
    expect(await reasonOf(() => gpu.write(buffer, new Uint32Array(1)))).toBe('lost');
    expect(await reasonOf(() => gpu.read(buffer))).toBe('lost');
    expect(await reasonOf(() => gpu.finish())).toBe('lost');
    buffer.release();
  });

  it('does not affect other devices, and a new one can be opened', async () => {
    const [first, second] = [await open(), await open()];
    const kept = second.bufferOf(new Uint32Array([1, 2, 3]), 'kept');
    first.raw.destroy();
    await first.lost;
    expect([...new Uint32Array(await second.read(kept))]).toEqual([1, 2, 3]);
    kept.release();
    const third = await open();
    const again = third.bufferOf(new Uint32Array([4]), 'again');
    expect([...new Uint32Array(await third.read(again))]).toEqual([4]);
    again.release();
  });
});

describe('a device that is out of memory', () => {
  it('throws, and works after a release', async () => {
    const gpu = await open({ memoryBudget: 10_000 });
    const held = gpu.buffer(8000, 'held');
    expect(await reasonOf(() => gpu.buffer(8000, 'more'))).toBe('memory');
    held.release();
    gpu.buffer(8000, 'more').release();
    expect(gpu.stats()).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
  });

  it('names the limit that one segment of memory exceeds', async () => {
    const gpu = await open({
      limits: { maxBufferSize: 268_435_456, maxStorageBufferBindingSize: 134_217_728 },
    });
    expect(await reasonOf(() => gpu.buffer(134_217_732, 'table'))).toBe('limit');
  });
});

describe('no adapter', () => {
  it.each([
    [
      'the driver named does not exist',
      { VK_ICD_FILENAMES: '/nonexistent/icd.json' },
      /libvulkan1.*or use the CPU/,
    ],
    ['SKEIN_GPU=0', { SKEIN_GPU: '0' }, /SKEIN_GPU=0 forbids it\. Unset it, or use the CPU/],
  ])(
    '%s: an error with advice, and the same results without a device',
    async (_, env, message) => {
      const without = runWithoutAdapter(env);
      expect(without.error).toMatchObject({
        name: 'DeviceError',
        reason: 'no-adapter',
        message: expect.stringMatching(message),
      });
      const { engine, scores, ...drawn } = await results(await open());
      expect([engine, without.results.engine]).toEqual(['webgpu', 'cpu']);
      expect(without.results).toMatchObject(drawn);
      for (const [i, score] of scores.entries()) expect(without.results.scores[i]).toBeCloseTo(score, 4);
    },
    240_000,
  );
});

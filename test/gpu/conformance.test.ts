/** The conformance cases in Node. browser.test.ts runs the same cases in Chromium. */
import { type GpuDevice, openGpuDevice } from 'skein/gpu';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { allCases } from './cases/index.js';

let gpu: GpuDevice;
beforeAll(async () => {
  gpu = await openGpuDevice();
});
afterAll(() => gpu?.destroy());

it.each(allCases.map((one) => [`${one.group}: ${one.name}`, one] as const))(
  '%s',
  async (_, one) => {
    const { liveBuffers, liveBytes } = gpu.stats();
    await one.run(gpu);
    // A case must leave nothing on the device.
    expect(gpu.stats()).toMatchObject({ liveBuffers, liveBytes });
  },
  240_000,
);

it('every group that runs in Node and in the browser has cases', () => {
  const groups = new Set(allCases.map(({ group }) => group));
  expect([...'ABCDEFGHIJ'].filter((letter) => !groups.has(letter))).toEqual([]);
});

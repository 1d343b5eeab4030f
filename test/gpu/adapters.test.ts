/** Kinds of adapters: the null back end checks every program without computing; a software adapter is known as one. */
import { allPrograms, bindings, type GpuProgram, openGpuDevice } from 'skein/gpu';
import { DeviceError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import './cases/index.js';
import { cases } from './cases/programs.js';

// First in the file: the driver is chosen when a process opens its first device.
it('several callers open devices at the same time', async () => {
  const devices = await Promise.all([openGpuDevice(), openGpuDevice(), openGpuDevice()]);
  const data = new Uint32Array([1, 2, 3]);
  const reads = devices.map((gpu) => gpu.read(gpu.bufferOf(data, 'data')));
  for (const read of await Promise.all(reads)) expect([...new Uint32Array(read)]).toEqual([...data]);
  for (const gpu of devices) gpu.destroy();
});

describe('null back end', () => {
  it.each(cases.map((one) => [one.name, one] as const))('%s', async (_, one) => {
    const gpu = await openGpuDevice({ backend: 'null' });
    try {
      expect(allPrograms().length).toBeGreaterThan(0);
      await one.run(gpu);
    } finally {
      gpu.destroy();
    }
  });

  it('finds a mistake in a program', async () => {
    const gpu = await openGpuDevice({ backend: 'null' });
    const wrong: GpuProgram = {
      ...{ name: 'wrong', buffers: ['write'], params: 0, workgroup: 1 },
      code: `${bindings(false, ['write array<u32> out'])}\n@compute @workgroup_size(1) fn main() { out[0] = 1.5; }`,
    };
    const out = gpu.buffer(64, 'out');
    const attempt = async () => {
      gpu.run(wrong, [out], [], 1);
      await gpu.finish();
    };
    await expect(attempt()).rejects.toThrow(DeviceError);
    gpu.destroy();
  });
});

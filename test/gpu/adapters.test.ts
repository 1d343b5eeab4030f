/**
 * Kinds of adapters: the null back end checks every program without computing, and several callers share one driver.
 */

import { type GpuDevice, openGpuDevice } from 'skein/gpu';
import { DeviceError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allPrograms, bindings, type GpuProgram } from '#internal/gpu/device/program.js';

// First in the file: the driver is chosen when a process opens its first device.
it('several callers open devices at the same time', async () => {
  const devices = await Promise.all([openGpuDevice(), openGpuDevice(), openGpuDevice()]);
  const data = new Uint32Array([1, 2, 3]);
  const reads = devices.map((gpu) => gpu.read(gpu.bufferOf(data, 'data')));
  for (const read of await Promise.all(reads)) expect([...new Uint32Array(read)]).toEqual([...data]);
  for (const gpu of devices) gpu.destroy();
});

describe('null back end', () => {
  let gpu: GpuDevice;
  beforeAll(async () => {
    gpu = await openGpuDevice({ backend: 'null' });
  });
  afterAll(() => gpu.destroy());

  /** Records one dispatch with memory enough for any binding of fixed size; errors are reported at `finish`. */
  async function compile(program: GpuProgram): Promise<void> {
    const buffers = program.buffers.map((_, i) => gpu.buffer(1024, `${program.name} ${i}`));
    try {
      gpu.run(program, buffers, new Array<number>(program.params).fill(0), 1);
      await gpu.finish();
    } finally {
      for (const buffer of buffers) buffer.release();
    }
  }

  it.each(allPrograms().map((program) => [program.name, program] as const))(
    '%s compiles and fits its layout',
    (_, program) => compile(program),
  );

  it.each([
    ['a wrong type', 'write array<u32> out', 'out[0] = 1.5;'],
    ['another access than its layout', 'read array<u32> out', 'let x = out[0];'],
  ])('finds %s', async (_, binding, statement) => {
    const code = `${bindings(false, [binding])}\n@compute @workgroup_size(1) fn main() { ${statement} }`;
    const wrong: GpuProgram = { name: 'wrong', buffers: ['write'], params: 0, workgroup: 1, code };
    await expect(compile(wrong)).rejects.toThrow(DeviceError);
  });
});

/** The device layer: recording order, parameters, memory, errors. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeviceError } from '../../util/errors.js';
import type { GpuDevice } from './gpu-device.js';
import { openGpuDevice } from './open-device.js';
import { bindings, defineProgram, f32Bits, flatIndex, grid } from './program.js';

const scaleAdd = defineProgram({
  name: 'test.scaleAdd',
  buffers: ['read', 'write'],
  params: 2,
  workgroup: 64,
  code: /* wgsl */ `
struct Params { n: u32, factor: f32 }
${bindings(true, ['read array<f32> x', 'write array<f32> y'])}
${flatIndex}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = flatIndex(id, groups, 64u);
  if (i >= p.n) { return; }
  y[i] = y[i] + p.factor * x[i];
}`,
});

describe('GpuDevice', () => {
  let gpu: GpuDevice;
  beforeAll(async () => {
    gpu = await openGpuDevice();
  });
  afterAll(() => gpu.destroy());

  it('runs recorded programs in order, beyond one ring of parameters', async () => {
    const n = 1000;
    const x = gpu.bufferOf(new Float32Array(n).fill(1), 'x');
    const y = gpu.bufferOf(new Float32Array(n), 'y');
    for (let i = 1; i <= 600; i++) gpu.run(scaleAdd, [x, y], [n, f32Bits(i)], grid(n, 64));
    const result = new Float32Array(await gpu.read(y));
    expect(result.every((v) => v === (600 * 601) / 2)).toBe(true);
    x.release();
    y.release();
  });

  it('orders host writes after the recorded work that reads the memory', async () => {
    const n = 64;
    const x = gpu.bufferOf(new Float32Array(n).fill(1), 'x');
    const y = gpu.bufferOf(new Float32Array(n), 'y');
    gpu.run(scaleAdd, [x, y], [n, f32Bits(1)], 1);
    gpu.write(x, new Float32Array(n).fill(10));
    gpu.run(scaleAdd, [x, y], [n, f32Bits(1)], 1);
    expect(new Float32Array(await gpu.read(y))[5]).toBe(11);
    x.release();
    y.release();
  });

  it('orders host writes to recycled memory after the work that read it before', async () => {
    const y = gpu.bufferOf(new Float32Array(64), 'y');
    for (let i = 0; i < 20; i++) {
      const x = gpu.bufferOf(new Float32Array(64).fill(i), 'x');
      gpu.run(scaleAdd, [x, y], [64, f32Bits(1)], 1);
      x.release();
    }
    expect(new Float32Array(await gpu.read(y))[7]).toBe(190);
    y.release();
  });

  it('takes shared memory and odd lengths', async () => {
    const shared = new Uint8Array(new SharedArrayBuffer(7));
    shared.set([1, 2, 3, 4, 5, 6, 7]);
    const buffer = gpu.bufferOf(shared, 'shared');
    expect([...new Uint8Array(await gpu.read(buffer, 7))]).toEqual([1, 2, 3, 4, 5, 6, 7]);
    buffer.release();
  });

  it('recycles memory and counts it', async () => {
    const before = gpu.stats();
    for (let i = 0; i < 100; i++) gpu.buffer(5000, 'loop').release();
    const after = gpu.stats();
    expect(after.liveBuffers).toBe(before.liveBuffers);
    expect(after.idleBytes - before.idleBytes).toBeLessThan(6000);
  });

  it('reports an error of a program once', async () => {
    const bad = { ...scaleAdd, name: 'test.bad', code: `${scaleAdd.code}\nnonsense` };
    const buffer = gpu.buffer(64, 'bad');
    const attempt = async () => {
      gpu.run(bad, [buffer, buffer], [1, 0], 1);
      await gpu.finish();
    };
    await expect(attempt()).rejects.toThrow(DeviceError);
    // The driver reports the consequences separately.
    for (let i = 0; i < 3; i++) await gpu.finish().catch(() => {});
    await gpu.finish();
    buffer.release();
  });

  it('rejects allocations beyond the budget, and use after destroy', async () => {
    const small = await openGpuDevice({ memoryBudget: 10_000 });
    const held = small.buffer(8000, 'first');
    expect(() => small.buffer(8000, 'second')).toThrow(/room for 8\d+ bytes \(second\)/);
    held.release();
    small.buffer(8000, 'third').release();
    expect(() => held.raw).toThrow('first');
    small.destroy();
    expect(await small.lost).toContain('destroyed');
    expect(() => small.buffer(4, 'x')).toThrow(/was lost/);
  });

  it('finds no device with SKEIN_GPU=0', async () => {
    process.env.SKEIN_GPU = '0';
    await expect(openGpuDevice()).rejects.toThrow(/found none: SKEIN_GPU=0/);
    delete process.env.SKEIN_GPU;
    await expect(openGpuDevice({ backend: 'd3d12' })).rejects.toThrow(/no adapter/);
  });
});

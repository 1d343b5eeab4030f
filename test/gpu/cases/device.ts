/** The device layer: programs, memory, order of work, and error messages. */

import type { GpuDevice } from 'skein/gpu';
import { DeviceError, StateError } from 'skein/util';
import { bindings, defineProgram, f32Bits, flatIndex, grid } from '#internal/gpu/device/program.js';
import { equal, ok, throws } from './assert.js';
import type { GpuCase } from './case.js';

const scaleAdd = defineProgram({
  name: 'cases.scaleAdd',
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

async function computes(gpu: GpuDevice): Promise<void> {
  const n = 1000;
  const x = gpu.bufferOf(new Float32Array(n).fill(1), 'x');
  const y = gpu.bufferOf(new Float32Array(n), 'y');
  try {
    for (let i = 1; i <= 600; i++) gpu.run(scaleAdd, [x, y], [n, f32Bits(i)], grid(n, 64));
    equal(new Float32Array(await gpu.read(y)), new Float32Array(n).fill((600 * 601) / 2), 'y');
  } finally {
    x.release();
    y.release();
  }
}

async function takesSharedMemory(gpu: GpuDevice): Promise<void> {
  const shared = new Uint8Array(new SharedArrayBuffer(7));
  shared.set([1, 2, 3, 4, 5, 6, 7]);
  const buffer = gpu.bufferOf(shared, 'shared');
  try {
    equal(new Uint8Array(await gpu.read(buffer, 7)), shared, 'bytes');
  } finally {
    buffer.release();
  }
}

async function namesMistakes(gpu: GpuDevice): Promise<void> {
  const released = gpu.buffer(8, 'released');
  released.release();
  await throws(() => released.raw, StateError, /released/);
  await throws(() => gpu.buffer(gpu.limits.maxBufferSize + 4, 'huge'), DeviceError, /huge/);
  const before = gpu.stats();
  await computes(gpu);
  const after = gpu.stats();
  equal(after.liveBuffers, before.liveBuffers, 'buffers in use');
  ok(after.readBacks === before.readBacks + 1, 'one read-back');
}

export const cases: readonly GpuCase[] = [
  { group: 'device', name: 'runs recorded programs in order', run: computes },
  { group: 'device', name: 'takes shared memory and odd lengths', run: takesSharedMemory },
  { group: 'device', name: 'reports errors and continues', run: namesMistakes },
];

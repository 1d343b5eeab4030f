/** jax-js: copies in, its own buffers out, and references left as they were. */
import type * as Jax from '@jax-js/jax';
import { fromArray } from 'skein';
import { fromJax, liveViews, TensorView, toJax } from 'skein/interop';
import { DeviceError, DTypeError, StateError, ValueError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GpuBufferLike, GpuDeviceLike } from '#internal/interop/gpu-like.js';
import { installWebGpu } from './webgpu-globals.js';

let jax: typeof Jax;
let device: GpuDeviceLike & { destroy(): void };

beforeAll(async () => {
  await installWebGpu();
  jax = await import('@jax-js/jax');
  expect(await jax.init()).toContain('webgpu');
  device = jax.getWebGPUDevice(); // a GPUDevice with WebGPU's own types fits
});
afterAll(() => device.destroy());

describe('errors that name the cause', () => {
  test('types without an equal, released views, arrays without references', () => {
    const bytes = TensorView.fromTyped(new Uint8Array([7, 8]));
    expect(() => toJax(jax, bytes)).toThrow(DTypeError);
    expect([...toJax(jax, bytes, { convert: true }).dataSync()]).toEqual([7, 8]);
    const wide = TensorView.fromTyped(new BigInt64Array([2n ** 33n]));
    expect(() => toJax(jax, wide, { convert: true })).toThrow(ValueError);
    bytes.release();
    expect(() => toJax(jax, bytes)).toThrow(StateError);
    const used = jax.numpy.array([1, 2]);
    used.dispose();
    expect(() => fromJax(jax, used)).toThrow(StateError);
    expect(() => toJax({} as typeof jax, bytes)).toThrow(/Pass the module itself/);
  });

  test('half precision and doubles where the platform cannot tell them apart', () => {
    const double = TensorView.fromTyped(new Float64Array([1.5, 2]));
    const half = TensorView.fromTyped(new Uint16Array([0x3e00, 0x4000]), [2], { dtype: 'f16' });
    if ('Float16Array' in globalThis) {
      expect(fromJax(jax, toJax(jax, double)).toTyped()).toEqual(double.data);
      expect(fromJax(jax, toJax(jax, half)).toTyped()).toEqual(half.data);
    } else {
      for (const view of [double, half]) {
        expect(() => toJax(jax, view)).toThrow(DTypeError);
        expect([...toJax(jax, view, { convert: true }).dataSync()]).toEqual([1.5, 2]);
      }
    }
  });

  test('a view on another device', async () => {
    const gpu = (globalThis as { navigator?: { gpu: unknown } }).navigator?.gpu as {
      requestAdapter(): Promise<{ requestDevice(): Promise<typeof device> }>;
    };
    const other = await (await gpu.requestAdapter()).requestDevice();
    const view = TensorView.fromTyped(new Float32Array([1, 2])).toGpu(other);
    expect(() => toJax(jax, view)).toThrow(DeviceError);
    expect([...toJax(jax, await view.toHost()).dataSync()]).toEqual([1, 2]);
    view.release();
    other.destroy();
  });
});

describe('on the host', () => {
  test('in: a copy, so the view may go at once', () => {
    const data = new Float32Array([1, 2, 3, 4]);
    const array = toJax(jax, TensorView.fromTyped(data, [2, 2]));
    data.fill(0);
    expect([array.device, array.shape]).toEqual(['wasm', [2, 2]]);
    expect([...jax.numpy.matmul(array.ref, array).dataSync()]).toEqual([7, 10, 15, 22]);
    const flags = toJax(jax, TensorView.fromTyped(new Uint8Array([1, 0, 1]), [3], { dtype: 'bool' }));
    expect(flags.dtype).toBe('bool');
    expect([...fromJax(jax, flags).toTyped()]).toEqual([1, 0, 1]);
    const shared = new Int32Array(new SharedArrayBuffer(8));
    shared.set([4, 5]);
    expect([...toJax(jax, TensorView.fromTyped(shared)).dataSync()]).toEqual([4, 5]);
    expect(toJax(jax, TensorView.fromTyped(new Float32Array(0), [0, 3])).shape).toEqual([0, 3]);
  });

  test('out: a copy that leaves the array usable; on to a tensor of Skein and back', () => {
    const array = jax.numpy.array([1, 2, 3]).mul(2);
    const view = fromJax(jax, array);
    expect([...view.toTyped()]).toEqual([2, 4, 6]);
    expect(array.refCount).toBe(1);
    expect([...array.dataSync()]).toEqual([2, 4, 6]);
    const ours = fromArray([
      [1, 2],
      [3, 4],
    ]);
    const back = fromJax(jax, toJax(jax, ours.transpose())).toTensor();
    expect(back.toArray()).toEqual([
      [1, 3],
      [2, 4],
    ]);
  });
});

describe('on a GPU', () => {
  test('in: copied from buffer to buffer, without passing the host', async () => {
    const view = TensorView.fromTyped(new Float32Array([5, 6, 7, 8]), [2, 2]).toGpu(device);
    const array = toJax(jax, view);
    view.release();
    expect(array.device).toBe('webgpu');
    expect([...(await array.ref.mul(2).data())]).toEqual([10, 12, 14, 16]);
    expect([...(await array.data())]).toEqual([5, 6, 7, 8]);
    const ids = TensorView.fromTyped(new Int32Array([3, 1])).toGpu(device);
    expect([...(await toJax(jax, ids).data())]).toEqual([3, 1]);
    ids.release();
  });

  test('in from the host to the GPU, also from memory shared between threads', async () => {
    const shared = new Float32Array(new SharedArrayBuffer(8));
    shared.set([1, 2]);
    const array = toJax(jax, TensorView.fromTyped(shared), { device: 'webgpu' });
    expect([...(await array.data())]).toEqual([1, 2]);
  });

  test('out: the buffer of the array itself, held until the release', async () => {
    const array = jax.numpy.array(new Float32Array([1, 2, 3]), { device: 'webgpu' });
    const view = fromJax(jax, array);
    expect(view.data).toBe(array.ref.gpuBufferSync() as unknown as GpuBufferLike);
    expect(array.refCount).toBe(2);
    array.dispose();
    expect([...(await view.read())]).toEqual([1, 2, 3]);
    view.release();
    expect(array.refCount).toBe(0);
    expect(liveViews().webgpu).toBe(0);
  });

  test('says what to do when jax-js has no device', () => {
    const bare = {
      ...jax,
      getWebGPUDevice: () => {
        throw new Error('WebGPU backend not initialized');
      },
    };
    const view = TensorView.fromTyped(Float32Array.of(1)).toGpu(device);
    expect(() => toJax(bare, view)).toThrow(/not initialized.*jax\.init\('webgpu'\).*view\.toHost/);
    view.release();
  });
});

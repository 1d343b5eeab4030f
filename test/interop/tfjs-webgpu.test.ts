/** TensorFlow.js on a GPU: one buffer for both libraries, cut to size where it is larger, and order of release. */
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import { fromArray } from 'skein';
import { adoptGpuDevice, enableWebGpu } from 'skein/gpu';
import { copyToTfjs, fromTfjs, liveViews, TensorView, toTfjs } from 'skein/interop';
import { DeviceError, DTypeError, StateError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GpuBufferLike, GpuDeviceLike } from '#internal/interop/gpu-like.js';
import { installWebGpu } from './webgpu-globals.js';

interface TestDevice extends GpuDeviceLike {
  queue: {
    submit(commands: object[]): void;
    writeBuffer(to: GpuBufferLike, at: number, data: Float32Array): void;
  };
  destroy(): void;
}

let device: TestDevice;

beforeAll(async () => {
  await installWebGpu();
  await import('@tensorflow/tfjs-backend-webgpu');
  await tf.setBackend('webgpu');
  await tf.ready();
  device = (tf.backend() as unknown as { device: TestDevice }).device;
});
afterAll(() => device.destroy());

/** The values of a tensor, read by TensorFlow.js. */
async function values(tensor: tf.Tensor): Promise<number[]> {
  return [...(await tensor.data())];
}

describe('to TensorFlow.js', () => {
  test('a tensor shares the buffer of the view: a write to it shows in the tensor', async () => {
    const view = TensorView.fromTyped(new Float32Array([1, 2, 3, 4]), [2, 2]).toGpu(device);
    const tensor = toTfjs(tf, view);
    expect(tensor.shape).toEqual([2, 2]);
    device.queue.writeBuffer(view.data as GpuBufferLike, 4, new Float32Array([20]));
    const doubled = tf.mul(tensor, 2);
    expect(await values(doubled)).toEqual([2, 40, 6, 8]);
    doubled.dispose();
    tensor.dispose();
    view.release();
  });

  test('ids, on the device', async () => {
    const view = TensorView.fromTyped(new Int32Array([2, 0])).toGpu(device);
    const ids = toTfjs(tf, view);
    expect(ids.dtype).toBe('int32');
    expect(await values(tf.gather(tf.tensor1d([5, 6, 7]), ids as tf.Tensor1D))).toEqual([7, 5]);
    ids.dispose();
    view.release();
  });

  test('a larger buffer is cut to size; the view may go at once', async () => {
    const large = TensorView.fromTyped(new Float32Array([0, 1, 2, 3, 4, 5, 6, 7])).toGpu(device);
    const part = TensorView.fromGpuBuffer(large.data as GpuBufferLike, device, {
      ...{ shape: [2, 2], dtype: 'f32' },
      byteOffset: 8,
    });
    const tensor = toTfjs(tf, part);
    part.release();
    device.queue.writeBuffer(large.data as GpuBufferLike, 0, new Float32Array(8));
    large.release();
    expect(await values(tensor)).toEqual([2, 3, 4, 5]);
    tensor.dispose();
    const none = TensorView.fromTyped(new Float32Array(0), [0, 4]).toGpu(device);
    expect(toTfjs(tf, none).shape).toEqual([0, 4]);
    none.release();
  });

  test('or shared as it is, on request: then only for computing', async () => {
    const large = TensorView.fromTyped(new Float32Array([1, 2, 3, 4, 90])).toGpu(device);
    const borrowed = TensorView.fromGpuBuffer(large.data as GpuBufferLike, device, {
      shape: [4],
      dtype: 'f32',
    });
    const tensor = toTfjs(tf, borrowed, { spare: true });
    device.queue.writeBuffer(large.data as GpuBufferLike, 0, new Float32Array([10]));
    const sum = tf.sum(tensor);
    expect(() => borrowed.release()).toThrow(/Dispose it first/);
    tensor.dispose();
    borrowed.release();
    large.release();
    expect(await values(sum)).toEqual([19]);
  });

  test('a view on the host is copied, so it may go at once', async () => {
    const data = new Float32Array([1, 2]);
    const tensor = toTfjs(tf, TensorView.fromTyped(data));
    data.fill(9);
    expect(await values(tf.add(tensor, 0))).toEqual([1, 2]);
    const shared = new Float32Array(new SharedArrayBuffer(8)).fill(3);
    expect(await values(tf.add(toTfjs(tf, TensorView.fromTyped(shared)), 0))).toEqual([3, 3]);
  });

  test('release flushes queued work, and throws while a tensor is in use', async () => {
    const view = TensorView.fromTyped(new Float32Array(64).fill(3)).toGpu(device);
    const tensor = toTfjs(tf, view);
    expect(() => view.release()).toThrow(StateError);
    expect(view.isReleased).toBe(false);
    // Recorded by TensorFlow.js, but not sent off: destroying the buffer now would lose it.
    const sum = tf.sum(tensor);
    tensor.dispose();
    view.release();
    expect(await values(sum)).toEqual([192]);
  });

  test('another device, and types that it lacks, are named', async () => {
    const gpu = (globalThis as { navigator?: { gpu: unknown } }).navigator?.gpu as {
      requestAdapter(): Promise<{ requestDevice(): Promise<TestDevice> }>;
    };
    const other = await (await gpu.requestAdapter()).requestDevice();
    const view = TensorView.fromTyped(new Float32Array([1, 2])).toGpu(other);
    expect(() => toTfjs(tf, view)).toThrow(DeviceError);
    expect(() => toTfjs(tf, view)).toThrow(/copyToTfjs/);
    const copy = await copyToTfjs(tf, view);
    expect(await values(tf.add(copy, 0))).toEqual([1, 2]);
    view.release();
    other.destroy();
    const half = TensorView.fromTyped(new Uint16Array(4), [4], { dtype: 'f16' }).toGpu(device);
    expect(() => toTfjs(tf, half)).toThrow(DTypeError);
    half.release();
  });
});

describe('tensors of Skein on the same device', () => {
  test('share their memory with TensorFlow.js, and give it back', async () => {
    const gpu = adoptGpuDevice(device);
    const tensors = await enableWebGpu(gpu);
    const ours = fromArray([
      [1, 2],
      [3, 4],
    ]).to('webgpu');
    expect(() => toTfjs(tf, ours)).toThrow(DeviceError);
    expect(() => TensorView.fromTensor(ours.transpose())).toThrow(/contiguous/);
    // The first product leaves working memory behind that later ones use again.
    ours.matmul(ours).dispose();
    const before = gpu.stats().liveBuffers;
    const product = ours.matmul(ours);
    const view = TensorView.fromTensor(product);
    product.dispose();
    const given = toTfjs(tf, view, { spare: true });
    const sum = tf.sum(given);
    given.dispose();
    view.release();
    expect(await values(sum)).toEqual([54]);
    expect(gpu.stats().liveBuffers).toBe(before);
    ours.dispose();
    tensors.release();
  });
});

describe('from TensorFlow.js', () => {
  test('a view of a result, read back, and on to a tensor of Skein', async () => {
    const large = tf.ones([64, 32]);
    const before = tf.memory().numTensors;
    const made = tf.add(large, 1);
    const view = fromTfjs(tf, made);
    expect(view.device.type).toBe('webgpu');
    made.dispose();
    const back = (await view.toHost()).toTensor();
    expect([back.shape, back.sum().item()]).toEqual([[64, 32], 4096]);
    view.release();
    expect(tf.memory().numTensors).toBe(before);
    expect(liveViews().webgpu).toBe(0);
  });

  test('small tensors, whose values TensorFlow.js keeps on the host', async () => {
    const view = fromTfjs(tf, tf.tensor1d([4, 5]));
    expect([...(await view.read())]).toEqual([4, 5]);
  });
});

/** TensorFlow.js on the host: shared memory where its back end shares, copies where it does not. */
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import '@tensorflow/tfjs-backend-wasm';
import { fromArray } from 'skein';
import { copyToTfjs, fromTfjs, TensorView, toTfjs } from 'skein/interop';
import { DeviceError, DTypeError, StateError, ValueError } from 'skein/util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

beforeAll(async () => {
  await tf.setBackend('wasm');
  await tf.setBackend('cpu');
});
beforeEach(() => tf.setBackend('cpu').then(() => undefined));
afterAll(() => tf.disposeVariables());

describe('what cannot be transferred is rejected', () => {
  test('element types without an equal, unless conversion is requested', async () => {
    const wrong = [
      TensorView.fromTyped(new Float64Array([1.5])),
      TensorView.fromTyped(new Uint8Array([7])),
      TensorView.fromTyped(new Uint32Array([7])),
      TensorView.fromTyped(new BigInt64Array([7n])),
      TensorView.fromTyped(new Uint16Array([0x3e00]), [1], { dtype: 'f16' }),
      TensorView.fromTyped(new Uint16Array([0x3fc0]), [1], { dtype: 'bf16' }),
    ];
    const as = ['float32', 'int32', 'int32', 'int32', 'float32', 'float32'];
    const values = [1.5, 7, 7, 7, 1.5, 1.5];
    for (const [i, view] of wrong.entries()) {
      expect(() => toTfjs(tf, view)).toThrow(DTypeError);
      expect(() => toTfjs(tf, view)).toThrow(/convert: true/);
      const converted = toTfjs(tf, view, { convert: true });
      expect([converted.dtype, converted.dataSync()[0]]).toEqual([as[i], values[i]]);
    }
  });

  test('an id that does not fit', () => {
    const view = TensorView.fromTyped(new BigInt64Array([1n, 2n ** 40n]));
    expect(() => toTfjs(tf, view, { convert: true })).toThrow(ValueError);
    expect(() => toTfjs(tf, view, { convert: true })).toThrow(/element 1/);
    expect(() => toTfjs(tf, TensorView.fromTyped(new Uint32Array([2 ** 31])), { convert: true })).toThrow(
      /fits i32/,
    );
  });

  test('released views, disposed tensors, other libraries, text', () => {
    const view = TensorView.fromTyped(new Float32Array(2));
    view.release();
    expect(() => toTfjs(tf, view)).toThrow(StateError);
    const gone = tf.tensor([1]);
    gone.dispose();
    expect(() => fromTfjs(tf, gone)).toThrow(StateError);
    expect(() => toTfjs({} as typeof tf, view)).toThrow(/Pass the module itself/);
    expect(() => toTfjs(tf, [1, 2] as unknown as TensorView)).toThrow(ValueError);
    expect(() => fromTfjs(tf, tf.tensor(['a']))).toThrow(DTypeError);
  });

  test('a view on a GPU, while TensorFlow.js computes on the host', () => {
    const buffer = {
      ...{ size: 8, usage: 0, destroy: () => undefined, unmap: () => undefined },
      mapAsync: async () => undefined,
      getMappedRange: () => new ArrayBuffer(8),
    };
    const device = {
      queue: { submit: () => undefined },
      createBuffer: () => buffer,
      createCommandEncoder: () => ({ copyBufferToBuffer: () => undefined, finish: () => ({}) }),
    };
    const view = TensorView.fromGpuBuffer(buffer, device, { shape: [2], dtype: 'f32' });
    expect(() => toTfjs(tf, view)).toThrow(DeviceError);
    expect(() => toTfjs(tf, view)).toThrow(/copyToTfjs/);
  });
});

describe('back end cpu', () => {
  test('a tensor shares the memory of the view', () => {
    const data = new Float32Array([1, 2, 3, 4, 5, 6]);
    const view = TensorView.fromTyped(data, [2, 3]);
    const tensor = toTfjs(tf, view);
    expect(tensor.shape).toEqual([2, 3]);
    expect(tensor.dataSync()).toBe(data);
    data[0] = 10;
    expect(tf.sum(tensor).dataSync()[0]).toBe(30);
    const ids = new Int32Array([3, 1]);
    expect(toTfjs(tf, TensorView.fromTyped(ids)).dataSync()).toBe(ids);
    const flags = new Uint8Array([1, 0]);
    const mask = toTfjs(tf, TensorView.fromTyped(flags, [2], { dtype: 'bool' }));
    flags[1] = 1;
    expect([...mask.dataSync()]).toEqual([1, 1]);
  });

  test('a view shares the memory of a tensor and keeps it alive, also after a tidy', () => {
    const before = tf.memory().numDataBuffers;
    let view = TensorView.fromTyped(new Float32Array(0));
    tf.tidy(() => {
      view = fromTfjs(tf, tf.tensor2d([[1, 2]]));
    });
    expect(tf.memory().numDataBuffers).toBe(before + 1);
    expect([...view.toTyped()]).toEqual([1, 2]);
    const again = toTfjs(tf, view);
    (view.data as Float32Array)[1] = 7;
    expect([...again.dataSync()]).toEqual([1, 7]);
    again.dispose();
    view.release();
    expect(tf.memory().numDataBuffers).toBe(before);
  });

  test('memory that is still in use is not given back', () => {
    let freed = 0;
    const view = TensorView.fromTyped(new Float32Array(4), [4], { onRelease: () => void freed++ });
    const tensor = toTfjs(tf, view);
    const reshaped = tf.reshape(tensor, [2, 2]);
    expect(() => view.release()).toThrow(StateError);
    tensor.dispose();
    expect(() => view.release()).toThrow(/Dispose it first/);
    expect(freed).toBe(0);
    reshaped.dispose();
    view.release();
    expect(freed).toBe(1);
  });

  test('tensors of Skein are copied; views of them are not', () => {
    const ours = fromArray([
      [1, 2],
      [3, 4],
    ]);
    const copy = toTfjs(tf, ours);
    const view = TensorView.fromTensor(ours);
    const shared = toTfjs(tf, view);
    ours.dataSync()[0] = 9;
    expect([...copy.dataSync()]).toEqual([1, 2, 3, 4]);
    expect([...shared.dataSync()]).toEqual([9, 2, 3, 4]);
    const strided = toTfjs(tf, TensorView.fromTensor(ours.transpose()));
    expect([...strided.dataSync()]).toEqual([9, 3, 2, 4]);
    expect(
      fromTfjs(tf, tf.matMul(shared as tf.Tensor2D, shared as tf.Tensor2D))
        .toTensor()
        .toArray(),
    ).toEqual([
      [87, 26],
      [39, 22],
    ]);
  });
});

describe('back end wasm', () => {
  test('copies in and out', async () => {
    await tf.setBackend('wasm');
    expect(tf.getBackend()).toBe('wasm');
    const data = new Float32Array([1, 2]);
    let freed = 0;
    const view = TensorView.fromTyped(data, [2], { onRelease: () => void freed++ });
    const tensor = toTfjs(tf, view);
    view.release();
    expect(freed).toBe(1);
    data[0] = 50;
    const out = fromTfjs(tf, tf.add(tensor, 1));
    expect([...out.toTyped()]).toEqual([2, 3]);
    const shared = new Int32Array(new SharedArrayBuffer(8));
    shared.set([4, 5]);
    expect([...toTfjs(tf, TensorView.fromTyped(shared)).dataSync()]).toEqual([4, 5]);
    expect([...(await copyToTfjs(tf, fromArray([2, 4]))).dataSync()]).toEqual([2, 4]);
    expect(toTfjs(tf, TensorView.fromTyped(new Float32Array(0), [0, 3])).shape).toEqual([0, 3]);
  });
});

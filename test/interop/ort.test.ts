/** ONNX Runtime: tensors on the memory of views, and back. */
import * as ort from 'onnxruntime-web';
import { fromArray } from 'skein';
import { fromOrt, TensorView, toOrt } from 'skein/interop';
import { DeviceError, DTypeError, StateError, ValueError } from 'skein/util';
import { describe, expect, test } from 'vitest';

/** A buffer and a device without a GPU behind: ONNX Runtime only carries them. */
function fakeGpu(size: number) {
  const buffer = {
    ...{ size, usage: 0, destroy: () => undefined, unmap: () => undefined },
    mapAsync: async () => undefined,
    getMappedRange: () => new ArrayBuffer(size),
  };
  const device = {
    queue: { submit: () => undefined },
    createBuffer: () => buffer,
    createCommandEncoder: () => ({ copyBufferToBuffer: () => undefined, finish: () => ({}) }),
  };
  return { buffer, device };
}

describe('errors that name the cause', () => {
  test('types without an equal, released views, other libraries', () => {
    const bf16 = TensorView.fromTyped(new Uint16Array([0x3fc0]), [1], { dtype: 'bf16' });
    expect(() => toOrt(ort, bf16)).toThrow(DTypeError);
    expect(toOrt(ort, bf16, { convert: true }).data[0]).toBe(1.5);
    expect(() => toOrt(ort, TensorView.fromTyped(new Float32Array(1)), { ids: 'i64' })).toThrow(DTypeError);
    bf16.release();
    expect(() => toOrt(ort, bf16)).toThrow(StateError);
    expect(() => toOrt({} as typeof ort, bf16)).toThrow(ValueError);
    expect(() => fromOrt(new ort.Tensor('string', ['a'], [1]))).toThrow(DTypeError);
  });

  test('GPU buffers of another device, of other types, with an offset', () => {
    const { buffer, device } = fakeGpu(32);
    const view = TensorView.fromGpuBuffer(buffer, device, { shape: [2], dtype: 'f32' });
    expect(() => toOrt(ort, view, { gpuDevice: fakeGpu(4).device })).toThrow(DeviceError);
    expect(() => toOrt(ort, view, { ids: 'i64' })).toThrow(DTypeError);
    const double = TensorView.fromGpuBuffer(buffer, device, { shape: [2], dtype: 'f64' });
    expect(() => toOrt(ort, double)).toThrow(DTypeError);
    const later = TensorView.fromGpuBuffer(buffer, device, { shape: [2], dtype: 'f32', byteOffset: 4 });
    expect(() => toOrt(ort, later)).toThrow(/without an offset/);
    expect(() => fromOrt(toOrt(ort, view))).toThrow(/gpuDevice/);
  });
});

describe('on the host', () => {
  test('tensors share the memory of views, and views that of tensors', () => {
    const views = [
      TensorView.fromTyped(new Float32Array([1, 2]), [1, 2]),
      TensorView.fromTyped(new Float64Array([1, 2])),
      TensorView.fromTyped(new Int32Array([1, 2])),
      TensorView.fromTyped(new Uint32Array([1, 2])),
      TensorView.fromTyped(new BigInt64Array([1n, 2n])),
      TensorView.fromTyped(new Uint8Array([1, 2])),
      TensorView.fromTyped(new Uint8Array([1, 0]), [2], { dtype: 'bool' }),
    ];
    for (const view of views) {
      const tensor = toOrt(ort, view);
      expect(tensor.data, view.dtype).toBe(view.data);
      const back = fromOrt(tensor);
      expect([back.dtype, back.shape]).toEqual([view.dtype, view.shape]);
      expect(back.data).toBe(view.data);
    }
    const half = TensorView.fromTyped(new Uint16Array([0x3c00]), [1], { dtype: 'f16' });
    const back = fromOrt(toOrt(ort, half));
    expect(back.dtype).toBe('f16');
    expect((back.data as Uint16Array).buffer).toBe((half.data as Uint16Array).buffer);
  });

  test('ids as int64, tensors of Skein as copies, strided ones in order', () => {
    const ids = toOrt(ort, TensorView.fromTyped(new Int32Array([3, -1])), { ids: 'i64' });
    expect([ids.type, ...ids.data]).toEqual(['int64', 3n, -1n]);
    const wide = TensorView.fromTyped(new BigInt64Array([5n]));
    expect(toOrt(ort, wide, { ids: 'i64' }).data).toBe(wide.data);
    const ours = fromArray([
      [1, 2],
      [3, 4],
    ]);
    const copy = toOrt(ort, ours.transpose());
    expect([...copy.data]).toEqual([1, 3, 2, 4]);
    expect(copy.dims).toEqual([2, 2]);
    const view = fromOrt(copy, { dispose: true });
    expect(view.toTensor().toArray()).toEqual([
      [1, 3],
      [2, 4],
    ]);
    view.release();
    expect(() => copy.data).toThrow();
    expect(() => fromOrt(copy)).toThrow(StateError);
  });
});

describe('on a GPU', () => {
  test('the same buffer goes in and comes out; disposing the tensor releases the view on request', () => {
    const { buffer, device } = fakeGpu(16);
    let freed = 0;
    const view = TensorView.fromGpuBuffer(buffer, device, {
      ...{ shape: [2, 2], dtype: 'f32' },
      onRelease: () => void freed++,
    });
    const tensor = toOrt(ort, view, { gpuDevice: device, release: true });
    expect(tensor.location).toBe('gpu-buffer');
    expect(tensor.gpuBuffer).toBe(buffer);
    expect(fromOrt(tensor, { gpuDevice: device }).data).toBe(buffer);
    tensor.dispose();
    expect([freed, view.isReleased]).toEqual([1, true]);
  });
});

/** Views: what they hold, whose memory it is, and what happens after release. */
import { fromArray, poolStats, tensor, transpose } from 'skein';
import { liveViews, TensorView } from 'skein/interop';
import { DeviceError, DTypeError, ShapeError, StateError, ValueError } from 'skein/util';
import { describe, expect, test } from 'vitest';

/** A GPU buffer and device that only count; real ones are tested with each library. */
function fakeGpu(size: number) {
  const state = { destroyed: 0 };
  const buffer = {
    ...{ size, usage: 0 },
    destroy: () => void state.destroyed++,
    mapAsync: async () => undefined,
    getMappedRange: () => new ArrayBuffer(size),
    unmap: () => undefined,
  };
  const device = {
    queue: { submit: () => undefined },
    createBuffer: () => buffer,
    createCommandEncoder: () => ({ copyBufferToBuffer: () => undefined, finish: () => ({}) }),
  };
  return { state, buffer, device };
}

describe('wrong views are rejected', () => {
  test('what does not fit together', () => {
    const { buffer, device } = fakeGpu(16);
    expect(() => TensorView.fromTyped(new Float32Array(5), [2, 3])).toThrow(ShapeError);
    expect(() => TensorView.fromTyped(new Float32Array(6), [2, -3])).toThrow(ShapeError);
    expect(() => TensorView.fromTyped(new Uint16Array(6))).toThrow(DTypeError);
    expect(() => TensorView.fromTyped(new Float32Array(6), [6], { dtype: 'i32' })).toThrow(DTypeError);
    expect(() => TensorView.fromTyped(new Float32Array(6), [6], { dtype: 'f8' as 'f16' })).toThrow(
      ValueError,
    );
    expect(() => TensorView.fromTyped(new Float32Array(6), [2, 3], { strides: [4, 1] })).toThrow(ShapeError);
    expect(() => TensorView.fromTyped(new Float32Array(6), [2], { byteOffset: 3 })).toThrow(/multiple of 4/);
    expect(() => TensorView.fromTyped(new Float32Array(6), [2], { byteOffset: 20 })).toThrow(ShapeError);
    expect(() => TensorView.fromGpuBuffer(buffer, device, { shape: [5], dtype: 'f32' })).toThrow(/20 bytes/);
    expect(() =>
      TensorView.fromGpuBuffer(buffer, device, { shape: [1], dtype: 'f32', byteOffset: 2 }),
    ).toThrow(/multiple of 4/);
  });

  test('reading a GPU view on the spot, and dtypes that tensors do not have', () => {
    const { buffer, device } = fakeGpu(16);
    const onGpu = TensorView.fromGpuBuffer(buffer, device, { shape: [4], dtype: 'f32' });
    expect(() => onGpu.toTyped()).toThrow(DeviceError);
    expect(() => onGpu.toTensor()).toThrow(/view\.read\(\)/);
    expect(() => TensorView.fromTyped(new BigInt64Array(2)).toTensor()).toThrow(DTypeError);
    expect(() => TensorView.fromTyped(new Uint32Array(2)).toTensor()).toThrow(DTypeError);
  });
});

describe('ownership', () => {
  test('release gives the memory back once, and any later use throws', () => {
    const before = liveViews();
    let freed = 0;
    const view = TensorView.fromTyped(new Float32Array(4), [2, 2], { onRelease: () => void freed++ });
    expect(view.isOwner).toBe(true);
    expect(liveViews().cpu).toBe(before.cpu + 1);
    view.release();
    view.release();
    expect(freed).toBe(1);
    expect(view.isReleased).toBe(true);
    expect(liveViews()).toEqual(before);
    expect(() => view.data).toThrow(StateError);
    expect(() => view.toTyped()).toThrow(/that was released/);
    expect(() => view.toTensor()).toThrow(StateError);
    return expect(view.read()).rejects.toThrow(StateError);
  });

  test('a view that borrows gives nothing back, but also ends', () => {
    const before = liveViews();
    const { state, buffer, device } = fakeGpu(16);
    const view = TensorView.fromGpuBuffer(buffer, device, { shape: [4], dtype: 'f32' });
    expect(view.isOwner).toBe(false);
    expect(liveViews()).toEqual(before);
    view.release();
    expect(state.destroyed).toBe(0);
    expect(() => view.data).toThrow(StateError);
  });

  test('a view that owns a GPU buffer destroys it once; `using` releases', () => {
    const { state, device } = fakeGpu(16);
    {
      using view = TensorView.fromTyped(new Float32Array(4)).toGpu(device);
      expect(view.device).toEqual({ type: 'webgpu', gpuDevice: device });
      expect(liveViews().webgpu).toBe(1);
    }
    expect(state.destroyed).toBe(1);
    expect(liveViews().webgpu).toBe(0);
  });

  test('a view of a tensor shares its memory and keeps it after the tensor is disposed', () => {
    const inUse = poolStats().liveBytes;
    const t = fromArray([
      [1, 2],
      [3, 4],
    ]);
    const view = TensorView.fromTensor(t);
    (view.data as Float32Array)[3] = 9;
    expect(t.toArray()).toEqual([
      [1, 2],
      [3, 9],
    ]);
    t.dispose();
    const other = fromArray([7, 7, 7, 7]);
    expect([...view.toTyped()]).toEqual([1, 2, 3, 9]);
    view.release();
    other.dispose();
    expect(poolStats().liveBytes).toBe(inUse);
  });
});

describe('elements', () => {
  test('row-major memory is not copied, strided memory is put in order', async () => {
    const data = new Int32Array([1, 2, 3, 4, 5, 6]);
    const plain = TensorView.fromTyped(data, [2, 3]);
    expect(plain.toTyped()).toBe(data);
    const columns = TensorView.fromTyped(data, [3, 2], { strides: [1, 3] });
    expect([...columns.toTyped()]).toEqual([1, 4, 2, 5, 3, 6]);
    const tail = TensorView.fromTyped(data, [2], { byteOffset: 8 });
    expect([...tail.toTyped()]).toEqual([3, 4]);
    expect(tail.toTyped().buffer).toBe(data.buffer);
    const own = await tail.read();
    expect([...own]).toEqual([3, 4]);
    expect(own.buffer).not.toBe(data.buffer);
    expect(TensorView.fromTyped(data, [2, 3], { strides: [3, 1] }).strides).toBeUndefined();
  });

  test('a transposed or offset tensor reads as the tensor does', () => {
    const t = tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect([...TensorView.fromTensor(transpose(t)).toTyped()]).toEqual([1, 4, 2, 5, 3, 6]);
    expect([...TensorView.fromTensor(transpose(t).slice(1, 3)).toTyped()]).toEqual([2, 5, 3, 6]);
  });

  test('to a tensor: a copy, or the memory itself on request', () => {
    const data = new Float32Array([1, 2]);
    const view = TensorView.fromTyped(data);
    const copy = view.toTensor();
    const same = view.toTensor({ copy: false });
    data[0] = 5;
    expect(copy.toArray()).toEqual([1, 2]);
    expect(same.toArray()).toEqual([5, 2]);
    expect(TensorView.fromTyped(new Uint8Array([1, 0]), [2], { dtype: 'bool' }).toTensor().dtype).toBe('u8');
    expect(TensorView.fromTyped(new Uint16Array([15360]), [1], { dtype: 'f16' }).toTensor().dtype).toBe(
      'f16',
    );
  });

  test('nothing and single numbers', async () => {
    expect(TensorView.fromTyped(new Float32Array(0), [0, 4]).toTyped()).toHaveLength(0);
    expect(
      TensorView.fromTyped(new Float32Array([3]), [])
        .toTensor()
        .item(),
    ).toBe(3);
    const { buffer, device } = fakeGpu(4);
    const empty = TensorView.fromGpuBuffer(buffer, device, { shape: [0, 8], dtype: 'f32' });
    expect(await empty.read()).toHaveLength(0);
  });

  test('memory shared between threads is copied out of it by read()', async () => {
    const shared = new Float32Array(new SharedArrayBuffer(8));
    const own = await TensorView.fromTyped(shared).read();
    expect(own.buffer).toBeInstanceOf(ArrayBuffer);
  });
});

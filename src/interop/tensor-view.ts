/// <reference lib="esnext.disposable" preserve="true" />
/**
 * `TensorView`: the type exchanged between Skein and other libraries: shape, element type, location and ownership of some
 * memory. JavaScript has no DLPack; the adapters in this folder convert views to the tensors of each library and back.
 *
 * Ownership. A view either owns its memory (it was created with `onRelease`, or from a Tensor, whose memory it then holds)
 * or borrows it. `release()` ends the use of the view and frees memory that it owns; a second call does nothing, any other
 * use afterwards throws. No adapter takes ownership of a view: its creator releases it. A tensor of another library that
 * was created without a copy borrows the memory: dispose it before releasing the view.
 */
import type { TypedArray } from '../native/index.js';
import type { DeviceArray } from '../tensor/device.js';
import type { DType } from '../tensor/dtype.js';
import { fromTypedArray } from '../tensor/index.js';
import { checkShape, contiguousStrides, formatShape, isContiguous, sizeOf } from '../tensor/shape.js';
import type { Tensor } from '../tensor/tensor.js';
import { checkInteger, DeviceError, DTypeError, expected, ShapeError, StateError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import {
  copySize,
  type GpuBufferLike,
  type GpuDeviceLike,
  makeGpuBuffer,
  readGpuBuffer,
} from './gpu-like.js';
import { checkViewDType, type ViewArray, type ViewDType, viewDTypeOf, viewDTypes } from './view-dtype.js';

export type ViewDevice =
  | { readonly type: 'cpu' }
  | { readonly type: 'webgpu'; readonly gpuDevice: GpuDeviceLike };

export interface TypedViewOptions {
  /** Required for f16, bf16 and bool, which have no typed array of their own. */
  readonly dtype?: ViewDType;
  /** Elements per step along each axis. Default: row-major. */
  readonly strides?: readonly number[];
  /** Bytes from the start of the array to the first element. */
  readonly byteOffset?: number;
  /** Frees the memory; called once, by `release()`. Without it the view borrows. */
  readonly onRelease?: () => void;
}

export interface GpuViewOptions {
  readonly shape: readonly number[];
  readonly dtype: ViewDType;
  /** Bytes from the start of the buffer to the first element; a multiple of 4. */
  readonly byteOffset?: number;
  /** Frees the buffer; called once, by `release()`. Without it the view borrows. */
  readonly onRelease?: () => void;
}

interface ViewFields {
  readonly shape: readonly number[];
  readonly dtype: ViewDType;
  readonly strides: readonly number[] | undefined;
  readonly byteOffset: number;
  readonly device: ViewDevice;
  readonly data: ViewArray | GpuBufferLike;
  readonly onRelease: (() => void) | undefined;
}

const cpu: ViewDevice = { type: 'cpu' };
const live = { cpu: 0, webgpu: 0 };

/** Returns the number of unreleased views that own memory, by device; constant over a loop without leaks. */
export function liveViews(): { readonly cpu: number; readonly webgpu: number } {
  return { ...live };
}

export class TensorView implements Disposable {
  readonly shape: readonly number[];
  readonly dtype: ViewDType;
  /** In elements; undefined for row-major order without gaps. On a GPU always undefined. */
  readonly strides: readonly number[] | undefined;
  /** Bytes from the start of `data` to the first element. */
  readonly byteOffset: number;
  readonly device: ViewDevice;
  /** Number of elements. */
  readonly size: number;
  /** Whether `release()` frees memory. */
  readonly isOwner: boolean;
  #data: ViewArray | GpuBufferLike | null;
  #onRelease: (() => void) | undefined;
  #checks: (() => void)[] | null = null;

  private constructor(fields: ViewFields) {
    this.shape = fields.shape;
    this.dtype = fields.dtype;
    this.strides = fields.strides;
    this.byteOffset = fields.byteOffset;
    this.device = fields.device;
    this.size = sizeOf(fields.shape);
    this.isOwner = fields.onRelease !== undefined;
    this.#data = fields.data;
    this.#onRelease = fields.onRelease;
    if (this.isOwner) live[this.device.type]++;
  }

  /** Returns a view of a tensor without a copy. Holds the memory: disposing the tensor does not free it. */
  static fromTensor(tensor: Tensor): TensorView {
    if (tensor.device !== null) return viewOnDevice(tensor);
    const held = tensor.alias();
    const { bytes } = viewDTypes[tensor.dtype];
    return new TensorView({
      shape: tensor.shape,
      dtype: tensor.dtype,
      strides: tensor.isContiguous ? undefined : tensor.strides,
      byteOffset: tensor.isContiguous ? 0 : tensor.offset * bytes,
      device: cpu,
      data: tensor.isContiguous ? held.array : held.storage.data,
      onRelease: () => held.dispose(),
    });
  }

  /** Returns a view of a typed array without a copy. */
  static fromTyped(
    data: ViewArray,
    shape: readonly number[] = [data?.length],
    options: TypedViewOptions = {},
  ): TensorView {
    checkOptionNames('TensorView.fromTyped', options, {
      dtype: true,
      strides: true,
      byteOffset: true,
      onRelease: true,
    });
    const where = 'TensorView.fromTyped';
    const dtype =
      options.dtype === undefined ? viewDTypeOf(where, data) : checkViewDType(where, options.dtype);
    const { array, bytes } = viewDTypes[dtype];
    if (!(data instanceof array))
      throw new DTypeError(expected(where, `${array.name} for dtype ${dtype}`, 'data', data));
    const checked = checkShape(where, shape);
    const byteOffset = checkInteger(where, 'byteOffset', options.byteOffset ?? 0);
    if (byteOffset % bytes !== 0)
      throw new ShapeError(expected(where, `a multiple of ${bytes}`, 'byteOffset', byteOffset));
    const strides = checkStrides(where, checked, options.strides);
    const needed = byteOffset / bytes + extent(checked, strides);
    const exact = strides === undefined && options.byteOffset === undefined;
    if (exact ? data.length !== needed : data.length < needed) {
      const what = `${exact ? '' : 'at least '}${needed} elements for shape ${formatShape(checked)}`;
      throw new ShapeError(expected(where, what, 'data', `${data.length} elements`));
    }
    return new TensorView({
      shape: checked,
      dtype,
      strides,
      byteOffset,
      device: cpu,
      data,
      onRelease: options.onRelease,
    });
  }

  /** Returns a view of a GPU buffer, whose rows are contiguous, without a copy. */
  static fromGpuBuffer(buffer: GpuBufferLike, gpuDevice: GpuDeviceLike, options: GpuViewOptions): TensorView {
    checkOptionNames('TensorView.fromGpuBuffer', options, {
      shape: true,
      dtype: true,
      byteOffset: true,
      onRelease: true,
    });
    const where = 'TensorView.fromGpuBuffer';
    const dtype = checkViewDType(where, options.dtype);
    const shape = checkShape(where, options.shape);
    const byteOffset = checkInteger(where, 'byteOffset', options.byteOffset ?? 0);
    if (byteOffset % 4 !== 0)
      throw new ShapeError(expected(where, 'a multiple of 4', 'byteOffset', byteOffset));
    const needed = byteOffset + copySize(sizeOf(shape) * viewDTypes[dtype].bytes);
    if (buffer.size < needed) {
      const what = `at least ${needed} bytes for ${dtype} of shape ${formatShape(shape)}`;
      throw new ShapeError(expected(where, what, 'buffer', `${buffer.size} bytes`));
    }
    const device: ViewDevice = { type: 'webgpu', gpuDevice };
    return new TensorView({
      ...{ shape, dtype, byteOffset, device, data: buffer },
      strides: undefined,
      onRelease: options.onRelease,
    });
  }

  /** The memory itself: a typed array on the CPU, a buffer on a GPU. */
  get data(): ViewArray | GpuBufferLike {
    if (this.#data === null) {
      throw new StateError(
        `TensorView: expected a live view, got one of shape ${formatShape(this.shape)} that was released. ` +
          'Release a view after its last use, and after tensors of other libraries that share its memory.',
      );
    }
    return this.#data;
  }

  /** Bytes of the elements, without gaps. */
  get byteLength(): number {
    return this.size * viewDTypes[this.dtype].bytes;
  }

  get isReleased(): boolean {
    return this.#data === null;
  }

  /**
   * Adds a check that runs before the release; an error keeps the view alive. Adapters use it to prevent a release while a
   * tensor of another library shares the memory. Borrowed arrays need no check, because the garbage collector keeps them
   * alive. @internal
   */
  beforeRelease(check: () => void): void {
    if (this.#onRelease === undefined && this.device.type === 'cpu') return;
    this.#checks ??= [];
    this.#checks.push(check);
  }

  /** Ends the use of the view and frees memory that it owns. A second call does nothing. */
  release(): void {
    if (this.#data === null) return;
    for (const check of this.#checks ?? []) check();
    this.#checks = null;
    this.#data = null;
    const onRelease = this.#onRelease;
    this.#onRelease = undefined;
    if (onRelease === undefined) return;
    live[this.device.type]--;
    onRelease();
  }

  [Symbol.dispose](): void {
    this.release();
  }

  /** Returns the elements in row-major order: the memory itself if it has that order, otherwise a copy. CPU only. */
  toTyped(): ViewArray {
    const data = this.data;
    if (this.device.type !== 'cpu') {
      throw new DeviceError(
        expected('toTyped', 'a view on the CPU', 'this', 'one on a GPU', 'Use `await view.read()`.'),
        { reason: 'wrong-device' },
      );
    }
    const array = data as ViewArray;
    const { bytes, array: kind } = viewDTypes[this.dtype];
    const start = this.byteOffset / bytes;
    if (this.strides !== undefined) return gatherStrided(array, kind, bytes, start, this.shape, this.strides);
    if (start === 0 && array.length === this.size) return array;
    return array.subarray(start, start + this.size);
  }

  /** Copies the elements in row-major order to the host, from any device. */
  async read(): Promise<ViewArray> {
    const data = this.data;
    if (this.device.type === 'cpu') {
      const array = this.toTyped();
      // Always a plain ArrayBuffer, because many libraries reject shared memory.
      const { array: kind, bytes } = viewDTypes[this.dtype];
      const copy = new kind(new ArrayBuffer(array.length * bytes), 0, array.length);
      copy.set(array as never);
      return copy;
    }
    const { array: kind } = viewDTypes[this.dtype];
    const bytes = await readGpuBuffer(
      this.device.gpuDevice,
      data as GpuBufferLike,
      this.byteOffset,
      this.byteLength,
    );
    return new kind(bytes, 0, this.size);
  }

  /** Copies the elements to a view on the CPU. */
  async toHost(): Promise<TensorView> {
    return TensorView.fromTyped(await this.read(), this.shape, { dtype: this.dtype });
  }

  /** Copies the elements to a view on a GPU; releasing it destroys the buffer. CPU views only. */
  toGpu(gpuDevice: GpuDeviceLike): TensorView {
    const buffer = makeGpuBuffer(gpuDevice, this.toTyped());
    const { shape, dtype } = this;
    return TensorView.fromGpuBuffer(buffer, gpuDevice, { shape, dtype, onRelease: () => buffer.destroy() });
  }

  /**
   * Returns a Skein tensor with these elements: a copy, or with `{ copy: false }` the memory itself, which must then outlive
   * the tensor. CPU views only; bool becomes u8; throws for u32 and i64, which tensors do not have.
   */
  toTensor(options: { readonly copy?: boolean } = {}): Tensor {
    const array = this.toTyped();
    const dtype = this.dtype === 'bool' ? 'u8' : this.dtype;
    if (dtype === 'u32' || dtype === 'i64') {
      throw new DTypeError(
        expected(
          'toTensor',
          'f32, f64, i32, u8, bool, f16 or bf16',
          'dtype',
          dtype,
          'Convert ids to i32 first.',
        ),
      );
    }
    const elements = options.copy === false ? array : array.slice();
    return fromTypedArray(elements as TypedArray, this.shape, { dtype: dtype satisfies DType });
  }
}

/** Returns a view of a tensor on a GPU. */
function viewOnDevice(tensor: Tensor): TensorView {
  const where = 'TensorView.fromTensor';
  const { device, dtype, shape } = tensor;
  if (device?.share === undefined)
    throw new DeviceError(expected(where, 'a tensor on the CPU or on WebGPU', 'tensor', device?.name), {
      reason: 'wrong-device',
    });
  // Flags take four bytes each on a GPU, unlike in other libraries.
  if (dtype !== 'f32' && dtype !== 'i32')
    throw new DTypeError(expected(where, 'f32 or i32', 'a tensor on a GPU', dtype));
  if (!tensor.isContiguous)
    throw new ShapeError(
      expected(where, 'a contiguous tensor', 'a tensor on a GPU', 'a strided one', 'Use contiguous() first.'),
    );
  const held = tensor.alias();
  const { buffer, gpuDevice, byteOffset } = device.share(held.array as unknown as DeviceArray);
  return TensorView.fromGpuBuffer(buffer as GpuBufferLike, gpuDevice as GpuDeviceLike, {
    ...{ shape, dtype, byteOffset },
    onRelease: () => held.dispose(),
  });
}

function checkStrides(
  where: string,
  shape: readonly number[],
  strides: readonly number[] | undefined,
): readonly number[] | undefined {
  if (strides === undefined) return undefined;
  if (strides.length !== shape.length || strides.some((step) => !Number.isSafeInteger(step) || step < 0)) {
    throw new ShapeError(
      expected(where, `${shape.length} whole numbers of at least 0`, 'strides', [...strides]),
    );
  }
  return isContiguous(shape, strides) ? undefined : [...strides];
}

/** Returns the number of elements from the first to the last, both included. */
function extent(shape: readonly number[], strides: readonly number[] | undefined): number {
  if (sizeOf(shape) === 0) return 0;
  const steps = strides ?? contiguousStrides(shape);
  let last = 0;
  for (const [axis, size] of shape.entries()) last += (size - 1) * steps[axis];
  return last + 1;
}

function gatherStrided(
  data: ViewArray,
  kind: (typeof viewDTypes)[ViewDType]['array'],
  bytes: number,
  start: number,
  shape: readonly number[],
  strides: readonly number[],
): ViewArray {
  const size = sizeOf(shape);
  const out = new kind(new ArrayBuffer(size * bytes), 0, size);
  const index = new Array<number>(shape.length).fill(0);
  let position = start;
  for (let i = 0; i < size; i++) {
    out[i] = data[position];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      position += strides[axis];
      if (++index[axis] < shape[axis]) break;
      position -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return out;
}

/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Rows of a feature table as one matrix, on a device or, without one, in host memory. The caller releases it.
 */
import { TensorView } from '../../interop/index.js';
import { fromTypedArray, type Tensor } from '../../tensor/index.js';
import { DeviceError, DTypeError, expected, StateError } from '../../util/errors.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import type { WebGpuTensorDevice } from '../tensor/tensor-device.js';
import { type FeatureArray, type FeatureType, featureArray } from './cold-rows.js';

export class FeatureBlock implements Disposable {
  /** [rows, width] */
  readonly shape: readonly [number, number];
  readonly dtype: FeatureType;
  readonly device: GpuDevice | null;
  readonly #memory: GpuBuffer | FeatureArray;
  readonly #views: TensorView[] = [];
  #released = false;

  /** @internal Created by feature stores. */
  constructor(
    memory: GpuBuffer | FeatureArray,
    device: GpuDevice | null,
    shape: readonly [number, number],
    dtype: FeatureType,
  ) {
    this.#memory = memory;
    this.device = device;
    this.shape = shape;
    this.dtype = dtype;
  }

  get byteLength(): number {
    return this.shape[0] * this.shape[1] * featureArray(this.dtype, 0).BYTES_PER_ELEMENT;
  }

  get isReleased(): boolean {
    return this.#released;
  }

  /** The device memory, for Skein's programs; null on the host. */
  get buffer(): GpuBuffer | null {
    this.#check();
    return this.device === null ? null : (this.#memory as GpuBuffer);
  }

  /** Returns a view for other libraries, without a copy. It is valid until the block is released. */
  view(): TensorView {
    this.#check();
    const { shape, dtype, device } = this;
    if (device === null) return TensorView.fromTyped(this.#memory as FeatureArray, shape, { dtype });
    device.flush();
    const view = TensorView.fromGpuBuffer((this.#memory as GpuBuffer).raw, device.raw, { shape, dtype });
    this.#views.push(view);
    return view;
  }

  /** Returns the rows in host memory. */
  async toHost(): Promise<FeatureArray> {
    this.#check();
    if (this.device === null) return this.#memory as FeatureArray;
    const bytes = await this.device.read(this.#memory as GpuBuffer, this.byteLength);
    return featureArray(this.dtype, this.shape[0] * this.shape[1], bytes);
  }

  /**
   * Returns the rows as a tensor, which outlives the block: on the device if `tensors`, the result of
   * `enableWebGpu(device)`, is given, else in host memory, which needs `toHost` for rows that are on a device. f32
   * only.
   */
  toTensor(tensors?: WebGpuTensorDevice): Tensor {
    this.#check();
    const { device, dtype, shape } = this;
    if (dtype !== 'f32') throw new DTypeError(expected('toTensor', 'rows of f32', 'dtype', dtype));
    if (device === null) {
      const rows = fromTypedArray(this.#memory as Float32Array, shape);
      return tensors === undefined ? rows : rows.to(tensors);
    }
    if (tensors?.gpu !== device)
      throw new DeviceError(
        'toTensor: expected the result of enableWebGpu for the device of these rows. Pass it, or read them with `await toHost()`.',
        { reason: 'mixed' },
      );
    return tensors.tensorOf(this.#memory as GpuBuffer, shape);
  }

  /** Frees the memory; throws while a tensor of another library uses it. Further calls do nothing. */
  release(): void {
    if (this.#released) return;
    for (const view of this.#views) view.release();
    this.#released = true;
    if (this.device !== null) (this.#memory as GpuBuffer).release();
  }

  [Symbol.dispose](): void {
    this.release();
  }

  #check(): void {
    if (!this.#released) return;
    throw new StateError(`FeatureBlock: expected rows in use, got [${this.shape}] after release().`);
  }
}

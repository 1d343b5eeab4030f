/**
 * Data exchange with TensorFlow.js, which the caller passes in.
 *
 * cpu: the tensor shares the memory of the view. wasm: TensorFlow.js copies into its memory. webgpu: the tensor shares the
 * buffer of the view if both are on one device. Other back ends get a copy, because they read host memory only when a tensor
 * is first used. The WebGPU back end reads a whole buffer regardless of the shape, so a buffer with spare bytes is copied to
 * one of the right size on the device; and it queues work, so a release flushes that queue first.
 */
import type { Tensor } from '../tensor/tensor.js';
import { StateError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type { GpuBufferLike, GpuDeviceLike } from './gpu-like.js';
import {
  type ConvertOptions,
  checkPeer,
  copyToPlainArray,
  hostElements,
  sourceView,
  unsupportedDTypeError,
  wrongDeviceError,
} from './peer.js';
import { TensorView } from './tensor-view.js';
import type { ViewDType } from './view-dtype.js';

export interface ToTfjsOptions extends ConvertOptions {
  /**
   * Share a GPU buffer that is larger than the elements, as buffers from a pool are, instead of copying it to size. For
   * tensors to compute with: reading such a tensor directly also returns the bytes after its elements.
   */
  readonly spare?: boolean;
}

/** A tensor of TensorFlow.js. */
export interface TfjsTensorLike {
  readonly shape: number[];
  readonly dtype: string;
  readonly dataId: object;
  readonly isDisposed: boolean;
  dataSync(): object;
  data(): Promise<object>;
  dataToGPU(): object;
  clone(): TfjsTensorLike;
  dispose(): void;
}

/** The module `@tensorflow/tfjs-core` (or `@tensorflow/tfjs`). */
export interface TfjsLike<T extends TfjsTensorLike = TfjsTensorLike> {
  // Parameters are `never` so that the types of any version match.
  tensor(values: never, shape: never, dtype: never): T;
  getBackend(): string;
  backend(): object;
  keep(tensor: never): object;
  slice(tensor: never, begin: never, size: never): object;
  reshape(tensor: never, shape: never): object;
}

/** Members of a back end that are used. */
interface TfjsBackend {
  readonly device?: GpuDeviceLike;
  refCount?(dataId: object): number;
  ensureCommandEncoderReady?(): void;
  endComputePassEncoder?(): void;
  submitQueue?(): void;
}

const tfjsDTypes: Readonly<Partial<Record<ViewDType, string>>> = {
  f32: 'float32',
  i32: 'int32',
  bool: 'bool',
};
const supported = Object.keys(tfjsDTypes) as ViewDType[];
const ours: Readonly<Record<string, ViewDType>> = { float32: 'f32', int32: 'i32', bool: 'bool' };
const needed = ['tensor', 'getBackend', 'backend', 'keep', 'slice', 'reshape'];

/**
 * Returns a tensor of TensorFlow.js's current back end with the elements of a view (or a copy of those of a Tensor).
 *
 * Dispose the tensor before releasing the view: releasing a view that owns memory which the tensor shares throws.
 *
 * @throws DTypeError for types that TensorFlow.js does not have, DeviceError for a view on another GPU device.
 * @example
 * const x = toTfjs(tf, view);
 * const y = model.predict(x);
 * x.dispose();
 * view.release();
 */
export function toTfjs<T extends TfjsTensorLike>(
  tf: TfjsLike<T>,
  source: TensorView | Tensor,
  options: ToTfjsOptions = {},
): T {
  checkOptionNames('toTfjs', options, { convert: true, spare: true });
  checkPeer('toTfjs', 'TensorFlow.js', tf, needed);
  const view = sourceView('toTfjs', source);
  if (view.device.type === 'webgpu') return makeGpuTensor(tf, view, view.device.gpuDevice, options);
  const { array, dtype, isCopy } = hostElements('toTfjs', 'TensorFlow.js', view, supported, options);
  const name = tf.getBackend();
  const shares = name === 'cpu' && !isCopy;
  const values = shares || isCopy || name === 'wasm' ? array : copyToPlainArray(array);
  const tensor = makeTensor(tf, values, view.shape, tfjsDTypes[dtype]);
  if (shares) view.beforeRelease(() => checkUnused(tf.backend() as TfjsBackend, tensor));
  return tensor;
}

/** Does as `toTfjs` for a view on any device: a view on another GPU is copied through host memory. */
export async function copyToTfjs<T extends TfjsTensorLike>(
  tf: TfjsLike<T>,
  source: TensorView | Tensor,
  options: ConvertOptions = {},
): Promise<T> {
  checkOptionNames('copyToTfjs', options, { convert: true });
  const view = sourceView('copyToTfjs', source);
  return toTfjs(tf, await view.toHost(), options);
}

/**
 * Returns a view of a tensor of TensorFlow.js's current back end. cpu: shares the memory of the tensor and keeps it alive
 * until the release; wasm: a copy; webgpu: a copy on the device, freed by the release.
 */
export function fromTfjs<T extends TfjsTensorLike>(tf: TfjsLike<T>, tensor: T): TensorView {
  checkPeer('fromTfjs', 'TensorFlow.js', tf, needed);
  if (tensor.isDisposed)
    throw new StateError('fromTfjs: expected a live tensor of TensorFlow.js, got one that was disposed.');
  const dtype = ours[tensor.dtype];
  if (dtype === undefined) throw unsupportedDTypeError('fromTfjs', 'Skein', tensor.dtype);
  const backend = tf.backend() as TfjsBackend;
  const shape = [...tensor.shape];
  if (backend.device !== undefined && dtype !== 'bool') {
    const data = gpuData(tensor);
    if (data !== null) {
      const { buffer, tensorRef } = data;
      const onRelease = () => tensorRef.dispose();
      return TensorView.fromGpuBuffer(buffer, backend.device, { shape, dtype, onRelease });
    }
  }
  const array = tensor.dataSync() as Float32Array | Int32Array | Uint8Array;
  if (tf.getBackend() !== 'cpu') return TensorView.fromTyped(array.slice(), shape, { dtype });
  // A second handle, which tidy() does not dispose, keeps the memory until the release.
  const held = tf.keep(tensor.clone() as never) as T;
  return TensorView.fromTyped(array, shape, { dtype, onRelease: () => held.dispose() });
}

function makeTensor<T extends TfjsTensorLike>(
  tf: TfjsLike<T>,
  values: object,
  shape: readonly number[],
  dtype: string | undefined,
): T {
  return tf.tensor(values as never, [...shape] as never, dtype as never);
}

function makeGpuTensor<T extends TfjsTensorLike>(
  tf: TfjsLike<T>,
  view: TensorView,
  gpuDevice: GpuDeviceLike,
  options: ToTfjsOptions,
): T {
  const buffer = view.data as GpuBufferLike;
  const backend = tf.backend() as TfjsBackend;
  if (backend.device !== gpuDevice) {
    const got =
      backend.device === undefined ? `one on a GPU (back end ${tf.getBackend()})` : 'one on another device';
    const advice = 'Use the device of TensorFlow.js, tf.backend().device, or `await copyToTfjs(tf, view)`.';
    throw wrongDeviceError('toTfjs', "a view on TensorFlow.js's device", got, advice);
  }
  const dtype = tfjsDTypes[view.dtype];
  if (dtype === undefined || dtype === 'bool')
    throw unsupportedDTypeError('toTfjs', 'TensorFlow.js on a GPU', view.dtype);
  if (view.size === 0) return makeTensor(tf, new Float32Array(0), view.shape, dtype);
  if (view.byteOffset === 0 && (options.spare === true || buffer.size === view.byteLength)) {
    const tensor = makeTensor(tf, { buffer, zeroCopy: true }, view.shape, dtype);
    view.beforeRelease(() => checkUnused(backend, tensor));
    return tensor;
  }
  return copyToSize(tf, backend, view, buffer, dtype);
}

/** Copies the elements of the view from a larger buffer to a new tensor, on the device. */
function copyToSize<T extends TfjsTensorLike>(
  tf: TfjsLike<T>,
  backend: TfjsBackend,
  view: TensorView,
  buffer: GpuBufferLike,
  dtype: string,
): T {
  const whole = makeTensor(tf, { buffer, zeroCopy: true }, [Math.floor(buffer.size / 4)], dtype);
  const slice = tf.slice(whole as never, [view.byteOffset / 4] as never, [view.size] as never) as T;
  const tensor = tf.reshape(slice as never, [...view.shape] as never) as T;
  slice.dispose();
  whole.dispose();
  flushQueue(backend);
  return tensor;
}

/** Throws if `tensor` or a reshaped copy of it is in use; otherwise submits queued work that reads the memory. */
function checkUnused(backend: TfjsBackend, tensor: TfjsTensorLike): void {
  if (!tensor.isDisposed || (backend.refCount?.(tensor.dataId) ?? 0) > 0) {
    throw new StateError(
      `release: expected no live tensor of TensorFlow.js on the memory of the view, got one of shape [${tensor.shape}]. ` +
        'Dispose it first, then release the view.',
    );
  }
  flushQueue(backend);
}

/** Submits the GPU work that TensorFlow.js has queued, which must happen before its inputs are overwritten. */
function flushQueue(backend: TfjsBackend): void {
  if (backend.submitQueue === undefined) return;
  backend.ensureCommandEncoderReady?.();
  backend.endComputePassEncoder?.();
  backend.submitQueue();
}

/** Returns the buffer of a tensor; null if its values are still on the host. */
function gpuData(tensor: TfjsTensorLike): { buffer: GpuBufferLike; tensorRef: TfjsTensorLike } | null {
  try {
    const data = tensor.dataToGPU() as { buffer?: GpuBufferLike; tensorRef: TfjsTensorLike };
    return data.buffer === undefined ? null : { buffer: data.buffer, tensorRef: data.tensorRef };
  } catch (error) {
    if (error instanceof Error && /on CPU/.test(error.message)) return null;
    throw error;
  }
}

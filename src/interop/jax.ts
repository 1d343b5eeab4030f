/**
 * Data exchange with jax-js, which the caller passes in.
 *
 * jax-js always copies: host memory into its memory, and on a GPU from buffer to buffer of one device (it cannot wrap a
 * buffer). So a view may be released as soon as `toJax` has returned. `fromJax` does not copy a GPU array. jax-js counts
 * references, and its functions consume their arguments; the functions here do not.
 */
import type { Tensor } from '../tensor/tensor.js';
import { DTypeError, expected, StateError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { convertArray } from './convert.js';
import { copySize, type GpuBufferLike, type GpuDeviceLike } from './gpu-like.js';
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
import { type ViewArray, type ViewDType, viewDTypes } from './view-dtype.js';

/** An array of jax-js. */
export interface JaxArrayLike {
  readonly shape: number[];
  readonly dtype: string;
  readonly device: string;
  readonly ref: this;
  readonly refCount: number;
  dataSync(): object;
  // A GPUBuffer; declared as object, so that the types of WebGPU are not needed.
  gpuBufferSync(): object;
  dispose(): void;
}

/** The module `@jax-js/jax`. */
export interface JaxLike<T extends JaxArrayLike = JaxArrayLike> {
  readonly numpy: {
    // Parameters are `never` so that the types of any version match.
    array(values: never, options: never): T;
    zeros(shape: number[], options: never): T;
  };
  defaultDevice(): string;
  getWebGPUDevice(): object;
}

export interface ToJaxOptions extends ConvertOptions {
  /** The jax-js device of the array. Default: that of jax-js for a view on the host, webgpu for one on a GPU. */
  readonly device?: 'cpu' | 'wasm' | 'webgpu' | 'webgl';
}

const jaxDTypes: Readonly<Partial<Record<ViewDType, string>>> = {
  f32: 'float32',
  f64: 'float64',
  f16: 'float16',
  i32: 'int32',
  u32: 'uint32',
  bool: 'bool',
};
const supported = Object.keys(jaxDTypes) as ViewDType[];

/** Returns Float16Array if the platform has it: jax-js needs it for f16, and to recognise f64. */
function halfArray(): (new (buffer: ArrayBufferLike, offset: number, length: number) => object) | undefined {
  return (globalThis as { Float16Array?: never }).Float16Array;
}

/**
 * Copies the elements of a view or a Tensor to a jax-js array. The view may be released immediately.
 *
 * @throws DTypeError for types that jax-js does not have (f16 and f64 also if the platform has no Float16Array),
 * DeviceError for a view on another GPU device.
 * @example
 * const x = toJax(jax, view);
 * view.release();
 */
export function toJax<T extends JaxArrayLike>(
  jax: JaxLike<T>,
  source: TensorView | Tensor,
  options: ToJaxOptions = {},
): T {
  checkOptionNames('toJax', options, { convert: true, device: true });
  checkPeer('toJax', 'jax-js', jax, ['defaultDevice', 'getWebGPUDevice']);
  const view = sourceView('toJax', source);
  if (view.device.type === 'webgpu') return copyOnDevice(jax, view, view.device.gpuDevice);
  const usable = halfArray() === undefined ? supported.filter((t) => t !== 'f64' && t !== 'f16') : supported;
  const elements = hostElements('toJax', 'jax-js', view, usable, options);
  const dtype = jaxDTypes[elements.dtype];
  const device = options.device === undefined ? {} : { device: options.device };
  if (view.size === 0) return jax.numpy.zeros([...view.shape], { dtype, ...device } as never);
  let values: object = elements.array;
  // A GPU queue does not accept shared memory.
  if (!(elements.array.buffer instanceof ArrayBuffer)) values = copyToPlainArray(elements.array);
  if (elements.dtype === 'bool') values = convertArray('toJax', elements.array, 'bool', 'i32');
  const half = halfArray();
  if (elements.dtype === 'f16' && half !== undefined) {
    const bits = values as Uint16Array;
    values = new half(bits.buffer, bits.byteOffset, bits.length);
  }
  return jax.numpy.array(values as never, { shape: [...view.shape], dtype, ...device } as never);
}

/**
 * Returns a view of a jax-js array, which remains usable. On a GPU the view shares the buffer of the array, keeps it alive
 * until its release, and must not be written; elsewhere it is a copy.
 */
export function fromJax<T extends JaxArrayLike>(jax: JaxLike<T>, array: T): TensorView {
  checkPeer('fromJax', 'jax-js', jax, ['defaultDevice', 'getWebGPUDevice']);
  if (array.refCount <= 0)
    throw new StateError(
      'fromJax: expected a live jax-js array, got one without references. Pass `array.ref` to functions that consume it.',
    );
  const dtype = supported.find((name) => jaxDTypes[name] === array.dtype);
  if (dtype === undefined) throw unsupportedDTypeError('fromJax', 'Skein', array.dtype);
  const shape = [...array.shape];
  if (array.device === 'webgpu' && dtype !== 'bool') {
    const buffer = array.ref.gpuBufferSync() as GpuBufferLike;
    const held = array.ref;
    const device = jax.getWebGPUDevice() as GpuDeviceLike;
    return TensorView.fromGpuBuffer(buffer, device, { shape, dtype, onRelease: () => held.dispose() });
  }
  if (array.device === 'webgpu' || array.device === 'webgl')
    throw wrongDeviceError(
      'fromJax',
      'numbers on the CPU or on WebGPU',
      `${array.dtype} on ${array.device}`,
      'Use `await array.ref.data()`.',
    );
  return TensorView.fromTyped(toViewArray(array.ref.dataSync() as ViewArray, dtype), shape, { dtype });
}

/** Returns the device of jax-js; replaces its error by one with advice on the view. */
function deviceOf(jax: JaxLike): GpuDeviceLike {
  try {
    return jax.getWebGPUDevice() as GpuDeviceLike;
  } catch (error) {
    const got = `one on a GPU, and from jax-js the error "${(error as Error).message}"`;
    const advice = "Call `await jax.init('webgpu')` and use its device, or use `await view.toHost()`.";
    throw wrongDeviceError('toJax', "a view on jax-js's device", got, advice);
  }
}

function copyOnDevice<T extends JaxArrayLike>(
  jax: JaxLike<T>,
  view: TensorView,
  gpuDevice: GpuDeviceLike,
): T {
  const source = view.data as GpuBufferLike;
  const device = deviceOf(jax);
  if (device !== gpuDevice)
    throw wrongDeviceError(
      'toJax',
      "a view on jax-js's device",
      'one on another device',
      'Use the device of jax-js, jax.getWebGPUDevice(), or `await view.toHost()`.',
    );
  const dtype = jaxDTypes[view.dtype];
  if (dtype === undefined || view.dtype === 'bool' || view.dtype === 'f64')
    throw new DTypeError(expected('toJax', 'f32, f16, i32 or u32', 'dtype of a view on a GPU', view.dtype));
  const array = jax.numpy.zeros([...view.shape], { dtype, device: 'webgpu' } as never);
  if (view.size === 0) return array;
  const target = array.ref.gpuBufferSync() as GpuBufferLike;
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(source, view.byteOffset, target, 0, copySize(view.byteLength));
  device.queue.submit([encoder.finish()]);
  return array;
}

/** Converts bool from 32-bit numbers to bytes and f16 from Float16Array to bits. */
function toViewArray(array: ViewArray, dtype: ViewDType): ViewArray {
  if (dtype === 'bool') return Uint8Array.from(array as Int32Array, (flag) => (flag === 0 ? 0 : 1));
  const { array: kind } = viewDTypes[dtype];
  return array instanceof kind ? array : new kind(array.buffer, array.byteOffset, array.length);
}

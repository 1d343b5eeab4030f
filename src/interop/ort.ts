/**
 * Data exchange with ONNX Runtime (onnxruntime-web or onnxruntime-node), which the caller passes in.
 *
 * On the host a tensor shares the memory of the view, on a GPU its buffer. ONNX Runtime creates its own device and accepts
 * no other, so the view must be on that device: `await ort.env.webgpu.device`, once a session exists.
 */
import type { Tensor } from '../tensor/tensor.js';
import { StateError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { convertArray } from './convert.js';
import type { GpuBufferLike, GpuDeviceLike } from './gpu-like.js';
import {
  type ConvertOptions,
  checkPeer,
  hostElements,
  sourceView,
  unsupportedDTypeError,
  wrongDeviceError,
} from './peer.js';
import { TensorView } from './tensor-view.js';
import { type ViewArray, type ViewDType, viewDTypes } from './view-dtype.js';

/** A tensor of ONNX Runtime. */
export interface OrtTensorLike {
  readonly type: string;
  readonly dims: readonly number[];
  readonly location: string;
  readonly data: unknown;
  readonly gpuBuffer: unknown;
  dispose(): void;
}

/** The module `onnxruntime-web` or `onnxruntime-node`. */
export interface OrtLike<T extends OrtTensorLike = OrtTensorLike> {
  readonly Tensor: {
    // Parameters are `never` so that the types of any version match.
    new (type: never, data: never, dims?: readonly number[]): T;
    fromGpuBuffer?(buffer: never, options: never): unknown;
  };
}

export interface ToOrtOptions extends ConvertOptions {
  /** Pass ids as int64, as most exported models require; copies i32 and u32 views on the host. */
  readonly ids?: 'i64';
  /** Disposing the tensor releases the view (GPU only: on the host the garbage collector frees the memory). */
  readonly release?: boolean;
  /** The device of ONNX Runtime, to be checked against the view's. */
  readonly gpuDevice?: GpuDeviceLike;
}

const ortDTypes: Readonly<Partial<Record<ViewDType, string>>> = {
  f32: 'float32',
  f64: 'float64',
  f16: 'float16',
  i32: 'int32',
  u32: 'uint32',
  i64: 'int64',
  u8: 'uint8',
  bool: 'bool',
};
const supported = Object.keys(ortDTypes) as ViewDType[];
const onGpu: readonly ViewDType[] = ['f32', 'f16', 'i32', 'i64', 'u32', 'u8', 'bool'];

/**
 * Returns a tensor of ONNX Runtime that shares the memory of a view (or a copy of that of a Tensor). Release the view after
 * the last run that uses the tensor.
 *
 * @throws DTypeError for bf16 without `convert`, DeviceError for a view on a device other than `gpuDevice`.
 * @example
 * const { logits } = await session.run({ x: toOrt(ort, x), edge_index: toOrt(ort, edges, { ids: 'i64' }) });
 */
export function toOrt<T extends OrtTensorLike>(
  ort: OrtLike<T>,
  source: TensorView | Tensor,
  options: ToOrtOptions = {},
): T {
  checkOptionNames('toOrt', options, { convert: true, ids: true, release: true, gpuDevice: true });
  checkPeer('toOrt', 'ONNX Runtime', ort, ['Tensor']);
  const view = sourceView('toOrt', source);
  if (view.device.type === 'webgpu') return makeGpuTensor(ort, view, view.device.gpuDevice, options);
  const { array, dtype } = hostElements('toOrt', 'ONNX Runtime', view, supported, options);
  if (options.ids === 'i64' && dtype !== 'i64')
    return makeTensor(ort, 'int64', convertArray('toOrt', array, dtype, 'i64'), view.shape);
  return makeTensor(ort, ortDTypes[dtype], array, view.shape);
}

/**
 * Returns a view that shares the memory of a tensor of ONNX Runtime, on the host or on the GPU. The tensor owns the memory:
 * dispose it after releasing the view, or pass `{ dispose: true }` to have the release do it.
 *
 * @param options.gpuDevice the device of a tensor on the GPU: `await ort.env.webgpu.device`.
 */
export function fromOrt(
  tensor: OrtTensorLike,
  options: { readonly gpuDevice?: GpuDeviceLike; readonly dispose?: boolean } = {},
): TensorView {
  checkOptionNames('fromOrt', options, { gpuDevice: true, dispose: true });
  const dtype = supported.find((name) => ortDTypes[name] === tensor.type);
  if (dtype === undefined) throw unsupportedDTypeError('fromOrt', 'Skein', tensor.type);
  const shape = [...tensor.dims];
  const onRelease = options.dispose === true ? { onRelease: () => tensor.dispose() } : {};
  if (tensor.location === 'none')
    throw new StateError('fromOrt: expected a live tensor of ONNX Runtime, got one that was disposed.');
  if (tensor.location === 'gpu-buffer') {
    if (options.gpuDevice === undefined)
      throw wrongDeviceError(
        'fromOrt',
        'the device of ONNX Runtime for a tensor on a GPU',
        'none',
        'Pass { gpuDevice: await ort.env.webgpu.device }.',
      );
    return TensorView.fromGpuBuffer(tensor.gpuBuffer as GpuBufferLike, options.gpuDevice, {
      ...{ shape, dtype },
      ...onRelease,
    });
  }
  if (tensor.location !== 'cpu' && tensor.location !== 'cpu-pinned')
    throw wrongDeviceError(
      'fromOrt',
      'a tensor on the host or in a GPU buffer',
      tensor.location,
      'Use getData() first.',
    );
  return TensorView.fromTyped(toViewArray(tensor.data as ViewArray, dtype), shape, { dtype, ...onRelease });
}

function makeTensor<T extends OrtTensorLike>(
  ort: OrtLike<T>,
  type: string | undefined,
  array: ViewArray,
  shape: readonly number[],
): T {
  return new ort.Tensor(type as never, array as never, [...shape]);
}

function makeGpuTensor<T extends OrtTensorLike>(
  ort: OrtLike<T>,
  view: TensorView,
  gpuDevice: GpuDeviceLike,
  options: ToOrtOptions,
): T {
  const buffer = view.data;
  const { fromGpuBuffer } = ort.Tensor;
  if (fromGpuBuffer === undefined || (options.gpuDevice !== undefined && options.gpuDevice !== gpuDevice)) {
    const got =
      fromGpuBuffer === undefined ? 'a library without support for GPU buffers' : 'one on another device';
    throw wrongDeviceError(
      'toOrt',
      "a view on ONNX Runtime's device",
      got,
      'Use `await view.toHost()` first.',
    );
  }
  if (!onGpu.includes(view.dtype) || (options.ids === 'i64' && view.dtype !== 'i64'))
    throw unsupportedDTypeError(
      'toOrt',
      'ONNX Runtime on a GPU',
      options.ids === 'i64' ? `${view.dtype} as int64` : view.dtype,
    );
  if (view.byteOffset !== 0)
    throw wrongDeviceError(
      'toOrt',
      'a buffer without an offset',
      `an offset of ${view.byteOffset} bytes`,
      'Copy it first.',
    );
  const settings = {
    dataType: ortDTypes[view.dtype],
    dims: [...view.shape],
    download: () => view.read(),
    ...(options.release === true ? { dispose: () => view.release() } : {}),
  };
  return fromGpuBuffer.call(ort.Tensor, buffer as never, settings as never) as T;
}

/** Converts float16 from Float16Array, if the platform has it, to bits. */
function toViewArray(array: ViewArray, dtype: ViewDType): ViewArray {
  const { array: kind } = viewDTypes[dtype];
  return array instanceof kind ? array : new kind(array.buffer, array.byteOffset, array.length);
}

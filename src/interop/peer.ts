/** Functions shared by the adapters to other libraries: element types, host memory, checks. */
import { Tensor } from '../tensor/methods.js';
import { DeviceError, DTypeError, describe, expected, ValueError } from '../util/errors.js';
import { convertArray, findConversion } from './convert.js';
import { TensorView } from './tensor-view.js';
import type { ViewArray, ViewDType } from './view-dtype.js';

export interface ConvertOptions {
  /**
   * Convert an element type that the other library does not have to one that it has (f64, f16 and bf16 to f32; u8, u32 and
   * i64 to i32) instead of throwing. A number that does not fit still throws.
   */
  readonly convert?: boolean;
}

/** Elements on the host in a type of the other library. */
export interface HostElements {
  readonly array: ViewArray;
  readonly dtype: ViewDType;
  /** Whether `array` is not the memory of the view. */
  readonly isCopy: boolean;
}

/** Returns the view of an argument; a Tensor is copied, so that no memory is shared by accident. */
export function sourceView(where: string, source: unknown): TensorView {
  if (source instanceof TensorView) return source;
  if (source instanceof Tensor && source.device !== null)
    throw wrongDeviceError(
      where,
      'a tensor on the CPU',
      `one on ${source.device.name}`,
      'Pass a view of it, TensorView.fromTensor(t), and release it afterwards.',
    );
  if (source instanceof Tensor)
    return TensorView.fromTyped(source.dataSync().slice(), source.shape, { dtype: source.dtype });
  throw new ValueError(expected(where, 'a TensorView or a Tensor', 'source', source));
}

/** Returns the elements of a CPU view in a type that `peer` has. */
export function hostElements(
  where: string,
  peer: string,
  view: TensorView,
  supported: readonly ViewDType[],
  options: ConvertOptions,
): HostElements {
  const array = view.toTyped();
  if (supported.includes(view.dtype)) return { array, dtype: view.dtype, isCopy: view.strides !== undefined };
  const target = findConversion(view.dtype, supported);
  if (target === undefined || options.convert !== true)
    throw unsupportedDTypeError(where, peer, view.dtype, target);
  return { array: convertArray(where, array, view.dtype, target), dtype: target, isCopy: true };
}

export function unsupportedDTypeError(
  where: string,
  peer: string,
  dtype: string,
  target?: ViewDType,
): DTypeError {
  const advice = target === undefined ? '' : `Pass { convert: true } to convert it to ${target}.`;
  return new DTypeError(expected(where, `an element type that ${peer} has`, 'dtype', dtype, advice));
}

export function wrongDeviceError(where: string, what: string, got: string, advice: string): DeviceError {
  return new DeviceError(`${where}: expected ${what} for source, got ${got}. ${advice}`, {
    reason: 'wrong-device',
  });
}

/** Copies an array to unshared memory: GPU queues reject shared memory, and other libraries may keep the array. */
export function copyToPlainArray(array: ViewArray): ViewArray {
  if (array.buffer instanceof ArrayBuffer) return array.slice();
  const bytes = new Uint8Array(array.byteLength);
  bytes.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  const kind = array.constructor as new (buffer: ArrayBuffer) => ViewArray;
  return new kind(bytes.buffer);
}

/** Throws if a library lacks a method that the adapter needs. */
export function checkPeer(where: string, peer: string, given: unknown, methods: readonly string[]): void {
  const object = given as Record<string, unknown> | null | undefined;
  for (const name of methods) {
    if (typeof object?.[name] !== 'function')
      throw new ValueError(
        `${where}: expected ${peer} for the first argument, got ${describe(given)} without ${name}(). ` +
          `Pass the module itself (import * as …).`,
      );
  }
}

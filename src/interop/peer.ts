/** What the adapters to other libraries share: which element type arrives, from which memory. */
import { Tensor } from '../tensor/methods.js';
import { DeviceError, DTypeError, describe, expected, ValueError } from '../util/errors.js';
import { convertArray, convertible } from './convert.js';
import { TensorView } from './tensor-view.js';
import type { ViewArray, ViewDType } from './view-dtype.js';

export interface ConvertOptions {
  /**
   * Convert an element type that the other library does not have to one that it has (f64, f16 and bf16 to f32; u8, u32 and
   * i64 to i32) instead of refusing it. A number that does not fit is refused all the same.
   */
  readonly convert?: boolean;
}

/** The elements on the host and their type as the other library has it. */
export interface HostElements {
  readonly array: ViewArray;
  readonly dtype: ViewDType;
  /** `array` is not the memory of the view. */
  readonly isCopy: boolean;
}

/** The view of an argument; a Tensor stands for a copy of its elements, so that no memory is shared by accident. */
export function sourceView(where: string, source: unknown): TensorView {
  if (source instanceof TensorView) return source;
  if (source instanceof Tensor && source.device !== null)
    throw wrongDevice(
      where,
      'a tensor on the CPU',
      `one on ${source.device.name}`,
      'Pass a view of it, TensorView.fromTensor(t), and release it afterwards.',
    );
  if (source instanceof Tensor)
    return TensorView.fromTyped(source.dataSync().slice(), source.shape, { dtype: source.dtype });
  throw new ValueError(expected(where, 'a TensorView or a Tensor', 'source', source));
}

/** Elements of a CPU view in a type that `peer` has. */
export function hostElements(
  where: string,
  peer: string,
  view: TensorView,
  supported: readonly ViewDType[],
  options: ConvertOptions,
): HostElements {
  const array = view.toTyped();
  if (supported.includes(view.dtype)) return { array, dtype: view.dtype, isCopy: view.strides !== undefined };
  const target = convertible(view.dtype, supported);
  if (target === undefined || options.convert !== true) throw noSuchType(where, peer, view.dtype, target);
  return { array: convertArray(where, array, view.dtype, target), dtype: target, isCopy: true };
}

export function noSuchType(where: string, peer: string, dtype: string, target?: ViewDType): DTypeError {
  const advice = target === undefined ? '' : `Pass { convert: true } to hand it over as ${target}.`;
  return new DTypeError(expected(where, `an element type that ${peer} has`, 'dtype', dtype, advice));
}

export function wrongDevice(where: string, what: string, got: string, advice: string): DeviceError {
  return new DeviceError(`${where}: expected ${what} for source, got ${got}. ${advice}`, {
    reason: 'wrong-device',
  });
}

/** Memory that other threads may change must not reach a GPU queue, and other libraries may keep what they are given. */
export function ownPlainArray(array: ViewArray): ViewArray {
  if (array.buffer instanceof ArrayBuffer) return array.slice();
  const bytes = new Uint8Array(array.byteLength);
  bytes.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  const kind = array.constructor as new (buffer: ArrayBuffer) => ViewArray;
  return new kind(bytes.buffer);
}

/** Refuses a library that is not what the adapter needs, before it fails in the middle. */
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

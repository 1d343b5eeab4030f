/**
 * Element types of views: those of Skein's tensors, and those that only other libraries compute with (u32, i64, bool). f16
 * and bf16 are stored as Uint16Array, bool as bytes of 0 and 1.
 */
import { DTypeError, expected, ValueError } from '../util/errors.js';

export type ViewDType = 'f32' | 'f64' | 'f16' | 'bf16' | 'i32' | 'u32' | 'i64' | 'u8' | 'bool';

export type ViewArray =
  | Float32Array
  | Float64Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | Uint8Array;

interface ViewDTypeInfo {
  readonly bytes: number;
  readonly array: { new (buffer: ArrayBufferLike, byteOffset: number, length: number): ViewArray };
}

export const viewDTypes: Readonly<Record<ViewDType, ViewDTypeInfo>> = {
  f32: { bytes: 4, array: Float32Array },
  f64: { bytes: 8, array: Float64Array },
  f16: { bytes: 2, array: Uint16Array },
  bf16: { bytes: 2, array: Uint16Array },
  i32: { bytes: 4, array: Int32Array },
  u32: { bytes: 4, array: Uint32Array },
  i64: { bytes: 8, array: BigInt64Array },
  u8: { bytes: 1, array: Uint8Array },
  bool: { bytes: 1, array: Uint8Array },
};

export function checkViewDType(where: string, dtype: unknown): ViewDType {
  if (typeof dtype !== 'string' || !Object.hasOwn(viewDTypes, dtype)) {
    throw new ValueError(expected(where, `one of ${Object.keys(viewDTypes).join(', ')}`, 'dtype', dtype));
  }
  return dtype as ViewDType;
}

/** Returns the element type of a typed array; a Uint16Array is ambiguous (f16 or bf16) and throws. */
export function viewDTypeOf(where: string, array: unknown): ViewDType {
  if (array instanceof Float32Array) return 'f32';
  if (array instanceof Float64Array) return 'f64';
  if (array instanceof Int32Array) return 'i32';
  if (array instanceof Uint32Array) return 'u32';
  if (array instanceof BigInt64Array) return 'i64';
  if (array instanceof Uint8Array) return 'u8';
  throw new DTypeError(
    expected(
      where,
      'Float32Array, Float64Array, Int32Array, Uint32Array, BigInt64Array or Uint8Array',
      'data',
      array,
      'Name the dtype for a Uint16Array.',
    ),
  );
}

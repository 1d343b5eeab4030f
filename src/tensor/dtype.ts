/**
 * Element types. f32 is for computing, f64 for gradient checks, i32 for ids, u8 for flags and bytes; f16 and bf16 are
 * for storage only (as Uint16Array; they are cast to f32 before any arithmetic).
 */
import { storageCode, type TypedArray } from '../native/index.js';
import { DTypeError, expected, ValueError } from '../util/errors.js';

export type DType = 'f32' | 'f64' | 'i32' | 'u8' | 'f16' | 'bf16';
export type FloatDType = 'f32' | 'f64';

interface DTypeInfo {
  readonly bytes: number;
  readonly code: number;
  readonly array: { new (buffer: ArrayBufferLike, byteOffset: number, length: number): TypedArray };
}

export const dtypes: Readonly<Record<DType, DTypeInfo>> = {
  f32: { bytes: 4, code: storageCode.f32, array: Float32Array },
  f64: { bytes: 8, code: storageCode.f64, array: Float64Array },
  i32: { bytes: 4, code: storageCode.i32, array: Int32Array },
  u8: { bytes: 1, code: storageCode.u8, array: Uint8Array },
  f16: { bytes: 2, code: storageCode.f16, array: Uint16Array },
  bf16: { bytes: 2, code: storageCode.bf16, array: Uint16Array },
};

export function isFloat(dtype: DType): dtype is FloatDType {
  return dtype === 'f32' || dtype === 'f64';
}

/** Returns the element type of a typed array; throws for Uint16Array, which is ambiguous. */
export function dtypeOfArray(array: TypedArray): DType {
  if (array instanceof Float32Array) return 'f32';
  if (array instanceof Float64Array) return 'f64';
  if (array instanceof Int32Array) return 'i32';
  if (array instanceof Uint8Array) return 'u8';
  throw new DTypeError(
    expected(
      'tensor',
      'Float32Array, Float64Array, Int32Array or Uint8Array',
      'data',
      array,
      'Name the dtype for others.',
    ),
  );
}

export function checkDType(where: string, dtype: unknown): DType {
  if (typeof dtype !== 'string' || !Object.hasOwn(dtypes, dtype)) {
    throw new ValueError(expected(where, `one of ${Object.keys(dtypes).join(', ')}`, 'dtype', dtype));
  }
  return dtype as DType;
}

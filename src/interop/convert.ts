/**
 * Conversion between the element types of two libraries, always into new memory. Integers that do not fit throw instead of
 * wrapping; f64 to f32 rounds to nearest.
 */
import type { TypedArray } from '../native/index.js';
import { cast, fromTypedArray, scope } from '../tensor/index.js';
import { DTypeError, expected, ValueError } from '../util/errors.js';
import type { ViewArray, ViewDType } from './view-dtype.js';

/** Targets of each type. */
const targets: Readonly<Record<ViewDType, readonly ViewDType[]>> = {
  f32: [],
  f64: ['f32'],
  f16: ['f32'],
  bf16: ['f32'],
  i32: ['i64'],
  u32: ['i32', 'i64'],
  i64: ['i32'],
  u8: ['i32', 'f32'],
  bool: ['i32', 'f32', 'u8'],
};

/** Returns the first of `wanted` that a type can be converted to. */
export function findConversion(from: ViewDType, wanted: readonly ViewDType[]): ViewDType | undefined {
  return targets[from].find((to) => wanted.includes(to));
}

export function convertArray(where: string, array: ViewArray, from: ViewDType, to: ViewDType): ViewArray {
  if (!targets[from].includes(to))
    throw new DTypeError(expected(where, `a dtype that converts to ${to}`, 'dtype', from));
  if (from === 'f16' || from === 'bf16') return widen(array as Uint16Array, from);
  if (to === 'f32') return Float32Array.from(array as Float64Array);
  if (to === 'u8') return Uint8Array.from(array as Uint8Array);
  if (to === 'i64') return BigInt64Array.from(array as Int32Array, BigInt);
  const out = new Int32Array(array.length);
  for (let i = 0; i < array.length; i++) {
    const value = Number(array[i]);
    out[i] = value;
    if (out[i] !== value)
      throw new ValueError(expected(where, 'a number that fits i32', `element ${i}`, value), { index: i });
  }
  return out;
}

function widen(array: Uint16Array, from: 'f16' | 'bf16'): Float32Array {
  const out = new Float32Array(array.length);
  scope(() => {
    const wide = cast(fromTypedArray(array as TypedArray, [array.length], { dtype: from }), 'f32');
    out.set(wide.dataSync<Float32Array>());
  });
  return out;
}

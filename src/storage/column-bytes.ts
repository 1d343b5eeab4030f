/**
 * Converts values of a column to the bytes in its file and back. Half precision is rounded to nearest, ties to even.
 */
import { kernels, storageCode } from '../native/index.js';
import type { TableColumn } from './table-manifest.js';

export function encodeColumn(values: Float32Array, { dtype }: TableColumn): Uint8Array {
  if (dtype === 'f32') return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const half = new Uint16Array(values.length);
  kernels().cast(values, storageCode.f32, half, storageCode[dtype], values.length);
  return new Uint8Array(half.buffer);
}

/** Decodes a column; f32 values share the memory of `bytes`, which must start at a multiple of four. */
export function decodeColumn(bytes: Uint8Array, { dtype }: TableColumn): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes;
  if (dtype === 'f32') return new Float32Array(buffer, byteOffset, byteLength / 4);
  const values = new Float32Array(byteLength / 2);
  const half = new Uint16Array(buffer, byteOffset, values.length);
  kernels().cast(half, storageCode[dtype], values, storageCode.f32, values.length);
  return values;
}

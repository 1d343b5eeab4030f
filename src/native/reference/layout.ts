/**
 * Twins of the layout kernels: strided copies and conversions between storage types.
 */
import { storageTypes } from '../kernels.js';
import type { TypedArray } from '../types.js';
import { forEachPair } from './walk.js';

export function copyStrided(src: TypedArray, dst: TypedArray, _elementBytes: number, dims: Int32Array): void {
  const rank = dims[0];
  let n = 1;
  for (let axis = 0; axis < rank; axis++) n *= dims[1 + axis];
  forEachPair(n, dims, (_i, p, q) => {
    dst[q] = src[p];
  });
}

export function cast(src: TypedArray, srcType: number, dst: TypedArray, dstType: number, n: number): void {
  const from = storageTypes[srcType];
  const to = storageTypes[dstType];
  const read = from === 'f16' ? fromHalf : from === 'bf16' ? fromBrain : (v: number): number => v;
  const write = to === 'f16' ? toHalf : to === 'bf16' ? toBrain : to === 'i32' ? toInt32 : to === 'u8' ? toByte : (v: number): number => v;
  for (let i = 0; i < n; i++) dst[i] = write(read(src[i]));
}

const floatBits = new Float32Array(1);
const wordBits = new Uint32Array(floatBits.buffer);

function toInt32(v: number): number {
  return Number.isNaN(v) ? 0 : Math.min(2147483647, Math.max(-2147483648, Math.trunc(v)));
}

function toByte(v: number): number {
  return Number.isNaN(v) ? 0 : Math.min(255, Math.max(0, Math.trunc(v)));
}

function fromBrain(bits: number): number {
  wordBits[0] = bits << 16;
  return floatBits[0];
}

/** Through f32, then round to nearest even; NaN keeps a set bit of its payload. */
function toBrain(v: number): number {
  floatBits[0] = v;
  const word = wordBits[0];
  if (Number.isNaN(v)) return (word >>> 16) | 0x40;
  return (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
}

function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

function toHalf(v: number): number {
  const x = Math.fround(v);
  const sign = Object.is(x, -0) || x < 0 ? 0x8000 : 0;
  const a = Math.abs(x);
  if (Number.isNaN(x)) return sign | 0x7e00;
  if (a >= 65520) return sign | 0x7c00;
  if (a < 2 ** -14) return sign | roundEven(a * 2 ** 24);
  const exponent = Math.floor(Math.log2(a));
  // A fraction that rounds up to 2048 carries into the exponent by itself.
  return sign + ((exponent + 14) << 10) + roundEven(a * 2 ** (10 - exponent));
}

function roundEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}

/**
 * Decodes NumPy's element types to typed arrays, for npy files and pickled arrays.
 *
 * Any byte order is read; Fortran order becomes C order (`checkNumpyBytes`, `plainNumpyBytes`). `decodeNumpyArray`
 * returns 64-bit integers as Float64Array (beyond ±2^53 it throws), half floats as Float32Array, booleans as Uint8Array
 * (0 or 1), fixed-width text as strings. Complex numbers, dates, records and Python objects are rejected.
 */
import { FormatError } from '../util/errors.js';

export type NumpyData =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | readonly string[];

export interface NumpyArray {
  /** Kind and bytes of an element in the file, such as `f4`, `i8`, `b1`, `U19`. */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** In C order. */
  readonly data: NumpyData;
}

/** An element type: kind letter, bytes of one element (characters for `U`), byte order. */
export interface NumpyType {
  readonly kind: string;
  readonly size: number;
  readonly littleEndian: boolean;
}

const supported = /^([<>|=]?)(b1|\?|i1|i2|i4|i8|u1|u2|u4|u8|f2|f4|f8|[SU]\d{1,9})$/;

/** NumPy's limit. */
const maxAxes = 64;

/** Reads a type string such as `<f4`, `|b1`, `>i8`, `<U19`; null if it is not supported. */
export function parseNumpyType(text: string): NumpyType | null {
  const match = supported.exec(text);
  if (match === null) return null;
  const name = match[2] === '?' ? 'b1' : match[2];
  return { kind: name[0], size: Number(name.slice(1)), littleEndian: match[1] !== '>' };
}

/** Returns the bytes of one element in the file. */
export function numpyTypeBytes(type: NumpyType): number {
  return type.kind === 'U' ? type.size * 4 : type.size;
}

/** Decodes bytes that hold exactly the elements of an array; `where` names the file in messages. */
export function decodeNumpyArray(
  where: string,
  type: NumpyType,
  shape: readonly number[],
  bytes: Uint8Array,
  fortranOrder: boolean,
): NumpyArray {
  const count = checkNumpyBytes(where, type, shape, bytes);
  const dtype = `${type.kind}${type.size}`;
  if (type.kind === 'S' || type.kind === 'U') {
    const ordered = fortranOrder ? toRowMajor(bytes, numpyTypeBytes(type), shape) : bytes;
    return { dtype, shape, data: decodeText(where, type, ordered, count) };
  }
  return {
    dtype,
    shape,
    data: decodeNumbers(where, type, plainNumpyBytes(type, shape, bytes, fortranOrder)),
  };
}

/** Throws if `bytes` are not exactly the elements of an array; returns the number of elements. */
export function checkNumpyBytes(
  where: string,
  type: NumpyType,
  shape: readonly number[],
  bytes: Uint8Array,
): number {
  const count = shape.reduce((product, side) => product * side, 1);
  const needed = count * numpyTypeBytes(type);
  if ((needed === 0 && count > 0) || shape.length > maxAxes) {
    // Neither takes bytes in the file, so a small file could cause any amount of work.
    const got = `${type.kind}${type.size} with ${count} elements on ${shape.length} axes`;
    throw new FormatError(
      `${where}: expected elements of at least one byte on at most ${maxAxes} axes, got ${got}.`,
      { path: where },
    );
  }
  if (bytes.length !== needed) {
    throw new FormatError(
      `${where}: expected ${needed} bytes for an array of shape [${shape.join(', ')}] and type ${type.kind}${type.size}, got ${bytes.length}. The file is corrupt or truncated.`,
      { path: where },
    );
  }
  return count;
}

/** Copies the elements in C order, little-endian and aligned; the copy does not keep a large file in memory. */
export function plainNumpyBytes(
  type: NumpyType,
  shape: readonly number[],
  bytes: Uint8Array,
  fortranOrder: boolean,
): Uint8Array<ArrayBuffer> {
  const own = fortranOrder ? toRowMajor(bytes, type.size, shape) : new Uint8Array(bytes);
  if (!type.littleEndian) swapBytes(own, type.size);
  return own;
}

function decodeNumbers(where: string, type: NumpyType, own: Uint8Array<ArrayBuffer>): NumpyData {
  const { buffer } = own;
  switch (`${type.kind}${type.size}`) {
    case 'f4':
      return new Float32Array(buffer);
    case 'f8':
      return new Float64Array(buffer);
    case 'f2':
      return Float32Array.from(new Uint16Array(buffer), halfToFloat);
    case 'i1':
      return new Int8Array(buffer);
    case 'i2':
      return new Int16Array(buffer);
    case 'i4':
      return new Int32Array(buffer);
    case 'i8':
      return toSafeIntegers(where, new BigInt64Array(buffer));
    case 'u2':
      return new Uint16Array(buffer);
    case 'u4':
      return new Uint32Array(buffer);
    case 'u8':
      return toSafeIntegers(where, new BigUint64Array(buffer));
    case 'b1':
      return own.map((value) => (value === 0 ? 0 : 1));
    default:
      return own;
  }
}

function swapBytes(bytes: Uint8Array, size: number): void {
  if (size === 1) return;
  for (let start = 0; start < bytes.length; start += size) bytes.subarray(start, start + size).reverse();
}

function toSafeIntegers(where: string, values: BigInt64Array | BigUint64Array): Float64Array {
  // Read as two 32-bit words: a BigInt per element is ten times slower.
  const signed = values instanceof BigInt64Array;
  const low = new Uint32Array(values.buffer);
  const high = signed ? new Int32Array(values.buffer) : low;
  const out = new Float64Array(values.length);
  for (let i = 0; i < out.length; i++) {
    const value = high[2 * i + 1] * 4294967296 + low[2 * i];
    if (!Number.isSafeInteger(value)) {
      throw new FormatError(
        `${where}: expected whole numbers within ±2^53 for element ${i}, got ${values[i]}.`,
        { path: where, index: i },
      );
    }
    out[i] = value;
  }
  return out;
}

/** Converts a number of IEEE 754 half precision. */
function halfToFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Decodes text that is padded with zero characters to a fixed width. */
function decodeText(where: string, type: NumpyType, bytes: Uint8Array, count: number): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const step = type.kind === 'U' ? 4 : 1;
  return Array.from({ length: count }, (_, i) => {
    const points: number[] = [];
    for (let c = 0; c < type.size; c++) {
      const at = (i * type.size + c) * step;
      points.push(step === 4 ? view.getUint32(at, type.littleEndian) : bytes[at]);
    }
    while (points.length > 0 && points[points.length - 1] === 0) points.pop();
    const bad = points.find((point) => point > 0x10ffff);
    if (bad !== undefined) {
      throw new FormatError(`${where}: expected Unicode characters for element ${i}, got ${bad}.`, {
        path: where,
        index: i,
      });
    }
    return points.map((point) => String.fromCodePoint(point)).join('');
  });
}

/** Copies elements of `size` bytes from Fortran order to C order. */
function toRowMajor(bytes: Uint8Array, size: number, shape: readonly number[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(bytes);
  if (shape.length < 2) return out;
  const position = new Array<number>(shape.length).fill(0);
  const strides: number[] = [];
  shape.reduce((step, side, axis) => {
    strides[axis] = step;
    return step * side;
  }, size);
  let from = 0;
  for (let to = 0; to < out.length; to += size) {
    for (let b = 0; b < size; b++) out[to + b] = bytes[from + b];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += strides[axis];
      if (++position[axis] < shape[axis]) break;
      from -= strides[axis] * shape[axis];
      position[axis] = 0;
    }
  }
  return out;
}

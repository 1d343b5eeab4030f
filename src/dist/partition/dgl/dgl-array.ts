/**
 * DGL's arrays of any element type, decoded to ids or to tensors. 64-bit integers become i32, or f64 if they need more
 * bits, because Skein has no wider integers.
 */
import { type DType, fromTypedArray, type Tensor } from '../../../tensor/index.js';
import type { DglBytes } from './dgl-bytes.js';

/** The location of an array in its file, and its type. */
export interface DglArray {
  readonly file: DglBytes;
  readonly offset: number;
  readonly kind: 'int' | 'uint' | 'float' | 'bfloat';
  readonly bits: number;
  readonly shape: readonly number[];
  readonly size: number;
  readonly data: Uint8Array;
}

const magic = 0xdd5e40f096b4a13fn;
const maxAxes = 32;
/** Bytes of the shortest array: magic, reserved, device, axes, type, length. */
export const arrayBytes = 40;

/** Codes of element types; booleans in newer files are bytes. */
const kinds: Readonly<Record<number, DglArray['kind']>> = {
  0: 'int',
  1: 'uint',
  2: 'float',
  4: 'bfloat',
  6: 'uint',
};
const widths: Readonly<Record<DglArray['kind'], readonly number[]>> = {
  int: [8, 16, 32, 64],
  uint: [8, 16, 32, 64],
  float: [16, 32, 64],
  bfloat: [16],
};

export function readArray(file: DglBytes, what: string): DglArray {
  file.exactly(magic, `the magic number of an array (${what})`);
  file.exactly(0n, 'a reserved 0');
  file.i32('device type');
  file.i32('device id');
  const axesAt = file.offset;
  const axes = file.i32('number of axes');
  if (axes < 0 || axes > maxAxes) throw file.bad(axesAt, `0 to ${maxAxes} axes of ${what}`, axes);
  const typeAt = file.offset;
  const code = file.u8('type code');
  const bits = file.u8('bits');
  const lanes = file.u16('lanes');
  const kind = kinds[code];
  if (kind === undefined || !widths[kind].includes(bits) || lanes !== 1)
    throw file.bad(typeAt, `a known element type of ${what}`, `code ${code}, ${bits} bits, ${lanes} lanes`);
  const shapeAt = file.offset;
  const shape = Array.from({ length: axes }, () => file.i64('shape'));
  const size = shape.reduce((product, length) => product * length, 1);
  const bytesAt = file.offset;
  const bytes = file.i64('number of bytes');
  if (shape.some((length) => length < 0))
    throw file.bad(shapeAt, `a shape of ${what}`, `[${shape.join(', ')}]`);
  if (bytes !== (size * bits) / 8)
    throw file.bad(bytesAt, `${(size * bits) / 8} bytes for [${shape.join(', ')}] of ${what}`, bytes);
  const offset = file.offset;
  return { file, offset, kind, bits, shape, size, data: file.raw(bytes, what) };
}

/** Reads pairs of name and array. */
export function readNamedArrays(file: DglBytes, what: string): Map<string, DglArray> {
  const arrays = new Map<string, DglArray>();
  file.list(what, 8 + arrayBytes, () => {
    const at = file.offset;
    const name = file.text(`a name of ${what}`);
    if (arrays.has(name)) throw file.bad(at, `different names of ${what}`, `${name} again`);
    arrays.set(name, readArray(file, name));
  });
  return arrays;
}

/** Decodes integers from 0 to `below` − 1 of any width. Those where `only` is 0 are not checked and become 0. */
export function toIds(array: DglArray, what: string, below: number, only?: Uint8Array): Int32Array {
  const { file, bits, offset } = array;
  const ids = new Int32Array(array.size);
  forEachInteger(array, what, (value, i) => {
    if (only !== undefined && only[i] === 0) return;
    if (value < 0 || value >= below)
      throw file.bad(offset + (i * bits) / 8, `${what} from 0 to ${below - 1}`, value);
    ids[i] = Number(value);
  });
  return ids;
}

/** Returns 1 for numbers other than 0. */
export function toFlags(array: DglArray, what: string): Uint8Array {
  const flags = new Uint8Array(array.size);
  forEachInteger(array, what, (value, i) => {
    flags[i] = Number(value) === 0 ? 0 : 1;
  });
  return flags;
}

export function toTensor(array: DglArray, what: string): Tensor {
  const { kind, bits, shape, data } = array;
  if (kind === 'float' || kind === 'bfloat') {
    const copy = data.slice().buffer;
    if (bits === 32) return fromTypedArray(new Float32Array(copy), shape);
    if (bits === 64) return fromTypedArray(new Float64Array(copy), shape);
    const dtype: DType = kind === 'float' ? 'f16' : 'bf16';
    return fromTypedArray(new Uint16Array(copy), shape, { dtype });
  }
  if (kind === 'uint' && bits === 8) return fromTypedArray(data.slice(), shape);
  if (kind === 'int' && bits === 32) return fromTypedArray(new Int32Array(data.slice().buffer), shape);
  const values = new Float64Array(array.size);
  let narrow = true;
  forEachInteger(array, what, (value, i) => {
    values[i] = Number(value);
    if (!Number.isSafeInteger(values[i]))
      throw array.file.bad(array.offset + (i * bits) / 8, `${what} below 2^53`, value);
    narrow &&= values[i] === (values[i] | 0);
  });
  return fromTypedArray(narrow ? Int32Array.from(values) : values, shape);
}

function forEachInteger(
  array: DglArray,
  what: string,
  visit: (value: number | bigint, i: number) => void,
): void {
  const { file, kind, bits, size, data, offset } = array;
  if (kind !== 'int' && kind !== 'uint')
    throw file.bad(offset, `whole numbers for ${what}`, `${kind}${bits}`);
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const signed = kind === 'int';
  const readers: Readonly<Record<number, (at: number) => number | bigint>> = {
    8: (at) => (signed ? view.getInt8(at) : view.getUint8(at)),
    16: (at) => (signed ? view.getInt16(at, true) : view.getUint16(at, true)),
    32: (at) => (signed ? view.getInt32(at, true) : view.getUint32(at, true)),
    64: (at) => readWide(view, at, signed),
  };
  const read = readers[bits];
  for (let i = 0; i < size; i++) visit(read((i * bits) / 8), i);
}

/** Reads a 64-bit integer; a bigint only if a number is not exact, because files have millions of ids. */
function readWide(view: DataView, at: number, signed: boolean): number | bigint {
  const low = view.getUint32(at, true);
  const high = signed ? view.getInt32(at + 4, true) : view.getUint32(at + 4, true);
  if (high > -(2 ** 20) && high < 2 ** 20) return high * 2 ** 32 + low;
  return signed ? view.getBigInt64(at, true) : view.getBigUint64(at, true);
}

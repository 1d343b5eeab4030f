/**
 * Conversion between .npy bytes and tensor views. Reading shares the memory of the bytes if order and alignment allow;
 * Fortran order becomes strides. Big-endian elements are swapped in a copy.
 *
 * Types that views lack: i1, i2 and u2 become i32, u8 (64 bits) becomes i64 if every value fits. Text, records, complex
 * numbers and Python objects throw. NumPy has no bf16, so writing that throws.
 */
import { makeNpyHeader, npyElements, parseNpyHeader } from '../../tensor/npy.js';
import { checkNumpyBytes, type NumpyType, plainNumpyBytes } from '../../tensor/numpy-array.js';
import { DTypeError, expected, FormatError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { TensorView } from '../tensor-view.js';
import { type ViewArray, type ViewDType, viewDTypes } from '../view-dtype.js';

export interface ParseOptions {
  /** Name of the bytes in messages, such as that of their file. */
  readonly name?: string;
}

/** NumPy's name for each type. */
const descriptions: Readonly<Record<Exclude<ViewDType, 'bf16'>, string>> = {
  f32: '<f4',
  f64: '<f8',
  f16: '<f2',
  i32: '<i4',
  u32: '<u4',
  i64: '<i8',
  u8: '|u1',
  bool: '|b1',
};
const dtypesByName = new Map(
  Object.entries(descriptions).map(([dtype, text]) => [text.slice(1), dtype as ViewDType]),
);

/**
 * Reads the array of a .npy file. The view may share the memory of the bytes: do not change them while it is used.
 *
 * @example
 * const x = parseNpy(await readFile('features.npy')).toTensor();
 */
export function parseNpy(bytes: Uint8Array, options: ParseOptions = {}): TensorView {
  checkOptionNames('parseNpy', options, { name: true });
  const where = options.name ?? 'parseNpy';
  if (!(bytes instanceof Uint8Array)) throw new ValueError(expected(where, 'a Uint8Array', 'bytes', bytes));
  const header = parseNpyHeader(bytes, where);
  const { type, shape } = header;
  const elements = npyElements(bytes, header, where);
  const count = checkNumpyBytes(where, type, shape, elements);
  const fortran = header.fortran && shape.length > 1;
  const dtype = dtypesByName.get(`${type.kind}${type.size}`);
  if (dtype === undefined)
    return TensorView.fromTyped(
      widenElements(where, type, plainNumpyBytes(type, shape, elements, fortran)),
      shape,
    );
  if (dtype === 'bool' && elements.some((byte) => byte > 1)) {
    const flags = plainNumpyBytes(type, shape, elements, fortran).map((byte) => (byte === 0 ? 0 : 1));
    return TensorView.fromTyped(flags, shape, { dtype });
  }
  const { array } = viewDTypes[dtype];
  const isShared = (type.littleEndian || type.size === 1) && elements.byteOffset % type.size === 0;
  if (!isShared) {
    const own = plainNumpyBytes(type, shape, elements, fortran);
    return TensorView.fromTyped(new array(own.buffer, 0, count), shape, { dtype });
  }
  const data = new array(elements.buffer, elements.byteOffset, count);
  return TensorView.fromTyped(data, shape, fortran ? { dtype, strides: columnMajor(shape) } : { dtype });
}

/** Returns the bytes of a .npy file with the elements of a view on the CPU, in C order. */
export function writeNpy(view: TensorView): Uint8Array {
  if (!(view instanceof TensorView)) throw new ValueError(expected('writeNpy', 'a TensorView', 'view', view));
  if (view.dtype === 'bf16')
    throw new DTypeError(
      expected('writeNpy', 'a type that NumPy has', 'dtype', 'bf16', 'Cast it to f32, or write safetensors.'),
    );
  const data = view.toTyped();
  const header = makeNpyHeader(descriptions[view.dtype], view.shape);
  const out = new Uint8Array(header.length + data.byteLength);
  out.set(header);
  out.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), header.length);
  return out;
}

function columnMajor(shape: readonly number[]): number[] {
  let step = 1;
  return shape.map((side) => {
    const own = step;
    step *= side;
    return own;
  });
}

/** Converts numbers of types that views lack. */
function widenElements(where: string, type: NumpyType, own: Uint8Array<ArrayBuffer>): ViewArray {
  switch (`${type.kind}${type.size}`) {
    case 'i1':
      return Int32Array.from(new Int8Array(own.buffer));
    case 'i2':
      return Int32Array.from(new Int16Array(own.buffer));
    case 'u2':
      return Int32Array.from(new Uint16Array(own.buffer));
    case 'u8':
      return checkSigned(where, new BigInt64Array(own.buffer));
    default:
      throw new FormatError(
        `${where}: expected numbers, got text (type ${type.kind}${type.size}). Tensors hold numbers only.`,
        { path: where },
      );
  }
}

/** Returns u64 values as i64; throws if one does not fit. */
function checkSigned(where: string, values: BigInt64Array): BigInt64Array {
  const large = values.findIndex((value) => value < 0n);
  if (large < 0) return values;
  throw new FormatError(
    `${where}: expected whole numbers below 2^63 for element ${large}, got ${BigInt.asUintN(64, values[large])}.`,
    { path: where, index: large },
  );
}

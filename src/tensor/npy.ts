/**
 * Reads and writes the .npy format of NumPy, versions 1 to 3 (specified by numpy.lib.format), in memory: one
 * implementation for files, archives and transfers.
 *
 * The header is a Python dictionary literal; only the three keys that the format defines are read, and nothing is
 * executed. Arrays of Python objects are pickles and are rejected.
 */
import { FormatError } from '../util/errors.js';
import {
  decodeNumpyArray,
  type NumpyArray,
  type NumpyType,
  numpyTypeBytes,
  parseNumpyType,
} from './numpy-array.js';

/** \x93NUMPY */
const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
/** The bytes before the header: magic, version, header length. */
const minimum = 10;
/** Far more than three keys need; NumPy rejects headers of 10,000 characters. */
const longestHeader = 1 << 20;

/** The content of a header, and the offset of the elements. */
export interface NpyHeader {
  readonly type: NumpyType;
  readonly shape: readonly number[];
  readonly fortran: boolean;
  readonly start: number;
}

/** Reads the array in the bytes of a .npy file; `where` names the file in messages. */
export function parseNpy(bytes: Uint8Array, where: string): NumpyArray {
  const header = parseNpyHeader(bytes, where);
  return decodeNumpyArray(
    where,
    header.type,
    header.shape,
    npyElements(bytes, header, where),
    header.fortran,
  );
}

/** Returns the bytes of the elements as they are in the file. */
export function npyElements(bytes: Uint8Array, { type, shape, start }: NpyHeader, where: string): Uint8Array {
  const data = bytes.subarray(start);
  const needed = shape.reduce((product, side) => product * side, 1) * numpyTypeBytes(type);
  if (data.length < needed) {
    throw new FormatError(
      `${where}: expected ${needed} bytes of elements, got ${data.length} (byte ${start}).`,
      { path: where, offset: start },
    );
  }
  return data.subarray(0, needed);
}

/** Reads the header at the start of a file; `bytes` need not contain the elements. */
export function parseNpyHeader(bytes: Uint8Array, where: string): NpyHeader {
  const fail = (offset: number, what: string): never => {
    throw new FormatError(`${where}: ${what} (byte ${offset}).`, { path: where, offset });
  };
  if (bytes.length < minimum || magic.some((byte, i) => bytes[i] !== byte))
    fail(0, 'expected a .npy file, got other content');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = bytes[6];
  if (version < 1 || version > 3) fail(6, `expected npy version 1, 2 or 3, got ${version}`);
  if (version > 1 && bytes.length < 12) fail(8, 'expected a header, got the end of the file');
  const start = version === 1 ? 10 : 12;
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  const end = start + length;
  if (length > longestHeader) fail(8, `expected a header of at most ${longestHeader} bytes, got ${length}`);
  if (end > bytes.length) fail(8, `expected a header of ${length} bytes, got the end of the file`);
  const header = new TextDecoder(version === 3 ? 'utf-8' : 'latin1').decode(bytes.slice(start, end));
  const descr = /'descr'\s*:\s*'([^']*)'/.exec(header)?.[1];
  const fortran = /'fortran_order'\s*:\s*(True|False)/.exec(header)?.[1];
  const sides = /'shape'\s*:\s*\(([\d\s,L]*)\)/.exec(header)?.[1];
  if (descr === undefined || fortran === undefined || sides === undefined) {
    return fail(
      start,
      `expected descr, fortran_order and shape in the header, got ${header.trim().slice(0, 80)}`,
    );
  }
  const type = parseNumpyType(descr);
  if (type === null) {
    const pickled = descr.endsWith('O') ? '; Python objects are pickles, which are not supported' : '';
    return fail(
      start,
      `expected a type of b, i, u, f, S or U for the elements, got ${JSON.stringify(descr)}${pickled}`,
    );
  }
  const shape = (sides.match(/\d+/g) ?? []).map(Number);
  const wide = shape.find((side) => !Number.isSafeInteger(side));
  if (wide !== undefined) fail(start, `expected whole numbers below 2^53 for the shape, got ${wide}`);
  return { type, shape, fortran: fortran === 'True', start: end };
}

/** Makes a header of version 1 for elements in C order, padded so that they start at a multiple of 64. */
export function makeNpyHeader(descr: string, shape: readonly number[]): Uint8Array {
  const sides = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${sides}), }`;
  const start = Math.ceil((minimum + text.length + 1) / 64) * 64;
  const bytes = new Uint8Array(start).fill(0x20);
  bytes.set([...magic, 1, 0]);
  new DataView(bytes.buffer).setUint16(8, start - minimum, true);
  bytes.set(new TextEncoder().encode(text), minimum);
  bytes[start - 1] = 0x0a;
  return bytes;
}

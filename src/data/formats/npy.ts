/**
 * The .npy format of NumPy, versions 1 to 3, read from bytes (numpy.lib.format is its specification).
 *
 * The header is a Python dictionary literal; only the three keys that the format defines are understood.
 */

import { readWholeFile } from '../../storage/atomic-file.js';
import { FormatError } from '../../util/errors.js';
import {
  decodeNumpyArray,
  type NumpyArray,
  type NumpyType,
  numpyTypeBytes,
  parseNumpyType,
} from './numpy-array.js';

/** Magic, version, header length: what precedes the header. */
const minimum = 10;

/** The array in a .npy file. */
export async function readNpy(path: string): Promise<NumpyArray> {
  return parseNpy(await readWholeFile(path), path);
}

/** What the header says, and where the elements start. */
export interface NpyHeader {
  readonly type: NumpyType;
  readonly shape: readonly number[];
  readonly fortran: boolean;
  readonly start: number;
}

/** The array in the bytes of a .npy file; `where` names them in messages. */
export function parseNpy(bytes: Uint8Array, where: string): NumpyArray {
  const { type, shape, fortran, start } = parseNpyHeader(bytes, where);
  const count = shape.reduce((product, side) => product * side, 1);
  const data = bytes.subarray(start);
  const needed = count * numpyTypeBytes(type);
  if (data.length < needed) {
    throw new FormatError(
      `${where}: expected ${needed} bytes of elements, got ${data.length} (byte ${start}).`,
      { path: where, offset: start },
    );
  }
  return decodeNumpyArray(where, type, shape, data.subarray(0, needed), fortran);
}

/** The header at the start of a file; `bytes` may end anywhere after it. */
export function parseNpyHeader(bytes: Uint8Array, where: string): NpyHeader {
  const fail = (offset: number, what: string): never => {
    throw new FormatError(`${where}: ${what} (byte ${offset}).`, { path: where, offset });
  };
  if (bytes.length < minimum || Buffer.from(bytes.subarray(0, 6)).toString('latin1') !== '\x93NUMPY')
    fail(0, 'expected a .npy file, got other content');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = bytes[6];
  if (version < 1 || version > 3) fail(6, `expected npy version 1, 2 or 3, got ${version}`);
  if (version > 1 && bytes.length < 12) fail(8, 'expected a header, got the end of the file');
  const start = version === 1 ? 10 : 12;
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  const end = start + length;
  if (end > bytes.length) fail(8, `expected a header of ${length} bytes, got the end of the file`);
  const header = new TextDecoder(version === 3 ? 'utf-8' : 'latin1').decode(bytes.subarray(start, end));
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
    return fail(
      start,
      `expected a type of b, i, u, f, S or U for the elements, got ${JSON.stringify(descr)}`,
    );
  }
  const shape = (sides.match(/\d+/g) ?? []).map(Number);
  return { type, shape, fortran: fortran === 'True', start: end };
}

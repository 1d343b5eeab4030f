/** .npy files of nodes: features in blocks of rows, and classes. */
import { open } from 'node:fs/promises';
import { type NpyHeader, parseNpyHeader } from '../../tensor/npy.js';
import { decodeNumpyArray, numpyTypeBytes } from '../../tensor/numpy-array.js';
import { FormatError } from '../../util/errors.js';
import { readNpy } from '../formats/npy.js';
import { readBlocks } from './binary-file.js';

/** A matrix in an .npy file that is read in blocks of rows. */
export interface NpyRows {
  readonly path: string;
  readonly header: NpyHeader;
  readonly rows: number;
  readonly width: number;
}

/** Reads classes from an .npy: whole numbers from −1. */
export async function readNpyLabels(path: string): Promise<Int32Array> {
  const { data, shape } = await readNpy(path);
  const flat = shape.length === 1 || (shape.length === 2 && shape[1] === 1);
  if (!flat)
    throw new FormatError(`${path}: expected one class per row, got the shape [${shape.join(', ')}].`, {
      path,
    });
  return Int32Array.from(data as ArrayLike<number>, (value, i) => {
    // NaN marks nodes without a class in some files.
    if (Number.isNaN(value)) return -1;
    if (Number.isInteger(value) && value >= -1 && value < 2 ** 31 - 1) return value;
    throw new FormatError(`${path}: expected a class from -1 for row ${i}, got ${String(value)}.`, {
      path,
      row: i,
    });
  });
}

export async function openNpy(path: string): Promise<NpyRows> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const head = new Uint8Array(Math.min(size, 65536));
    await file.read(head, 0, head.length, 0);
    const header = parseNpyHeader(head, path);
    const [rows = 0, width = 1] = header.shape;
    const bytes = rows * width * numpyTypeBytes(header.type);
    if (header.shape.length > 2 || header.fortran || 'SU'.includes(header.type.kind))
      throw new FormatError(
        `${path}: expected a matrix of numbers in C order, got the shape [${header.shape.join(', ')}]${header.fortran ? ' in Fortran order' : ''}.`,
        { path },
      );
    if (size - header.start < bytes)
      throw new FormatError(`${path}: expected ${bytes} bytes of elements, got ${size - header.start}.`, {
        path,
      });
    return { path, header, rows, width };
  } finally {
    await file.close();
  }
}

/** Yields the rows of an .npy as f32, in blocks. */
export async function* npyBlocks({ path, header, rows, width }: NpyRows): AsyncGenerator<Float32Array> {
  const rowBytes = width * numpyTypeBytes(header.type);
  const perBlock = Math.max(1, Math.floor(2 ** 22 / Math.max(1, rowBytes)));
  let rest = new Uint8Array(0);
  let skip = header.start;
  let done = 0;
  for await (const block of readBlocks(path)) {
    const fresh = skip > 0 ? block.subarray(skip) : block;
    skip = Math.max(0, skip - block.length);
    const bytes = new Uint8Array(rest.length + fresh.length);
    bytes.set(rest);
    bytes.set(fresh, rest.length);
    let at = 0;
    while (done < rows) {
      const count = Math.min(perBlock, rows - done, Math.floor((bytes.length - at) / rowBytes));
      if (count === 0) break;
      const chunk = bytes.slice(at, at + count * rowBytes);
      const { data } = decodeNumpyArray(path, header.type, [count, width], chunk, false);
      const values = data instanceof Float32Array ? data : Float32Array.from(data as ArrayLike<number>);
      const wrong = values.findIndex((value) => value - value !== 0);
      if (wrong >= 0)
        throw new FormatError(
          `${path}: expected a finite number in row ${done + Math.floor(wrong / width)}, column ${wrong % width}, got ${values[wrong]}.`,
          { path },
        );
      yield values;
      at += count * rowBytes;
      done += count;
    }
    rest = bytes.slice(at);
  }
}

/**
 * MATLAB .mat files of version 5 (written by `save -v6`, `-v7` and scipy.io.savemat), compressed or not, either byte order.
 * Format: "MAT-File Format", MathWorks, chapter 1.
 *
 * Supported: real numeric and logical arrays, text, sparse matrices. Cells, structures, objects and complex numbers are
 * listed by name; reading one throws. Version 7.3 files are HDF5 and not supported.
 */
import { kMaxLength } from 'node:buffer';
import { inflateSync } from 'node:zlib';
import { readWholeFile } from '../../storage/atomic-file.js';
import { decodeNumpyArray, type NumpyArray, type NumpyType } from '../../tensor/numpy-array.js';
import { FormatError } from '../../util/errors.js';
import { makeCsr } from '../check.js';
import type { CsrArrays } from '../node-data.js';

/** Storage types of elements, by number. */
const storage: Readonly<Record<number, string>> = {
  ...{ 1: 'i1', 2: 'u1', 3: 'i2', 4: 'u2', 5: 'i4', 6: 'u4', 7: 'f4', 9: 'f8', 12: 'i8', 13: 'u8' },
  ...{ 16: 'u1', 17: 'u2', 18: 'u4' },
};
const [matrixType, compressedType] = [14, 15];
/** Classes of arrays: char, sparse, then double to uint64 from 6 to 15. */
const [charClass, sparseClass, firstNumeric, lastNumeric] = [4, 5, 6, 15];
/** Limits of inflated data: this many bytes, or this many times the file size if that is more. */
const [inflatedBytes, inflatedRatio] = [2 ** 28, 100];
/** Limits of the rows of a sparse matrix, which take memory but no space in the file: a number, or a number per byte. */
const [sparseRows, sparseRowsPerByte] = [2 ** 24, 16];
/** Flags, size and name, then at most three arrays in the supported classes. */
const maxElements = 6;
/** Names of the classes from 1 on. */
const classNames = ['cell', 'structure', 'object', 'text', 'sparse'];

interface Element {
  readonly type: number;
  readonly data: Uint8Array;
}

/** The variables of a .mat file, decoded on request. */
export class MatFile {
  readonly #littleEndian: boolean;
  /** Bytes that may still be inflated. */
  #budget: number;
  readonly #variables = new Map<string, { readonly flags: number; readonly elements: readonly Element[] }>();

  constructor(
    bytes: Uint8Array,
    readonly path: string,
  ) {
    if (Buffer.from(bytes.subarray(0, 8)).toString('latin1') === '\x89HDF\r\n\x1a\n' || isVersion73(bytes)) {
      this.#fail('expected a MATLAB file of version 5, got version 7.3 (HDF5). Save it again with -v7');
    }
    const order = Buffer.from(bytes.subarray(126, 128)).toString('latin1');
    if (bytes.length < 128 || (order !== 'IM' && order !== 'MI'))
      this.#fail('expected a MATLAB file of version 5, got other content');
    this.#littleEndian = order === 'IM';
    this.#budget = Math.max(inflatedBytes, inflatedRatio * bytes.length);
    for (const element of this.#elements(bytes.subarray(128))) this.#add(element);
  }

  /** Names of the variables, in the order of the file. */
  get names(): readonly string[] {
    return [...this.#variables.keys()];
  }

  /** Returns a full array in C order; text as one string per row. */
  array(name: string): NumpyArray {
    const { flags, elements } = this.#find(name);
    const kind = flags & 0xff;
    if (kind !== charClass && (kind < firstNumeric || kind > lastNumeric))
      this.#reject(name, 'a full array', kind);
    const shape = this.#shape(name, elements);
    if (kind === charClass && shape[0] > 1 && shape[1] === 0)
      this.#fail(`expected text of some width for variable ${name}, got ${shape[0]} empty rows`);
    const array = this.#decode(name, elements[3], shape);
    return kind === charClass ? textRows(array, shape) : array;
  }

  /** Returns a sparse matrix, by rows. */
  sparse(name: string): CsrArrays {
    const { flags, elements } = this.#find(name);
    if ((flags & 0xff) !== sparseClass) this.#reject(name, 'a sparse matrix', flags & 0xff);
    const [rows, columns] = this.#shape(name, elements);
    const bytes = elements.reduce((sum, element) => sum + element.data.length, 0);
    if (rows > Math.max(sparseRows, sparseRowsPerByte * bytes))
      this.#fail(`expected rows that fit ${bytes} bytes of data for variable ${name}, got ${rows}`);
    const numbers = (index: number): readonly number[] =>
      Array.from(this.#decode(name, elements[index], null).data as ArrayLike<number>);
    const offsets = numbers(4);
    // The file stores it by columns and may reserve space for more entries than it has.
    const byColumn = makeCsr(`${this.path}:${name}`, [columns, rows], {
      offsets,
      indices: numbers(3).slice(0, offsets[columns]),
      values: numbers(5).slice(0, offsets[columns]),
    });
    return transpose(byColumn);
  }

  #fail(what: string): never {
    throw new FormatError(`${this.path}: ${what}.`, { path: this.path });
  }

  #reject(name: string, what: string, kind: number): never {
    this.#fail(`expected ${what} for variable ${name}, got ${classNames[kind - 1] ?? 'a full array'}`);
  }

  #find(name: string): { readonly flags: number; readonly elements: readonly Element[] } {
    const variable = this.#variables.get(name);
    if (variable === undefined)
      this.#fail(`expected a variable ${name}, got ${this.names.join(', ') || 'none'}`);
    if (variable.flags & 0x800) this.#fail(`expected real numbers for variable ${name}, got complex ones`);
    return variable;
  }

  #add(element: Element): void {
    if (element.type === compressedType) {
      for (const inner of this.#elements(this.#inflate(element.data))) {
        if (inner.type === compressedType) this.#fail('expected data, got nested compressed data');
        this.#add(inner);
      }
    } else if (element.type === matrixType && element.data.length > 0) {
      const elements: Element[] = [];
      for (const inner of this.#elements(element.data)) if (elements.push(inner) === maxElements) break;
      if (elements.length < 3 || elements[0].data.length < 4)
        this.#fail('expected flags, size and name of a variable');
      const name = Buffer.from(elements[2].data).toString('latin1');
      this.#variables.set(name, {
        flags: this.#view(elements[0].data).getUint32(0, this.#littleEndian),
        elements,
      });
    }
  }

  #inflate(data: Uint8Array): Uint8Array {
    try {
      const bytes = inflateSync(data, { maxOutputLength: Math.max(1, Math.min(this.#budget, kMaxLength)) });
      this.#budget -= bytes.length;
      return bytes;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
        this.#fail('expected a dataset, got compressed data that inflate too much');
      return this.#fail(
        `expected compressed data, got ${(error as Error).message}; the file is damaged or truncated`,
      );
    }
  }

  #view(data: Uint8Array): DataView {
    return new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  /** Yields the elements, each aligned to 8 bytes; short ones hold their data in the tag. */
  *#elements(bytes: Uint8Array): Generator<Element> {
    const view = this.#view(bytes);
    for (let at = 0; at < bytes.length; ) {
      if (at + 8 > bytes.length)
        this.#fail('expected another element, got the end; the file is damaged or truncated');
      const first = view.getUint32(at, this.#littleEndian);
      const short = first >>> 16;
      const type = short > 0 ? first & 0xffff : first;
      const size = short > 0 ? short : view.getUint32(at + 4, this.#littleEndian);
      const start = at + (short > 0 ? 4 : 8);
      if (start + size > bytes.length || short > 4)
        this.#fail(`expected ${size} bytes of data, got the end; the file is damaged or truncated`);
      yield { type, data: bytes.subarray(start, start + size) };
      if (short > 0) at += 8;
      // Compressed elements are not padded.
      else at = start + (type === compressedType ? size : Math.ceil(size / 8) * 8);
    }
  }

  #shape(name: string, elements: readonly Element[]): number[] {
    const shape = Array.from(this.#decode(name, elements[1], null).data as ArrayLike<number>);
    if (shape.length < 2 || shape.some((side) => !(Number.isInteger(side) && side >= 0 && side < 2 ** 31)))
      this.#fail(`expected sizes from 0 to 2^31 - 1 for variable ${name}`);
    return shape;
  }

  /** Returns the numbers of an element; without a shape, as a list. */
  #decode(name: string, element: Element | undefined, shape: readonly number[] | null): NumpyArray {
    const type = element === undefined ? undefined : storage[element.type];
    if (element === undefined || type === undefined)
      return this.#fail(`expected numbers in variable ${name}`);
    const size = Number(type[1]);
    const numpyType: NumpyType = { kind: type[0], size, littleEndian: this.#littleEndian };
    const sides = shape ?? [Math.floor(element.data.length / size)];
    return decodeNumpyArray(`${this.path}:${name}`, numpyType, sides, element.data, true);
  }
}

function isVersion73(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 19)).toString('latin1') === 'MATLAB 7.3 MAT-file';
}

/** Returns characters [rows, width] as one string per row, without trailing blanks. */
function textRows(array: NumpyArray, [rows, width]: readonly number[]): NumpyArray {
  const codes = array.data as ArrayLike<number>;
  const data = Array.from({ length: rows }, (_, r) =>
    Array.from({ length: width }, (_, c) => String.fromCharCode(codes[r * width + c]))
      .join('')
      .trimEnd(),
  );
  return { dtype: `U${width}`, shape: [rows], data };
}

function transpose({ shape, offsets, indices, values }: CsrArrays): CsrArrays {
  const [columns, rows] = shape;
  const newOffsets = new Int32Array(rows + 1);
  for (const row of indices) newOffsets[row + 1]++;
  for (let r = 0; r < rows; r++) newOffsets[r + 1] += newOffsets[r];
  const next = newOffsets.slice();
  const newIndices = new Int32Array(indices.length);
  const newValues = new Float32Array(values.length);
  for (let column = 0; column < columns; column++) {
    for (let p = offsets[column]; p < offsets[column + 1]; p++) {
      const position = next[indices[p]]++;
      newIndices[position] = column;
      newValues[position] = values[p];
    }
  }
  return { shape: [rows, columns], offsets: newOffsets, indices: newIndices, values: newValues };
}

/** Opens a .mat file. */
export async function readMat(path: string): Promise<MatFile> {
  return new MatFile(await readWholeFile(path), path);
}

/**
 * Files of numbers in columns (.csv, .tsv or separated by blanks, .gz too): one pass over the bytes, no string per field.
 * For large files without names: features, labels, splits. For edge lists with headers and names see edge-list.ts.
 *
 * A line with a wrong number of columns, or a field that is not a number, is an error with file and line.
 */
import { FormatError } from '../../util/errors.js';
import { parseNumber } from './parse-number.js';
import { readChunks } from './text-lines.js';

export interface NumberColumns {
  /** One array per column. */
  readonly columns: Float64Array[];
  readonly rows: number;
}

interface ColumnOptions {
  /** Number of columns; default: that of the first line. */
  readonly columns?: number;
  /** Reject numbers with a fraction. */
  readonly integers?: boolean;
}

/** Reads the columns of a file. */
export async function readNumberColumns(path: string, options: ColumnOptions = {}): Promise<NumberColumns> {
  const { values, width, rows } = await readNumberMatrix(path, Float64Array, options);
  const columns = Array.from({ length: width }, (_, c) => {
    const column = new Float64Array(rows);
    for (let r = 0; r < rows; r++) column[r] = values[r * width + c];
    return column;
  });
  return { columns, rows };
}

/** Reads the numbers of a file in C order. */
export async function readNumberMatrix<A extends Float32Array | Float64Array>(
  path: string,
  type: { new (length: number): A },
  options: ColumnOptions = {},
): Promise<{ values: A; width: number; rows: number }> {
  const parser = new NumberParser(path, new Growing(type), options);
  for await (const chunk of readChunks(path)) parser.feed(chunk);
  return parser.finish();
}

/** A typed array that doubles as it fills. */
class Growing<A extends Float32Array | Float64Array> {
  length = 0;
  #array: A;

  constructor(readonly type: { new (length: number): A }) {
    this.#array = new type(1024);
  }

  push(value: number): void {
    if (this.length === this.#array.length) {
      const larger = new this.type(2 * this.length);
      larger.set(this.#array);
      this.#array = larger;
    }
    this.#array[this.length++] = value;
  }

  finish(): A {
    return this.#array.slice(0, this.length) as A;
  }
}

const newline = 10;

class NumberParser<A extends Float32Array | Float64Array> {
  #line = 1;
  #fields = 0;
  #width: number;
  readonly #integers: boolean;
  /** Bytes of the current field, which may span two chunks. */
  readonly #field = Buffer.alloc(64);
  #size = 0;

  constructor(
    readonly path: string,
    readonly out: Growing<A>,
    options: ColumnOptions,
  ) {
    this.#width = options.columns ?? 0;
    this.#integers = options.integers ?? false;
  }

  feed(chunk: Uint8Array): void {
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i];
      if (byte === 44 || byte === 32 || byte === 9) {
        // A comma ends even an empty field; blanks may repeat.
        if (this.#size > 0 || byte === 44) this.#endField();
      } else if (byte === newline) {
        this.#endLine();
      } else if (byte !== 13) {
        if (this.#size === 64) this.#fail('a number');
        this.#field[this.#size++] = byte;
      }
    }
  }

  finish(): { values: A; width: number; rows: number } {
    this.#endLine();
    const values = this.out.finish();
    return { values, width: this.#width, rows: this.#width === 0 ? 0 : values.length / this.#width };
  }

  #fail(what: string, got = this.#field.toString('latin1', 0, this.#size)): never {
    throw new FormatError(`${this.path}:${this.#line}: expected ${what}, got ${JSON.stringify(got)}.`, {
      path: this.path,
      line: this.#line,
    });
  }

  #endLine(): void {
    if (this.#size > 0) this.#endField();
    if (this.#fields > 0) {
      if (this.#width === 0) this.#width = this.#fields;
      if (this.#fields !== this.#width) this.#fail(`${this.#width} columns`, `${this.#fields} columns`);
    }
    this.#fields = 0;
    this.#line++;
  }

  #endField(): void {
    const value = this.#number();
    if (this.#integers && !Number.isSafeInteger(value)) this.#fail('a whole number');
    this.out.push(value);
    this.#fields++;
    this.#size = 0;
  }

  #number(): number {
    const value = parseNumber(this.#field, 0, this.#size);
    return Number.isNaN(value) ? this.#specialNumber() : value;
  }

  #specialNumber(): number {
    const text = this.#field.toString('latin1', 0, this.#size).trim();
    if (/^[+-]?nan$/i.test(text)) return Number.NaN;
    const infinity = /^([+-]?)inf(inity)?$/i.exec(text);
    if (infinity !== null) return infinity[1] === '-' ? -Infinity : Infinity;
    return this.#fail('a number');
  }
}

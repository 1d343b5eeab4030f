/**
 * Reads DGL's files value by value (little-endian, the encoding of dmlc's streams). Every length is compared with the
 * remaining bytes before it is used, so damaged files cost neither memory nor time; errors name the file and the byte.
 */
import { FormatError } from '../../../util/errors.js';

export class DglBytes {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  #offset = 0;

  constructor(path: string, bytes: Uint8Array) {
    this.path = path;
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.bytes.length - this.#offset;
  }

  /** Returns the error for the value at `offset`. */
  bad(offset: number, what: string, got: unknown): FormatError {
    return new FormatError(`${this.path}: at byte ${offset}: expected ${what}, got ${got}.`, {
      path: this.path,
      byteOffset: offset,
    });
  }

  seek(offset: number): void {
    if (offset < 0 || offset > this.bytes.length)
      throw this.bad(this.bytes.length, `bytes up to ${offset}`, 'the end of the file');
    this.#offset = offset;
  }

  u8(what: string): number {
    return this.#view.getUint8(this.#take(1, what));
  }

  u16(what: string): number {
    return this.#view.getUint16(this.#take(2, what), true);
  }

  i32(what: string): number {
    return this.#view.getInt32(this.#take(4, what), true);
  }

  /** Reads an integer that JavaScript represents exactly. */
  i64(what: string): number {
    const at = this.#take(8, what);
    const value = this.#view.getBigInt64(at, true);
    const number = Number(value);
    if (!Number.isSafeInteger(number)) throw this.bad(at, `${what} below 2^53`, value);
    return number;
  }

  /** Reads a number that must be `value`, such as a magic number or a version. */
  exactly(value: bigint, what: string): void {
    const at = this.#take(8, what);
    const got = this.#view.getBigUint64(at, true);
    if (got !== value) throw this.bad(at, `${what} (${hex(value)})`, hex(got));
  }

  flag(what: string): boolean {
    const at = this.#offset;
    const value = this.u8(what);
    if (value > 1) throw this.bad(at, `0 or 1 for ${what}`, value);
    return value === 1;
  }

  /** Reads the number of items that follow, each of at least `itemBytes` bytes. */
  count(what: string, itemBytes: number): number {
    const at = this.#take(8, what);
    const value = this.#view.getBigUint64(at, true);
    if (value > BigInt(Math.floor(this.remaining / itemBytes)))
      throw this.bad(at, `a number of ${what} that fits into the ${this.remaining} bytes left`, value);
    return Number(value);
  }

  text(what: string): string {
    const length = this.count(`bytes of ${what}`, 1);
    const at = this.#take(length, what);
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(this.bytes.subarray(at, at + length));
    } catch {
      throw this.bad(at, `UTF-8 text for ${what}`, 'other bytes');
    }
  }

  /** Returns a view of the next bytes. */
  raw(length: number, what: string): Uint8Array {
    const at = this.#take(length, what);
    return this.bytes.subarray(at, at + length);
  }

  list<T>(what: string, itemBytes: number, read: () => T): T[] {
    const items: T[] = [];
    for (let left = this.count(what, itemBytes); left > 0; left--) items.push(read());
    return items;
  }

  /** Throws if there are bytes after the last value. */
  end(): void {
    if (this.remaining > 0)
      throw this.bad(this.#offset, 'the end of the file', `${this.remaining} more bytes`);
  }

  #take(length: number, what: string): number {
    if (length > this.remaining)
      throw this.bad(this.#offset, `${length} bytes (${what})`, `${this.remaining}, the end of the file`);
    const at = this.#offset;
    this.#offset += length;
    return at;
  }
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}

/** Sequential reading of files of integers, or of byte records with a length prefix. */
import { closeSync, openSync, readSync } from 'node:fs';
import { InternalError } from '../../util/errors.js';
import type { FileWriter } from './binary-file.js';

/** Appends bytes with a length prefix. */
export function writeRecord(file: FileWriter, bytes: Uint8Array): void {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  file.write(length);
  file.write(bytes);
}

export class SpoolReader {
  readonly #file: number;
  #buffer: Buffer;
  #at = 0;
  #filled = 0;

  constructor(
    readonly path: string,
    bufferBytes = 1 << 16,
  ) {
    this.#file = openSync(path, 'r');
    this.#buffer = Buffer.alloc(bufferBytes);
  }

  /** Whether everything has been read. */
  get done(): boolean {
    return !this.#have(1);
  }

  int32(): number {
    this.#need(4);
    this.#at += 4;
    return this.#buffer.readInt32LE(this.#at - 4);
  }

  /** Returns the next record; valid until the next call. */
  record(): Buffer {
    this.#need(4);
    const length = this.#buffer.readUInt32LE(this.#at);
    this.#at += 4;
    this.#need(length);
    this.#at += length;
    return this.#buffer.subarray(this.#at - length, this.#at);
  }

  close(): void {
    closeSync(this.#file);
  }

  #need(count: number): void {
    if (!this.#have(count)) throw new InternalError(`${this.path}: expected ${count} more bytes`);
  }

  #have(count: number): boolean {
    if (this.#filled - this.#at >= count) return true;
    const larger = count > this.#buffer.length ? Buffer.alloc(2 * count) : this.#buffer;
    larger.set(this.#buffer.subarray(this.#at, this.#filled));
    this.#buffer = larger;
    this.#filled -= this.#at;
    this.#at = 0;
    while (this.#filled < count) {
      const got = readSync(this.#file, larger, this.#filled, larger.length - this.#filled, null);
      if (got === 0) return false;
      this.#filled += got;
    }
    return true;
  }
}

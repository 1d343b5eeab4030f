/**
 * Large binary files in blocks: reading, appending, and writing out of order, in the memory of a block or two. Writes are
 * synchronous: they go to the page cache, and callers rely on their order.
 */
import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { storageError } from '../../storage/atomic-file.js';
import type { FileRecord } from './dataset-yaml.js';

const blockBytes = 1 << 22;

/** Yields the content in blocks of `size` bytes, the last one may be shorter. The buffer is reused for the next block. */
export async function* readBlocks(path: string, size = blockBytes): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r').catch((error: unknown) => storageFailure('read', path, error));
  try {
    const buffer = new Uint8Array(size);
    for (;;) {
      let filled = 0;
      while (filled < size) {
        const { bytesRead } = await file.read(buffer, filled, size - filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      if (filled > 0) yield buffer.subarray(0, filled);
      if (filled < size) return;
    }
  } finally {
    await file.close();
  }
}

/** Returns the CRC-32 of a file as eight hexadecimal digits. */
export async function checksumOf(path: string): Promise<string> {
  let sum = 0;
  for await (const block of readBlocks(path)) sum = crc32(block, sum);
  return digits(sum);
}

/** Formats a checksum. */
export function digits(sum: number): string {
  return sum.toString(16).padStart(8, '0');
}

/** Writes all of `bytes` at a position of an open file. */
export function writeAt(file: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(file, bytes, done, bytes.length - done, position + done);
  }
}

/** Reads all of `bytes` from a position of an open file; returns false at its end. */
export function readAt(file: number, bytes: Uint8Array, position: number): boolean {
  for (let done = 0; done < bytes.length; ) {
    const got = readSync(file, bytes, done, bytes.length - done, position + done);
    if (got === 0) return false;
    done += got;
  }
  return true;
}

/** Returns the bytes of a typed array. */
export function bytesOf(array: Int32Array | Float32Array | Float64Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Appends to a new file through a buffer. */
export class FileWriter {
  readonly #file: number;
  readonly #buffer = Buffer.alloc(1 << 18);
  #filled = 0;
  /** Bytes written. */
  bytes = 0;

  constructor(readonly path: string) {
    this.#file = openForWriting(path);
  }

  write(bytes: Uint8Array): void {
    this.bytes += bytes.length;
    if (this.#filled + bytes.length > this.#buffer.length) this.#flush();
    if (bytes.length > this.#buffer.length) {
      appendAll(this.#file, this.path, bytes);
      return;
    }
    this.#buffer.set(bytes, this.#filled);
    this.#filled += bytes.length;
  }

  /** Writes one little-endian integer. */
  writeInt32(value: number): void {
    if (this.#filled + 4 > this.#buffer.length) this.#flush();
    this.#filled = this.#buffer.writeInt32LE(value, this.#filled);
    this.bytes += 4;
  }

  writeText(text: string): void {
    this.write(Buffer.from(text));
  }

  close(): void {
    try {
      this.#flush();
    } finally {
      closeSync(this.#file);
    }
  }

  #flush(): void {
    appendAll(this.#file, this.path, this.#buffer.subarray(0, this.#filled));
    this.#filled = 0;
  }
}

function appendAll(file: number, path: string, bytes: Uint8Array): void {
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
  } catch (error) {
    storageFailure('write', path, error);
  }
}

/** Creates a file and opens it for reading and writing. */
export function openForWriting(path: string): number {
  try {
    return openSync(path, 'w+');
  } catch (error) {
    return storageFailure('write', path, error);
  }
}

/** Syncs a file to disk and returns its length and CRC-32. */
export async function sealFile(path: string): Promise<FileRecord> {
  let bytes = 0;
  let crc = 0;
  for await (const block of readBlocks(path)) {
    crc = crc32(block, crc);
    bytes += block.length;
  }
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return { bytes, crc32: digits(crc) };
}

function storageFailure(verb: 'read' | 'write', path: string, error: unknown): never {
  throw storageError(verb, path, error);
}

/** The last bytes of a file that a source has read: their checksum tells whether the file is still the same one. */
import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

/** Bytes that are compared. */
const most = 2 ** 16;

export class FileTail {
  #bytes: Buffer;

  private constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Reads the last bytes before a position. */
  static async before(file: FileHandle, position: number): Promise<FileTail> {
    const buffer = Buffer.alloc(Math.min(most, position));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position - buffer.length);
    return new FileTail(buffer.subarray(0, bytesRead));
  }

  /** Returns the tail after more bytes. */
  with(more: Buffer): FileTail {
    const kept = this.#bytes.subarray(Math.max(0, this.#bytes.length + more.length - most));
    // A copy, because the bytes are part of a larger buffer.
    return new FileTail(Buffer.concat([kept, more.subarray(-most)]));
  }

  /** Number and checksum of the bytes. */
  get mark(): string {
    return `${this.#bytes.length} ${crc32(this.#bytes).toString(16).padStart(8, '0')}`;
  }
}

/**
 * The bytes of one partition file: streamed through a piece of page-aligned memory, or moved whole, with the checksum
 * computed on the kernels' own threads while the next piece is on its way.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { asyncKernels } from '../native/index.js';
import { FormatError } from '../util/errors.js';
import { type DirectIo, padToPage, readFully, transferBytes, writeFully } from './direct-io.js';

/** Takes bytes in any pieces and writes them in whole pages, zeros at the end; `finish` gives the checksum. */
export class StagedWriter {
  readonly #file: FileHandle;
  readonly #staging: Uint8Array;
  #filled = 0;
  #position = 0;
  #crc = 0;

  constructor(file: FileHandle, staging: Uint8Array) {
    this.#file = file;
    this.#staging = staging;
  }

  async append(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const count = Math.min(bytes.length - done, this.#staging.length - this.#filled);
      this.#staging.set(bytes.subarray(done, done + count), this.#filled);
      this.#filled += count;
      done += count;
      if (this.#filled === this.#staging.length) await this.#flush();
    }
  }

  async finish(): Promise<number> {
    const padded = padToPage(this.#filled);
    this.#staging.fill(0, this.#filled, padded);
    this.#filled = padded;
    await this.#flush();
    return this.#crc;
  }

  async #flush(): Promise<void> {
    const piece = this.#staging.subarray(0, this.#filled);
    const [crc] = await Promise.all([
      asyncKernels.crc32(piece, piece.length, this.#crc),
      writeFully(this.#file, piece, this.#position),
    ]);
    this.#crc = crc;
    this.#position += this.#filled;
    this.#filled = 0;
  }
}

export interface CheckedRead {
  /** What the file must have. */
  readonly bytes: number;
  readonly crc: number;
  /** Page-aligned memory for a piece of the file, or for all of it when there is no sink. */
  readonly staging: Uint8Array;
  /** Takes the pieces in order. */
  readonly sink: ((piece: Uint8Array, position: number) => void) | null;
}

/** Reads a file of known length and checksum; refuses any other by name. */
export async function readChecked(io: DirectIo, path: string, options: CheckedRead): Promise<void> {
  const { bytes, crc, staging, sink } = options;
  const step = sink === null ? transferBytes : staging.length;
  let got = Promise.resolve(0);
  await io.withFile(path, 'read', async (file) => {
    got = Promise.resolve(0);
    const { size } = await file.stat();
    if (size !== bytes) throw wrongSize(path, bytes, size);
    for (let position = 0; position < bytes; position += step) {
      const count = Math.min(step, bytes - position);
      const piece = sink === null ? staging.subarray(position, position + count) : staging.subarray(0, count);
      const read = await readFully(file, piece, position);
      if (read < count) throw wrongSize(path, bytes, position + read);
      got = got.then((before) => asyncKernels.crc32(piece, count, before));
      if (sink !== null) {
        await got;
        sink(piece, position);
      }
    }
    await got;
  });
  const found = await got;
  if (found === crc) return;
  const advice = 'The file is damaged; go back to an older checkpoint.';
  throw new FormatError(`read: expected checksum ${hex(crc)} in ${path}, got ${hex(found)}. ${advice}`, {
    path,
  });
}

/** Writes page-aligned memory as the start of a file; returns its checksum. */
export async function writeChecked(io: DirectIo, path: string, image: Uint8Array): Promise<number> {
  const [crc] = await Promise.all([
    asyncKernels.crc32(image, image.length, 0),
    io.withFile(path, 'write', (file) => writeFully(file, image, 0)),
  ]);
  return crc;
}

/** Copies a piece of the concatenation of `views` that starts at `offset` into them; returns where it ends. */
export function scatterToViews(piece: Uint8Array, views: readonly Uint8Array[], offset: number): number {
  let start = 0;
  let done = 0;
  for (const view of views) {
    const from = offset + done - start;
    if (from >= 0 && from < view.length && done < piece.length) {
      const count = Math.min(view.length - from, piece.length - done);
      view.set(piece.subarray(done, done + count), from);
      done += count;
    }
    start += view.length;
  }
  return offset + piece.length;
}

export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function wrongSize(path: string, want: number, got: number): FormatError {
  const advice = 'The file is truncated or belongs to another table; go back to an older checkpoint.';
  return new FormatError(`read: expected ${want} bytes in ${path}, got ${got}. ${advice}`, { path });
}

function hex(crc: number): string {
  return `0x${crc.toString(16).padStart(8, '0')}`;
}

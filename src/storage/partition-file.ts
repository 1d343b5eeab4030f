/**
 * Transfers one partition file: streamed through page-aligned staging memory, or as a whole, with the checksum computed
 * on the kernels' threads during the transfer of the next chunk.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { asyncKernels } from '../native/index.js';
import { FormatError } from '../util/errors.js';
import { type DirectIo, padToPage, readFully, transferBytes, writeFully } from './direct-io.js';

/**
 * Buffers appended bytes and writes them in whole pages, with zeros at the end; `finish` returns the checksum. One half
 * of the staging memory is filled while the other is written.
 */
export class StagedWriter {
  readonly #file: FileHandle;
  readonly #halves: readonly Uint8Array[];
  #half = 0;
  #filled = 0;
  #position = 0;
  /** The checksum of everything written; rejects if a write failed. */
  #done: Promise<number> = Promise.resolve(0);

  constructor(file: FileHandle, staging: Uint8Array) {
    this.#file = file;
    this.#halves = splitStaging(staging);
  }

  async append(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const half = this.#halves[this.#half];
      const count = Math.min(bytes.length - done, half.length - this.#filled);
      half.set(bytes.subarray(done, done + count), this.#filled);
      this.#filled += count;
      done += count;
      if (this.#filled === half.length) await this.#flush();
    }
  }

  async finish(): Promise<number> {
    const padded = padToPage(this.#filled);
    this.#halves[this.#half].fill(0, this.#filled, padded);
    this.#filled = padded;
    await this.#flush();
    return this.#done;
  }

  /** Starts to write the filled half, once the other is written. */
  async #flush(): Promise<void> {
    const before = await this.#done;
    const piece = this.#halves[this.#half].subarray(0, this.#filled);
    const position = this.#position;
    this.#done = Promise.all([
      asyncKernels.crc32(piece, piece.length, before),
      writeFully(this.#file, piece, position),
    ]).then(([crc]) => crc);
    // Observed by the next flush or by finish; must not be reported as unhandled before.
    this.#done.catch(() => {});
    this.#position += this.#filled;
    this.#filled = 0;
    if (this.#halves.length === 1) await this.#done;
    else this.#half = 1 - this.#half;
  }
}

/** Splits memory into two equal halves of whole pages, or returns it whole if it has too few. */
function splitStaging(staging: Uint8Array): Uint8Array[] {
  const half = padToPage(Math.floor(staging.length / 2));
  return 2 * half > staging.length
    ? [staging]
    : [staging.subarray(0, half), staging.subarray(half, 2 * half)];
}

export interface CheckedRead {
  /** The length that the file must have. */
  readonly bytes: number;
  readonly crc: number;
  /** Page-aligned memory for chunks of the file, or for all of it if there is no sink. */
  readonly staging: Uint8Array;
  /** Receives the chunks in order. */
  readonly sink: ((piece: Uint8Array, position: number) => void) | null;
}

/** Reads a file; throws if its length or checksum differs. */
export async function readChecked(io: DirectIo, path: string, options: CheckedRead): Promise<void> {
  const { bytes, crc, staging, sink } = options;
  // A chunk is checked and passed to the sink while the next one is read into the other half.
  const halves = sink === null ? [] : splitStaging(staging);
  const step = sink === null ? transferBytes : halves[0].length;
  const found = await io.withFile(path, 'read', async (file) => {
    const { size } = await file.stat();
    if (size !== bytes) throw wrongSize(path, bytes, size);
    let got = 0;
    let checking = Promise.resolve();
    for (let position = 0, i = 0; position < bytes; position += step, i++) {
      const count = Math.min(step, bytes - position);
      const piece =
        sink === null
          ? staging.subarray(position, position + count)
          : halves[i % halves.length].subarray(0, count);
      const read = await readFully(file, piece, position);
      await checking;
      if (read < count) throw wrongSize(path, bytes, position + read);
      checking = asyncKernels.crc32(piece, count, got).then((value) => {
        got = value;
        sink?.(piece, position);
      });
      // Awaited later; if a read fails first, it must not be reported as unhandled.
      checking.catch(() => {});
      if (halves.length === 1) await checking;
    }
    await checking;
    return got;
  });
  if (found === crc) return;
  const advice = 'The file is corrupt; resume from an older checkpoint.';
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

/** Copies a chunk of the concatenation of `views`, from `offset` on, into the views; returns its end. */
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
  const advice = 'The file is truncated or belongs to another table; resume from an older checkpoint.';
  return new FormatError(`read: expected ${want} bytes in ${path}, got ${got}. ${advice}`, { path });
}

function hex(crc: number): string {
  return `0x${crc.toString(16).padStart(8, '0')}`;
}

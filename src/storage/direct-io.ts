/**
 * Reads and writes whole files, bypassing the page cache where the file system supports it (O_DIRECT).
 *
 * A table larger than memory gains nothing from the page cache: each page would be copied again, evict others, and
 * count towards the memory limit of the process's cgroup. Direct transfers require memory, positions and lengths in
 * whole pages, so files are padded with zeros to whole pages in both modes.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { prepareBlock } from '../native/index.js';
import { expected, ValueError } from '../util/errors.js';
import { codeOf } from './atomic-file.js';
import type { IoMode } from './io-mode.js';

const pageBytes = 4096;

/** The most bytes per system call: large enough for the full rate of the disk. */
export const transferBytes = 2 ** 26;

/** The most elements of a typed array on Node.js 20. */
export const maxElements = 2 ** 32 - 1;

export function padToPage(bytes: number): number {
  return Math.ceil(bytes / pageBytes) * pageBytes;
}

/**
 * Allocates zeroed memory that starts at a page. Without the addon the address is unknown and transfers are buffered.
 */
export function alignedBytes(bytes: number, what: string): Uint8Array<ArrayBuffer> {
  if (bytes + pageBytes > maxElements) {
    const advice = 'Use more partitions, so that each is smaller.';
    throw new ValueError(expected(what, 'less than 4 GiB', 'the bytes of one buffer', bytes, advice));
  }
  const block = new Uint8Array(bytes + pageBytes);
  const miss = prepareBlock(block, pageBytes);
  return block.subarray(miss === 0 ? 0 : pageBytes - miss, (miss === 0 ? 0 : pageBytes - miss) + bytes);
}

/** Opens the files of one table and detects whether direct transfers work there. */
export class DirectIo {
  #direct: boolean;

  constructor(mode: IoMode) {
    this.#direct = mode === 'auto' && Number.isInteger(constants.O_DIRECT);
  }

  get direct(): boolean {
    return this.#direct;
  }

  /** Runs `work` on the opened file; runs it again, buffered, if direct transfers are not supported. */
  async withFile<T>(
    path: string,
    mode: 'read' | 'write',
    work: (file: FileHandle) => Promise<T>,
  ): Promise<T> {
    const flags = mode === 'read' ? constants.O_RDONLY : constants.O_WRONLY | constants.O_CREAT;
    const direct = this.#direct;
    try {
      const file = await open(path, flags | (direct ? constants.O_DIRECT : 0));
      try {
        return await work(file);
      } finally {
        await file.close();
      }
    } catch (error) {
      if (!direct || !['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes(codeOf(error))) throw error;
      this.#direct = false;
      return this.withFile(path, mode, work);
    }
  }
}

/** Fills `bytes` from `position`; returns the number of bytes read. */
export async function readFully(file: FileHandle, bytes: Uint8Array, position: number): Promise<number> {
  let done = 0;
  while (done < bytes.length) {
    const want = Math.min(transferBytes, bytes.length - done);
    const { bytesRead } = await file.read(bytes, done, want, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
    // A direct read that ends within a page has reached the end of the file.
    if (bytesRead < want && done % pageBytes !== 0) break;
  }
  return done;
}

export async function writeFully(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const want = Math.min(transferBytes, bytes.length - done);
    const { bytesWritten } = await file.write(bytes, done, want, position + done);
    done += bytesWritten;
  }
}

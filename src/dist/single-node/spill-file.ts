/**
 * Memory segments in a safetensors file, written from their memory and read back into it, without a copy in between.
 * Every segment is a tensor of bytes; any reader of safetensors can list them.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { withStorageErrors } from '../../storage/atomic-file.js';
import { StorageError } from '../../util/errors.js';

export interface Segment {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Some systems reject larger reads and writes. */
const maxTransferBytes = 2 ** 30;

/**
 * Writes a new file; returns its number of bytes. The file is scratch: it is neither synced nor replaced atomically.
 */
export function writeSegments(path: string, segments: readonly Segment[]): number {
  let end = 0;
  const entries = segments.map(({ name, bytes }) => {
    const begin = end;
    end += bytes.length;
    return [name, { dtype: 'U8', shape: [bytes.length], data_offsets: [begin, end] }] as const;
  });
  const text = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const start = 8 + Math.ceil(text.length / 8) * 8;
  const header = new Uint8Array(start).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(start - 8), true);
  header.set(text, 8);
  const file = withStorageErrors('write', path, () => openSync(path, 'w'));
  try {
    transfer(path, file, header, 0, writeSync);
    let at = start;
    for (const { bytes } of segments) {
      transfer(path, file, bytes, at, writeSync);
      at += bytes.length;
    }
  } finally {
    closeSync(file);
  }
  return start + end;
}

/**
 * Reads the segments that `writeSegments` wrote, in the same order and of the same lengths; returns the number of
 * bytes.
 */
export function readSegments(path: string, segments: readonly Segment[]): number {
  const file = withStorageErrors('read', path, () => openSync(path, 'r'));
  try {
    const length = new Uint8Array(8);
    transfer(path, file, length, 0, readSync);
    let at = 8 + Number(new DataView(length.buffer).getBigUint64(0, true));
    for (const { bytes } of segments) {
      transfer(path, file, bytes, at, readSync);
      at += bytes.length;
    }
    return at;
  } finally {
    closeSync(file);
  }
}

function transfer(
  path: string,
  file: number,
  bytes: Uint8Array,
  position: number,
  move: (file: number, bytes: Uint8Array, offset: number, length: number, position: number) => number,
): void {
  for (let done = 0; done < bytes.length; ) {
    const length = Math.min(bytes.length - done, maxTransferBytes);
    const moved = withStorageErrors(move === readSync ? 'read' : 'write', path, () =>
      move(file, bytes, done, length, position + done),
    );
    if (moved === 0)
      throw new StorageError(
        `spill: expected ${bytes.length} bytes at ${position} of ${path}, got ${done}. Check whether another program changed the file.`,
      );
    done += moved;
  }
}

/**
 * Pieces of memory in a safetensors file, written from where they lie and read back to the same places, without a copy
 * in between. Every piece is a tensor of bytes; any reader of safetensors can list them.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { storing } from '../../storage/atomic-file.js';
import { StorageError } from '../../util/errors.js';

export interface Piece {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** More at once is refused by some systems. */
const mostAtOnce = 2 ** 30;

/** Writes a new file; returns how many bytes. The file is scratch: it is neither synced nor replaced atomically. */
export function writePieces(path: string, pieces: readonly Piece[]): number {
  let end = 0;
  const entries = pieces.map(({ name, bytes }) => {
    const begin = end;
    end += bytes.length;
    return [name, { dtype: 'U8', shape: [bytes.length], data_offsets: [begin, end] }] as const;
  });
  const text = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const start = 8 + Math.ceil(text.length / 8) * 8;
  const header = new Uint8Array(start).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(start - 8), true);
  header.set(text, 8);
  const file = storing('write', path, () => openSync(path, 'w'));
  try {
    transfer(path, file, header, 0, writeSync);
    let at = start;
    for (const { bytes } of pieces) {
      transfer(path, file, bytes, at, writeSync);
      at += bytes.length;
    }
  } finally {
    closeSync(file);
  }
  return start + end;
}

/** Reads the pieces that `writePieces` wrote, in the same order and of the same lengths; returns how many bytes. */
export function readPieces(path: string, pieces: readonly Piece[]): number {
  const file = storing('read', path, () => openSync(path, 'r'));
  try {
    const length = new Uint8Array(8);
    transfer(path, file, length, 0, readSync);
    let at = 8 + Number(new DataView(length.buffer).getBigUint64(0, true));
    for (const { bytes } of pieces) {
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
    const length = Math.min(bytes.length - done, mostAtOnce);
    const moved = storing(move === readSync ? 'read' : 'write', path, () =>
      move(file, bytes, done, length, position + done),
    );
    if (moved === 0)
      throw new StorageError(
        `spill: expected ${bytes.length} bytes at ${position} of ${path}, got ${done}. Has another program changed the file?`,
      );
    done += moved;
  }
}

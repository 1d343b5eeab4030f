/** Follows a text file that grows: its complete lines, then new ones as they are written. */
import { open } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { type FileMark, isSameFile, markOf } from './file-mark.js';
import { readFlags } from './run-file.js';

/** New lines, or that the file was replaced and starts again. */
export type FollowedLines =
  | { readonly kind: 'lines'; readonly lines: readonly string[] }
  | { readonly kind: 'restart' };

const chunk = 256 * 1024;

/** A line longer than this is not a record of a run. */
const longestLine = 4 * 1024 * 1024;

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** Milliseconds between looks. Default 400. */
  readonly every?: number;
  /** The byte after which lines are wanted, the beginning of a line. Default 0. */
  readonly from?: number;
}

/** Ends when the signal is aborted. A file that does not exist yet has no lines. */
export async function* followLines(
  path: string,
  { signal, every = 400, from = 0 }: FollowOptions,
): AsyncGenerator<FollowedLines> {
  let position = from;
  let rest: Uint8Array = new Uint8Array(0);
  let mark: FileMark | null = null;
  while (!signal.aborted) {
    const found = lookAt(path, mark);
    const isOther = mark !== null && found !== null && !isSameFile(mark, found);
    if (found !== null && (isOther || found.size < position)) {
      position = 0;
      rest = new Uint8Array(0);
      yield { kind: 'restart' };
    }
    if (found !== null) mark = found;
    while (found !== null && position < found.size && !signal.aborted) {
      // A file that has just been removed has nothing to read; the next look finds its successor.
      const bytes = await readAt(path, position, Math.min(chunk, found.size - position)).catch(() => null);
      if (bytes === null || bytes.length === 0) break;
      position += bytes.length;
      const all = Buffer.concat([rest, bytes]);
      const end = all.lastIndexOf(10) + 1;
      rest = all.length - end > longestLine ? new Uint8Array(0) : all.subarray(end);
      const lines = all.subarray(0, end).toString('utf8').split('\n').filter(Boolean);
      if (lines.length > 0) yield { kind: 'lines', lines };
    }
    await setTimeout(every, undefined, { signal }).catch(() => {});
  }
}

/** Returns null for a file that cannot be read. */
function lookAt(path: string, before: FileMark | null): FileMark | null {
  try {
    return markOf(path, before);
  } catch {
    return null;
  }
}

async function readAt(path: string, position: number, length: number): Promise<Uint8Array> {
  const file = await open(path, readFlags);
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, position);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

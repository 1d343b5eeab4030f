/**
 * Tells whether a file that grows is still the one that was seen before. The number of a file does not say it: a file that is
 * removed and written again often gets the number of the old one.
 */
import { readSync, statSync } from 'node:fs';
import { withRunFile } from './run-file.js';

export interface FileMark {
  readonly size: number;
  /** A text that changes with every write. */
  readonly stamp: string;
  /** Device and number of the file. */
  readonly place: string;
  /** When the file was made, in milliseconds; null where the file system does not tell. */
  readonly born: number | null;
  /** The beginning of the first line: records of a run begin with their time. */
  readonly head: string;
}

/** Bytes of the first line that are compared. */
const mostHead = 512;

/** Returns the mark of a file, null if there is none. A file that is as it was before is not opened. @param before the mark of the last look */
export function markOf(path: string, before: FileMark | null = null): FileMark | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (before !== null && before.stamp === stampOf(found)) return before;
  return withRunFile(path, (file, facts) => {
    const bytes = Buffer.alloc(mostHead);
    const [line] = bytes.toString('latin1', 0, readSync(file, bytes, 0, mostHead, 0)).split('\n', 1);
    const { size, dev, ino, birthtimeMs, ctimeMs } = facts;
    // Where the time of birth is not known, the system gives 0 or the time of the last change.
    const born = birthtimeMs > 0 && birthtimeMs !== ctimeMs ? birthtimeMs : null;
    return { size, stamp: stampOf(facts), place: `${dev} ${ino}`, born, head: line };
  });
}

/** Returns whether a file has only grown, or been cut, since an earlier mark. */
export function isSameFile(before: FileMark, now: FileMark): boolean {
  if (before === now) return true;
  if (before.place !== now.place || !now.head.startsWith(before.head)) return false;
  return before.born === null || now.born === null || before.born === now.born;
}

interface Stamped {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

const stampOf = ({ dev, ino, size, mtimeMs, ctimeMs }: Stamped): string =>
  [dev, ino, size, mtimeMs, ctimeMs].join(' ');

/**
 * Files of a run as a server opens them. A run may come from elsewhere: reading a pipe would block the server, and a symbolic link
 * would show a file outside of the run.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { FormatError, StorageError } from '../../util/errors.js';

/** Flags that open a file without following a link and without waiting for the writer of a pipe. */
export const readFlags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** Most bytes of a file that is read as a whole. */
const mostBytes = 64 * 1024 * 1024;

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(error));

/** Opens a regular file for `work` and closes it. Returns null if there is none. */
export function withRunFile<T>(path: string, work: (file: number, stats: Stats) => T): T | null {
  const file = openRunFile(path);
  if (file === null) return null;
  try {
    const stats = fstatSync(file);
    checkRegular(path, stats);
    return work(file, stats);
  } finally {
    closeSync(file);
  }
}

function openRunFile(path: string): number | null {
  try {
    return openSync(path, readFlags);
  } catch (error) {
    if (isMissing(error)) return null;
    // A link or a socket has its own sentence.
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found !== undefined) checkRegular(path, found);
    throw new StorageError(
      `run: expected a readable file, got ${path} (${codeOf(error)}). Check the permissions of the file.`,
      { path },
    );
  }
}

/** Returns the text of a file of a run; null if there is none. */
export function readRunFile(path: string): string | null {
  return withRunFile(path, (file, stats) => {
    checkSize(path, stats);
    const bytes = Buffer.alloc(stats.size);
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, 0));
  });
}

/** Throws if there is something at a path that is not a regular file of moderate size. */
export function checkRunFile(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  checkRegular(path, found);
  checkSize(path, found);
}

/** Files that are read as text, and shown. */
const texts = ['full_config.yaml', 'done.json'];

/**
 * Throws if opening the files of a run could block: its directory and those of its checkpoints must have only files, folders,
 * and links to them.
 */
export function checkRunFiles(directory: string): void {
  for (const name of texts) checkRunFile(join(directory, name));
  for (const name of checkEntries(directory)) checkEntries(join(directory, name));
}

/** Returns the names of the folders in a folder. */
function checkEntries(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return [];
    if (entry.isDirectory()) return [entry.name];
    const target = statSync(path, { throwIfNoEntry: false });
    if (target !== undefined && !target.isDirectory()) checkRegular(path, target);
    return [];
  });
}

function checkRegular(path: string, stats: Stats): void {
  if (stats.isFile()) return;
  throw new FormatError(
    `run: expected a regular file, got ${path}, which is ${kindOf(stats)}. Replace it by the file itself.`,
    { path },
  );
}

function checkSize(path: string, { size }: Stats): void {
  if (size <= mostBytes) return;
  throw new FormatError(
    `run: expected a file of at most ${mostBytes / 2 ** 20} MiB, got ${path} with ${size.toLocaleString('en')} bytes. Restore the file.`,
    { path },
  );
}

function kindOf(stats: Stats): string {
  if (stats.isSymbolicLink()) return 'a symbolic link';
  if (stats.isDirectory()) return 'a directory';
  return stats.isFIFO() ? 'a pipe' : 'a socket or a device';
}

/**
 * Whole files: written so that a crash at any instant leaves the old file or the new one, read at any size.
 */
import { randomBytes } from 'node:crypto';
import { open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SkeinError, StorageError } from '../util/errors.js';

/** One read or write call of the system takes at most 2 GiB. */
const chunk = 2 ** 30;

/** Writes a temporary file beside `path`, makes it durable, and puts it in place of `path`. */
export async function writeFileAtomic(path: string, bytes: Uint8Array): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`);
  try {
    const file = await open(temporary, 'wx');
    try {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await file.write(bytes, done, Math.min(chunk, bytes.length - done), done);
        done += bytesWritten;
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(folder);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw storageError('write', path, error);
  }
}

/** The rename itself must reach the disk. Some systems cannot open a folder; there the rename is all we have. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP'].includes(codeOf(error))) throw error;
  }
}

/** All bytes of a file. */
export async function readWholeFile(path: string): Promise<Uint8Array> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const bytes = new Uint8Array(size);
      let done = 0;
      while (done < size) {
        const { bytesRead } = await file.read(bytes, done, Math.min(chunk, size - done), done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      // A file that shrank meanwhile is judged by what is there.
      return bytes.subarray(0, done);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw storageError('read', path, error);
  }
}

const advice: Readonly<Record<string, string>> = {
  ENOENT: 'Look at the spelling, and create the folder or save the file first.',
  EACCES: 'Change its permissions or choose another place.',
  EPERM: 'Change its permissions or choose another place.',
  EROFS: 'The file system is read-only; choose another place.',
  EISDIR: 'This is a folder; name a file in it.',
  ENOTDIR: 'A part of the path is a file, not a folder.',
  ENAMETOOLONG: 'Choose a shorter name.',
  ELOOP: 'Its symbolic links lead round in a circle.',
  ENOSPC: 'The disk is full; free some space. The file that was there before is untouched.',
};

export function storageError(verb: 'read' | 'write', path: string, error: unknown): StorageError {
  const code = codeOf(error);
  const what = advice[code] ?? 'The cause is attached.';
  const reason = code === '' || code.startsWith('SKEIN') ? String(error) : code;
  return new StorageError(
    `${verb}: expected to ${verb} ${path}, got ${reason}. ${what}`,
    { path, code },
    { cause: error },
  );
}

/** Runs what reads or writes `path`; what the system refuses becomes a `StorageError`. */
export function storing<T>(verb: 'read' | 'write', path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof SkeinError ? error : storageError(verb, path, error);
  }
}

export function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | null)?.code ?? '');
}

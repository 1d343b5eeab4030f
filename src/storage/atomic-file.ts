/**
 * Whole files: written so that a crash at any instant leaves the old file or the new one, read at any size.
 *
 * Node.js's modules are looked up when a file is touched, not imported: a page can then load a `MemoryStore`, which has a
 * file only when it is given one.
 */
import { SkeinError, StateError, StorageError } from '../util/errors.js';
import { removeAbandoned, temporaryName } from './temporary-name.js';

/** One read or write call of the system takes at most 2 GiB. */
const chunk = 2 ** 30;

interface NodeFiles {
  readonly fs: typeof import('node:fs/promises');
  readonly path: typeof import('node:path');
}

function nodeFiles(verb: 'read' | 'write', path: string): NodeFiles {
  const builtin = globalThis.process?.getBuiltinModule;
  if (builtin === undefined)
    throw new StateError(
      `${verb}: expected Node.js to ${verb} ${path}, but this is a browser, which has no files. Keep the data in memory.`,
    );
  return { fs: builtin('node:fs/promises'), path: builtin('node:path') };
}

/**
 * Writes a temporary file beside `path`, makes it durable, and puts it in place of `path`. Temporary files of processes that
 * were killed while they wrote to the same place go.
 */
export async function writeFileAtomic(path: string, bytes: Uint8Array): Promise<void> {
  const { fs, path: paths } = nodeFiles('write', path);
  const folder = paths.dirname(path);
  const temporary = temporaryName(path);
  try {
    await removeAbandoned(path);
    const file = await fs.open(temporary, 'wx');
    try {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await file.write(bytes, done, Math.min(chunk, bytes.length - done), done);
        done += bytesWritten;
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await fs.rename(temporary, path);
    await syncFolder(folder);
  } catch (error) {
    await fs.unlink(temporary).catch(() => {});
    throw storageError('write', path, error);
  }
}

/** The rename itself must reach the disk. Some systems cannot open a folder; there the rename is all we have. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await nodeFiles('write', folder).fs.open(folder, 'r');
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
  const { fs } = nodeFiles('read', path);
  try {
    const file = await fs.open(path, 'r');
    try {
      const { size } = await file.stat();
      const bytes = new Uint8Array(size);
      let done = 0;
      while (done < size) {
        const { bytesRead } = await file.read(bytes, done, Math.min(chunk, size - done), done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      // A file that shrank meanwhile is described by what is there.
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
  EEXIST: 'There is something of that name already; choose another.',
  ENOTEMPTY: 'The folder is not empty; choose another.',
  ENAMETOOLONG: 'Choose a shorter name.',
  ELOOP: 'Its symbolic links lead round in a circle.',
  ENOSPC: 'The disk is full; free some space. What was there before is untouched.',
  EDQUOT: 'The disk quota is used up; free some space or choose another disk.',
  EIO: 'The disk or its connection failed; see the system log.',
  EMFILE: 'Too many files are open; raise the limit (ulimit -n).',
  ENFILE: 'Too many files are open on this machine; close some programs.',
  EFBIG: 'The file system does not take files of this size; choose another.',
};

/** Codes that tell of a machine in trouble rather than of a wrong path. */
const troubles = ['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE', 'ENOMEM', 'EFBIG', 'ESTALE', 'ETIMEDOUT'];

/** Whether reading or writing failed for a reason that another path or another spelling would not change. */
export function isMachineTrouble(error: unknown): boolean {
  return error instanceof StorageError && troubles.includes(String(error.details['code']));
}

/** An error of the operating system as Node.js throws it. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && /^E[A-Z0-9]+$/.test(codeOf(error)) && 'syscall' in error;
}

/** A system error of a file, in words; `path` where the error itself does not say which (writes to an open file). */
export function fromSystem(error: NodeJS.ErrnoException, path: string): StorageError {
  const reading = ['scandir', 'read', 'stat', 'lstat', 'readlink', 'access'];
  const verb = reading.includes(error.syscall ?? '') ? 'read' : error.syscall === 'open' ? 'open' : 'write';
  return storageError(verb, error.path ?? path, error);
}

export function storageError(verb: 'read' | 'write' | 'open', path: string, error: unknown): StorageError {
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

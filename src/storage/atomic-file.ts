/**
 * Reads and writes whole files of any size; a crash at any instant during a write leaves the old file or the new one.
 *
 * Node.js's modules are looked up on use, not imported, so that a page can load a `MemoryStore`, which needs no file.
 */
import { SkeinError, StateError, StorageError } from '../util/errors.js';
import { removeAbandoned, temporaryName } from './temporary-name.js';

/** The bytes per system call, which transfers at most 2 GiB. */
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
 * Writes a temporary file next to `path`, makes it durable, and renames it to `path`. Removes temporary files of killed
 * processes that wrote to the same path.
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

/** Makes a rename in a folder durable. Systems that cannot open a folder do not support this. */
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

/** Reads all bytes of a file. */
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
      // The file may have been truncated while it was read.
      return bytes.subarray(0, done);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw storageError('read', path, error);
  }
}

const advice: Readonly<Record<string, string>> = {
  ENOENT: 'Check the spelling, or create the folder or the file first.',
  EACCES: 'Change its permissions or choose another path.',
  EPERM: 'Change its permissions or choose another path.',
  EROFS: 'The file system is read-only; choose another path.',
  EISDIR: 'This is a folder; give the path of a file.',
  ENOTDIR: 'A component of the path is a file, not a folder.',
  EEXIST: 'The name is taken; choose another.',
  ENOTEMPTY: 'The folder is not empty; choose another.',
  ENAMETOOLONG: 'Choose a shorter name.',
  ELOOP: 'Its symbolic links form a loop.',
  ENOSPC: 'The disk is full; free some space. The previous content is unchanged.',
  EDQUOT: 'The disk quota is exhausted; free some space or choose another disk.',
  EIO: 'The disk or its connection failed; see the system log.',
  EMFILE: 'Too many files are open; raise the limit (ulimit -n).',
  ENFILE: 'Too many files are open on this machine; close some programs.',
  EFBIG: 'The file system does not support files of this size; choose another.',
};

/** Codes of failures of the machine rather than of a wrong path. */
const troubles = ['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE', 'ENOMEM', 'EFBIG', 'ESTALE', 'ETIMEDOUT'];

/** Whether reading or writing failed because of the machine, not because of the path. */
export function isMachineTrouble(error: unknown): boolean {
  return error instanceof StorageError && troubles.includes(String(error.details['code']));
}

/** Whether an error is one of the operating system, as Node.js throws it. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && /^E[A-Z0-9]+$/.test(codeOf(error)) && 'syscall' in error;
}

/** Converts a system error; `path` is used if the error has none (writes to an open file). */
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

/** Runs a function that reads or writes `path`; a system error becomes a `StorageError`. */
export function withStorageErrors<T>(verb: 'read' | 'write', path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof SkeinError ? error : storageError(verb, path, error);
  }
}

export function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | null)?.code ?? '');
}

/**
 * Locks a folder for one process, since two would overwrite each other's files. The lock is a file with the owner's
 * process id and start time; one whose owner is gone (killed, machine restarted) is ignored. Unlike `flock` it names
 * its owner and never waits; it works for processes of one machine, which see each other's ids.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { codeOf, storageError } from './atomic-file.js';
import { temporaryName } from './temporary-name.js';

export interface ProcessLock {
  /** Whether the lock was left by a process that is gone, which may have left other files too. */
  readonly takenOver: boolean;
  /** Releases the lock; does nothing if another process has it now. */
  release(): void;
}

/** Takes the lock at `path`. If a live process has it, throws the error that `refuse` makes for its id. */
export function lockForProcess(path: string, refuse: (pid: number) => Error): ProcessLock {
  const text = `${process.pid} ${startTime(process.pid) ?? ''} ${randomBytes(6).toString('hex')}\n`;
  let takenOver = false;
  for (;;) {
    let found: string | null;
    try {
      if (create(path, text)) return { takenOver, release: () => release(path, text) };
      found = textOf(path);
    } catch (error) {
      throw storageError('write', path, error);
    }
    if (found === null) continue;
    const owner = findLiveOwner(found);
    if (owner !== null) throw refuse(owner);
    removeStale(path, found);
    takenOver = true;
  }
}

/** Returns the process that has the lock at `path`; null if none has. */
export function lockOwner(path: string): number | null {
  try {
    const found = textOf(path);
    return found === null ? null : findLiveOwner(found);
  } catch (error) {
    throw storageError('read', path, error);
  }
}

/** Creates the lock; false if there is one. The file appears with its content: an empty one would look abandoned. */
function create(path: string, text: string): boolean {
  const draft = temporaryName(path);
  try {
    writeFileSync(draft, text, { flag: 'wx' });
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(codeOf(error))) throw error;
    return createPlainly(path, text);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Creates the lock on a file system without links. */
function createPlainly(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Removes a stale lock. Of two processes that find it, the slower must not remove the new lock of the other. */
function removeStale(path: string, stale: string): void {
  const taken = temporaryName(path);
  try {
    renameSync(path, taken);
    if (readFileSync(taken, 'utf8') !== stale) linkSync(taken, path);
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes(codeOf(error))) throw storageError('write', path, error);
  } finally {
    rmSync(taken, { force: true });
  }
}

function release(path: string, text: string): void {
  try {
    if (textOf(path) === text) rmSync(path, { force: true });
  } catch (error) {
    throw storageError('write', path, error);
  }
}

/** Reads the lock; null if it has just been removed. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function findLiveOwner(text: string): number | null {
  const [pid, started = ''] = text.trim().split(' ');
  // A larger number is not a process id, and 0 would mean this process and its relatives.
  if (!/^[1-9]\d{0,8}$/.test(pid)) return null;
  const now = startTime(Number(pid));
  return now !== null && (now === '' || started === now) ? Number(pid) : null;
}

/**
 * Returns the start time, which tells a process from a later one with the same id; null if it is gone, '' if unknown.
 */
function startTime(pid: number): string | null {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return null;
  }
  try {
    // The name in field 2 may hold spaces and brackets; state is the first field after it, start time the twentieth.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[0] === 'Z' ? null : fields[19];
  } catch {
    return '';
  }
}

/**
 * One process at a time in a folder: two would write over each other's files. The lock is a file with the owner's process
 * number and start time; one whose owner is gone (killed, machine restarted) counts for nothing. Unlike `flock` it says
 * who has it and is refused at once; it is for processes that see each other's numbers, those of one machine.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { codeOf, storageError } from './atomic-file.js';
import { temporaryName } from './temporary-name.js';

export interface ProcessLock {
  /** Whether it was left behind by a process that is gone, and so perhaps were other files. */
  readonly takenOver: boolean;
  /** Gives it up; nothing where it is another's by now. */
  release(): void;
}

/** Takes the lock at `path`. While a living process has it, throws what `refuse` makes of that process's number. */
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
    const owner = livingOwner(found);
    if (owner !== null) throw refuse(owner);
    removeStale(path, found);
    takenOver = true;
  }
}

/** False when there is one. The file appears with its text: one seen empty would count as left behind. */
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

/** For file systems without links. */
function createPlainly(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Of two that find the same stale lock the slower must not remove the lock of the quicker: it looks at what it took. */
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

/** Null when it has gone meanwhile. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function livingOwner(text: string): number | null {
  const [pid, started = ''] = text.trim().split(' ');
  if (!/^\d+$/.test(pid)) return null;
  const now = startTime(Number(pid));
  return now !== null && (now === '' || started === now) ? Number(pid) : null;
}

/** What tells a process from a later one with the same number; null when it is gone, '' where the system does not say. */
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

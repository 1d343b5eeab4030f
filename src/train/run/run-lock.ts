/**
 * One process at a time in a run directory: two would write over each other's checkpoints. The lock is a file with the
 * owner's process number and start time; one whose owner is gone (killed, machine restarted) counts for nothing.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { StateError } from '../../util/errors.js';

/** What tells a process from a later one with the same number; null when it is gone, '' where the system does not say. */
function startTime(pid: number): string | null {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return null;
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

/** Takes the lock at `path`; gives what releases it. */
export function lockRun(path: string): () => void {
  for (;;) {
    try {
      writeFileSync(path, `${process.pid} ${startTime(process.pid) ?? ''}\n`, { flag: 'wx' });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const owner = ownerOf(path);
    if (owner?.alive === true)
      throw new StateError(
        `run: expected a directory that no process works in, got ${dirname(path)} of process ${owner.pid}. Wait for it, or choose another storage.model_dir.`,
        { path },
      );
    rmSync(path, { force: true });
  }
}

function ownerOf(path: string): { readonly pid: number; readonly alive: boolean } | null {
  try {
    const [pid, started] = readFileSync(path, 'utf8').trim().split(' ');
    if (!/^\d+$/.test(pid)) return null;
    const now = startTime(Number(pid));
    return { pid: Number(pid), alive: now !== null && (now === '' || (started ?? '') === now) };
  } catch {
    return null;
  }
}

/** A memory cgroup of version 1 or 2 for a measured process; needs root and Linux. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface MemoryGroup {
  /** A process joins by writing its id to this file. */
  readonly enter: string;
  /** Returns the peak in MiB. */
  peak(): number;
  remove(): void;
}

/** Creates a memory cgroup; returns null if that is not possible and reports the reason to `say`. */
export function makeMemoryGroup(bytes: number, say: (line: string) => void): MemoryGroup | null {
  const name = `skein-bench-${process.pid}`;
  const one = `/sys/fs/cgroup/memory/${name}`;
  const two = `/sys/fs/cgroup/${name}`;
  const [path, limit, tasks, peak] = existsSync('/sys/fs/cgroup/memory')
    ? [one, 'memory.limit_in_bytes', 'tasks', 'memory.max_usage_in_bytes']
    : [two, 'memory.max', 'cgroup.procs', 'memory.peak'];
  try {
    mkdirSync(path);
    writeFileSync(join(path, limit), String(Math.floor(bytes)));
  } catch (error) {
    say(`no memory cgroup (${String(error)}): the process is not limited.`);
    return null;
  }
  return {
    enter: join(path, tasks),
    peak: () => Number(readFileSync(join(path, peak), 'utf8')) / 2 ** 20,
    remove: () => rmdirSync(path),
  };
}

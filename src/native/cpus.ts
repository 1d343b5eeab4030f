/**
 * How many processors this process may keep busy. Containers are limited by a quota of processor time (cgroups), of which
 * `availableParallelism` ignores in Node.js 20: one with 2 of 64 processors would start 64 threads and be throttled most of
 * the time.
 */

/** The contents of a small file; null where there is none. */
type Read = (path: string) => string | null;

const root = '/sys/fs/cgroup';

function readFile(path: string): string | null {
  try {
    return process.getBuiltinModule('node:fs').readFileSync(path, 'utf8');
  } catch {
    // Only Linux has these files, and not every Linux all of them.
    return null;
  }
}

/** A folder and those above it up to `base`: limits of all of them hold. */
function* upTo(base: string, path: string): Generator<string> {
  const parts = path.split('/').filter((part) => part !== '');
  for (let length = parts.length; length >= 0; length--) yield [base, ...parts.slice(0, length)].join('/');
}

/** Processors that a folder of cgroup v2 (`cpu.max`: quota and period, or `max`) or v1 allows; null without a limit. */
function limitIn(folder: string, read: Read): number | null {
  const [quota, period] = (
    read(`${folder}/cpu.max`) ??
    `${read(`${folder}/cpu.cfs_quota_us`) ?? ''} ${read(`${folder}/cpu.cfs_period_us`) ?? ''}`
  )
    .trim()
    .split(/\s+/)
    .map(Number);
  // No limit is `max` in v2, −1 in v1.
  return quota > 0 && period > 0 ? quota / period : null;
}

/** Processors that this process's cgroups allow, such as 1.5; null where there is no limit. */
export function cpuQuota(read: Read = readFile): number | null {
  // A line for each hierarchy: `0::/path` is that of v2, `4:cpu,cpuacct:/path` one of v1. In a container the path may be the
  // host's, of which only the base is to be seen.
  const lines = (read('/proc/self/cgroup') ?? '').split('\n').map((line) => line.split(':'));
  const folders = lines.flatMap(([id, controllers, ...path]) => {
    if (id === '0' && controllers === '') return [...upTo(root, path.join(':'))];
    return controllers?.split(',').includes('cpu')
      ? [...upTo(`${root}/${controllers}`, path.join(':')), ...upTo(`${root}/cpu`, path.join(':'))]
      : [];
  });
  const limits = folders.map((folder) => limitIn(folder, read)).filter((limit) => limit !== null);
  return limits.length === 0 ? null : Math.min(...limits);
}

/** Threads that can run at the same time: processors, or the quota rounded up where that is less; 1 outside Node.js. */
export function availableCpus(quota: number | null = cpuQuota()): number {
  const processors = globalThis.process?.getBuiltinModule?.('node:os').availableParallelism() ?? 1;
  return quota === null ? processors : Math.max(1, Math.min(processors, Math.ceil(quota)));
}

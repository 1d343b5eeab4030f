/** Checks of the machine: platform, Node.js, build tools, disk, memory, the port of `skein serve`. */
import { accessSync, constants, existsSync, readFileSync, statfsSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, cpus, freemem, release, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { cpuQuota } from '../../native/cpus.js';
import { invocation } from '../../util/invocation.js';
import { formatBytes } from '../../util/size.js';
import { type Check, findProgram, runLimited } from './check.js';
import { installCommand } from './install-commands.js';

/** `quota`: processors that the cgroup allows; null without a limit. */
export function checkPlatform(quota: number | null = cpuQuota()): Check {
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  const cores = availableParallelism();
  const limited = quota !== null && quota < cores;
  const bound = limited ? `, this process may use ${Number(quota.toFixed(2))} (cgroup)` : '';
  const found = `${process.platform}-${process.arch}, kernel ${release()}, ${model}, ${cores} cores${bound}`;
  return {
    ...{ name: 'platform', state: 'ok', found },
    details: { cores, ...(limited ? { limit_cores: quota } : {}) },
  };
}

/** `wanted`: the `engines.node` of package.json, such as `>=20.19`. */
export function checkNode(wanted: string, version: string = process.versions.node): Check {
  const [major, minor] = version.split('.').map(Number);
  const [least, leastMinor] = (/(\d+)\.(\d+)/.exec(wanted) ?? ['', '0', '0']).slice(1).map(Number);
  const isNew = major > least || (major === least && minor >= leastMinor);
  if (isNew) return { name: 'Node.js', state: 'ok', found: version };
  return {
    ...{ name: 'Node.js', state: 'problem', needed: true },
    found: `${version}; Skein needs ${least}.${leastMinor} or newer`,
    fix: 'install a newer version from https://nodejs.org',
  };
}

/** Checks the tools of `skein build`. */
export async function checkBuildTools(): Promise<Check> {
  const chosen = process.env['CXX']?.trim().split(/\s+/).at(-1);
  const compilers = chosen ? [chosen] : ['g++', 'c++', 'clang++'];
  const compiler = compilers.find((name) => findProgram(name) !== null);
  const missing = [
    ...(findProgram('make') === null ? ['make'] : []),
    ...(compiler === undefined ? [`a C++ compiler (${compilers.join(', ')})`] : []),
  ];
  if (missing.length > 0 || compiler === undefined)
    return {
      ...{ name: 'build tools', state: 'missing' },
      found: `${missing.join(' and ')} not found; only skein build needs them`,
      fix: installCommand('compiler'),
    };
  const { out } = await runLimited(compiler, ['--version'], 10);
  return { name: 'build tools', state: 'ok', found: `make, ${out.split('\n')[0] || compiler}` };
}

const lowSpace = 512 * 2 ** 20;

export function checkDisk(name: string, folder: string): Check {
  const path = resolve(folder);
  if (!existsSync(path))
    return { name, state: 'missing', found: `${path} does not exist`, fix: `mkdir -p ${path}` };
  try {
    const { bavail, bsize } = statfsSync(path);
    const free = bavail * bsize;
    const found = `${formatBytes(free)} free in ${path}`;
    const details = { path, free_bytes: free };
    if (free < lowSpace) return { name, state: 'problem', found, fix: 'free some space', details };
    accessSync(path, constants.W_OK);
    return { name, state: 'ok', found, details };
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    return { name, state: 'problem', found: `${path} cannot be written (${code})`, fix: `chmod u+w ${path}` };
  }
}

export function checkMachineMemory(): Check {
  const total = totalmem();
  const free = availableMemory();
  // Without a limit this is 0 or larger than the memory of any machine.
  const limit = process.constrainedMemory();
  const limited = limit > 0 && limit < total;
  const bound = limited ? `, this process may use ${formatBytes(limit)} (cgroup)` : '';
  const details = { total_bytes: total, free_bytes: free, ...(limited ? { limit_bytes: limit } : {}) };
  const found = `${formatBytes(total)}, ${formatBytes(free)} free${bound}`;
  if (Math.min(free, limited ? limit : free) >= lowSpace)
    return { name: 'memory', state: 'ok', found, details };
  return {
    name: 'memory',
    state: 'problem',
    found,
    fix: 'close other programs, or raise the limit',
    details,
  };
}

/** Returns the free memory including what the system can reclaim, such as the file cache. */
function availableMemory(): number {
  try {
    const kilobytes = /MemAvailable:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1];
    if (kilobytes !== undefined) return Number(kilobytes) * 1024;
  } catch {
    // Only Linux has it.
  }
  return freemem();
}

/** Checks whether `skein serve` can listen on its default port. */
export function checkPort(port: number): Promise<Check> {
  const name = `port ${port}`;
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code = 'an error' }: NodeJS.ErrnoException) =>
      resolve({
        ...{ name, state: 'problem' },
        found: code === 'EADDRINUSE' ? 'in use by another program' : `cannot be used (${code})`,
        fix: `${invocation()} serve --port 0 takes any free port`,
      }),
    );
    server.listen(port, '127.0.0.1', () =>
      server.close(() => resolve({ name, state: 'ok', found: 'free, for skein serve' })),
    );
  });
}

/** Starts workers under mpirun for tests; `hasMpi` is true if that is possible here. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { program, root } from '../programs.js';

const version = spawnSync('mpirun', ['--version'], { encoding: 'utf8' });
export const hasMpi = existsSync(`${root}/build/mpi.node`) && version.status === 0;
/** For the name of a test that is skipped without MPI. */
export const withoutMpi = hasMpi
  ? ''
  : ` (skipped: ${version.status === 0 ? 'build/mpi.node was not built' : 'mpirun is missing'})`;

const isOpenMpi = hasMpi && version.stdout.includes('Open MPI');

const flags = isOpenMpi
  ? ['--allow-run-as-root', '--oversubscribe', '--mca', 'mpi_yield_when_idle', '1']
  : [];

export interface Job {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly seconds: number;
}

export interface LaunchOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Seconds until the job is killed. */
  readonly limit?: number;
  readonly onOutput?: (out: string, launcher: ChildProcess) => void;
  /** Working directory; default: the checkout. */
  readonly cwd?: string;
}

/** Runs a TypeScript file with its arguments on `ranks` workers, one thread each. */
export function launch(
  ranks: number,
  file: string,
  args: readonly string[],
  { env = {}, limit = 200, onOutput, cwd = root }: LaunchOptions = {},
): Promise<Job> {
  const start = performance.now();
  const command = [process.execPath, program(file), ...args];
  const child = spawn('mpirun', [...flags, '-n', String(ranks), ...command], {
    cwd,
    env: { ...process.env, SKEIN_THREADS: '1', ...env },
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), limit * 1000);
  let out = '';
  let err = '';
  child.stdout.on('data', (data) => {
    out += data;
    onOutput?.(out, child);
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, out, err, seconds: (performance.now() - start) / 1000 });
    });
  });
}

/** Starts workers of distributed tests under mpirun and reads the JSON lines they print. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export const hasMpi =
  existsSync(`${root}/build/mpi.node`) &&
  spawnSync('mpirun', ['--version'], { stdio: 'ignore' }).status === 0;

export interface Line {
  readonly rank: number;
  readonly [field: string]: unknown;
}

export interface Job {
  readonly code: number | null;
  readonly lines: readonly Line[];
  readonly err: string;
}

/** @param worker a file of this folder. */
export function launch(
  ranks: number,
  worker: string,
  args: readonly string[] = [],
  seconds = 170,
): Promise<Job> {
  const open = spawnSync('mpirun', ['--version'], { encoding: 'utf8' }).stdout.includes('Open MPI');
  const flags = open ? ['--allow-run-as-root', '--oversubscribe', '--mca', 'mpi_yield_when_idle', '1'] : [];
  const program = ['--import', 'tsx', `test/dist/shards/${worker}`, ...args];
  const child = spawn('mpirun', [...flags, '-n', String(ranks), process.execPath, ...program], {
    cwd: root,
    env: { ...process.env, SKEIN_THREADS: '1' },
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), seconds * 1000);
  let out = '';
  let err = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(limit);
      const lines = out
        .split('\n')
        .filter((line) => line.startsWith('{') && line.endsWith('}'))
        .map((line) => JSON.parse(line) as Line);
      resolve({ code, lines, err });
    });
  });
}

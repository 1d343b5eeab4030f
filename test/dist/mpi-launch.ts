/**
 * Starts test workers under mpirun and reads the JSON lines they print. A test that needs it says `describe.skipIf(!hasMpi)`.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
export const hasMpi =
  existsSync(`${root}/build/mpi.node`) &&
  spawnSync('mpirun', ['--version'], { stdio: 'ignore' }).status === 0;
const isOpenMpi =
  hasMpi && spawnSync('mpirun', ['--version'], { encoding: 'utf8' }).stdout.includes('Open MPI');
const flags = isOpenMpi
  ? ['--allow-run-as-root', '--oversubscribe', '--mca', 'mpi_yield_when_idle', '1']
  : [];

export interface Line {
  readonly rank: number;
  readonly name?: string;
  readonly error?: string;
  readonly milliseconds?: number;
  readonly pid?: number;
}

export interface Job {
  readonly code: number | null;
  readonly lines: readonly Line[];
  readonly err: string;
  readonly seconds: number;
}

export interface LaunchOptions {
  /** Called with the lines so far whenever there are more. */
  onLines?(lines: readonly Line[], launcher: ChildProcess): void;
  /** Seconds after which the job is killed. Default 60. */
  readonly limit?: number;
  readonly env?: NodeJS.ProcessEnv;
}

/** `command` is a worker of this folder and its arguments. */
export function launch(ranks: number, command: readonly string[], options: LaunchOptions = {}): Promise<Job> {
  const start = performance.now();
  const [worker, ...args] = command;
  const program = [process.execPath, '--import', 'tsx', `test/dist/${worker}`, ...args];
  const child = spawn('mpirun', [...flags, '-n', String(ranks), ...program], {
    cwd: root,
    env: { ...process.env, SKEIN_THREADS: '1', ...options.env },
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), (options.limit ?? 60) * 1000);
  let out = '';
  let err = '';
  const lines = () =>
    out
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as Line);
  child.stdout.on('data', (data) => {
    out += data;
    options.onLines?.(lines(), child);
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(limit);
      resolve({ code, lines: lines(), err, seconds: (performance.now() - start) / 1000 });
    });
  });
}

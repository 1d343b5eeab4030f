/**
 * The work of `skein run`: starts the ranks with the installed launcher, passes on signals and returns its exit code. If
 * it is killed itself, the ranks end too (watch-launcher.ts).
 *
 * In a process that a launcher has already started (`srun skein run …`) it starts nothing and becomes that rank.
 */
import { type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMpiBuilt } from '../../dist/comm/load-mpi.js';
import { availableCpus } from '../../native/cpus.js';
import { CommError, ValueError } from '../../util/errors.js';
import { invocation } from '../../util/invocation.js';
import { launchedBy } from '../../util/launched-by.js';
import { type LauncherKind, launchCommand } from './launch-command.js';
import { watchLauncher } from './watch-launcher.js';

export interface RunCommand {
  readonly workers?: number;
  readonly hosts?: string;
  readonly launcher?: string;
  readonly allOutput: boolean;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;

/** `names` are the commands of Skein, which this program runs itself. */
export async function runCommand(
  line: readonly string[],
  options: RunCommand,
  names: readonly string[],
): Promise<void> {
  const isOwn = names.includes(line[0]);
  if (isOwn && line[0] === 'run') throw new ValueError('run: expected another command, got run.');
  const started = launchedBy();
  // Slurm runs an interactive shell as a step of one process, which may start more.
  if (started !== null && (started.size > 1 || (options.workers ?? 1) === 1)) {
    if (options.workers !== undefined && options.workers !== started.size)
      throw new ValueError(
        `run: expected ${started.size} for -n, got ${options.workers}. ${started.launcher} has already started ${started.size}.`,
      );
    if (isOwn) {
      const { run } = await import('../program.js');
      process.exitCode = await run(line);
    } else {
      const env = process.env;
      process.exitCode = await runChild(
        line[0],
        line.slice(1),
        { stdio: inheritFiles(), env },
        passUnchanged,
      );
    }
    return;
  }
  checkAddon(line);
  // Only training divides work: other commands fail on every rank with the same message.
  const hidesErrors = isOwn && line[0] !== 'train';
  process.exitCode = await launch(isOwn ? ownCommand(line) : line, options, { isOwn, hidesErrors });
}

/** Throws if the MPI addon is missing, once and before the ranks start: each of them would fail with the same message. */
export function checkAddon(line: readonly string[], isBuilt: boolean = isMpiBuilt()): void {
  if (line[0] !== 'train' || isBuilt) return;
  throw new CommError(
    `run: expected the MPI addon build/mpi.node, which workers communicate through, got none. Build it with: ${invocation()} build --mpi`,
  );
}

async function launch(
  command: readonly string[],
  options: RunCommand,
  { isOwn, hidesErrors }: { readonly isOwn: boolean; readonly hidesErrors: boolean },
): Promise<number> {
  const { kind, program } = findLauncher(options.launcher);
  const { hosts, allOutput, workers = countSlots(hosts) } = options;
  const errorFolder =
    hosts === undefined && kind !== 'srun' ? mkdtempSync(join(tmpdir(), 'skein-run-')) : null;
  try {
    const { args, env } = launchCommand({
      kind,
      program,
      ranks: workers,
      ...(hosts === undefined ? {} : { hosts }),
      output: allOutput ? 'all' : 'first',
      isRoot: process.getuid?.() === 0,
      cores: availableCpus(),
      errorFolder,
      command,
      env: process.env,
    });
    const own = isOwn && kind !== 'srun';
    const code = await runChild(
      program,
      args,
      {
        stdio: own ? ['ignore', 'inherit', 'inherit'] : 'inherit',
        env: { ...process.env, ...env },
        // Not in the terminal's group: Ctrl+C must not reach the launcher.
        detached: own,
      },
      own ? requestStopFirst() : passUnchanged,
      (pid) => watchLauncher(pid, errorFolder),
    );
    if (code !== 0 && errorFolder !== null && !hidesErrors) printRankErrors(errorFolder);
    return code;
  } finally {
    if (errorFolder !== null) rmSync(errorFolder, { recursive: true, force: true });
  }
}

/** Returns the number of workers on a list of hosts: 3 for `a:2,b`. */
function countSlots(hosts: string | undefined): number {
  if (hosts === undefined) return 1;
  const slots = hosts.split(',').map((host) => Number(/:(\d+)$/.exec(host)?.[1] ?? 1));
  return slots.reduce((sum, count) => sum + count, 0);
}

/** Returns the command line of this program as it was started, with the TypeScript loader if it runs from sources. */
function ownCommand(line: readonly string[]): string[] {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const main = fileURLToPath(new URL(`../main.${extension}`, import.meta.url));
  return [process.execPath, ...process.execArgv, main, ...line];
}

function findLauncher(wanted: string | undefined): { kind: LauncherKind; program: string } {
  const programs = wanted === undefined ? ['mpirun', 'mpiexec', 'srun'] : [wanted];
  for (const program of programs) {
    const version = spawnSync(program, ['--version'], { encoding: 'utf8' });
    if (version.error !== undefined) continue;
    const text = `${version.stdout}${version.stderr}`;
    if (/slurm/i.test(text)) return { kind: 'srun', program };
    return { kind: /open ?mpi|open-mpi|openrte|prrte/i.test(text) ? 'openmpi' : 'mpich', program };
  }
  throw new CommError(
    `run: expected ${programs.join(', ')} on the path, got none of them. Install an MPI library ` +
      '(Debian, Ubuntu: apt-get install openmpi-bin libopenmpi-dev; Fedora: dnf install openmpi-devel; ' +
      'macOS: brew install open-mpi) or set its launcher with --launcher.',
  );
}

/** Maps a signal to this process to the one for its child; null passes nothing. */
type Translate = (signal: NodeJS.Signals) => NodeJS.Signals | null;

/** A terminal sends Ctrl+C to the child too; a second one would make mpirun kill the ranks immediately. */
const passUnchanged: Translate = (signal) => (signal === 'SIGINT' && process.stdin.isTTY ? null : signal);

/**
 * On SIGINT and SIGTERM, launchers kill their ranks within a second or two: too soon for a checkpoint. They pass on SIGUSR2,
 * which training takes as a request to stop. A second signal stops immediately.
 */
function requestStopFirst(): Translate {
  let requested = false;
  return (signal) => {
    if (signal !== 'SIGINT' && signal !== 'SIGTERM') return signal;
    if (requested) return 'SIGTERM';
    requested = true;
    return 'SIGUSR2';
  };
}

/**
 * Starts a program, passes on signals and returns its exit code, or 128 + number if a signal ended it. `watch` is called
 * with its process id and returns a function that is called at its end.
 */
function runChild(
  program: string,
  args: readonly string[],
  options: SpawnOptions,
  translate: Translate,
  watch?: (pid: number) => () => void,
): Promise<number> {
  const child = spawn(program, args, options);
  const onEnd = child.pid === undefined ? undefined : watch?.(child.pid);
  const pass = (signal: NodeJS.Signals) => {
    const passed = translate(signal);
    if (passed !== null) child.kill(passed);
  };
  for (const signal of signals) process.on(signal, pass);
  return new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  }).finally(() => {
    onEnd?.();
    for (const signal of signals) process.off(signal, pass);
  });
}

/** Inherits all open files, since some launchers communicate through one that PMI_FD names. */
function inheritFiles(): SpawnOptions['stdio'] {
  const file = Number(process.env.PMI_FD ?? 2);
  return Array.from({ length: Math.max(3, file + 1) }, () => 'inherit' as const);
}

/** Prints the last lines of the error output of each hidden rank. */
function printRankErrors(folder: string): void {
  for (const name of readdirSync(folder).sort()) {
    const text = readFileSync(join(folder, name), 'utf8').trimEnd();
    if (text === '') continue;
    const lines = text.split('\n').slice(-20);
    process.stderr.write(`${name.replace('-', ' ')}:\n${lines.map((line) => `  ${line}`).join('\n')}\n`);
  }
}

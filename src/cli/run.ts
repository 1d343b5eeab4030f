/**
 * The work of `skein run`: starts the ranks with the launcher that is there, passes signals on, gives its exit code. When
 * it is killed itself, the ranks end too (launcher-watch.ts).
 *
 * Inside a process that a launcher has already started (`srun skein run …`) it starts nothing and becomes that rank.
 */
import { type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMpiBuilt } from '../dist/comm/load-mpi.js';
import { launchedBy } from '../dist/index.js';
import { availableCpus } from '../native/cpus.js';
import { CommError, ValueError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';
import { type LauncherKind, launchCommand } from './launch-command.js';
import { watchLauncher } from './launcher-watch.js';

export interface RunCommand {
  readonly workers?: number;
  readonly hosts?: string;
  readonly launcher?: string;
  readonly allOutput: boolean;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;

/** `names` are Skein's own commands: such a command line is run by this program. */
export async function runCommand(
  line: readonly string[],
  options: RunCommand,
  names: readonly string[],
): Promise<void> {
  const isOwn = names.includes(line[0]);
  if (isOwn && line[0] === 'run')
    throw new ValueError('run: expected a command that does something, got run.');
  const started = launchedBy();
  // Slurm runs interactive shells as a step of one process: they may start more.
  if (started !== null && (started.size > 1 || (options.workers ?? 1) === 1)) {
    if (options.workers !== undefined && options.workers !== started.size)
      throw new ValueError(
        `run: expected ${started.size} for -n, got ${options.workers}. ${started.launcher} has already started ${started.size}.`,
      );
    if (isOwn) {
      const { run } = await import('./program.js');
      process.exitCode = await run(line);
    } else {
      const env = process.env;
      process.exitCode = await follow(line[0], line.slice(1), { stdio: inherited(), env }, asItIs);
    }
    return;
  }
  checkAddon(line);
  process.exitCode = await launch(isOwn ? ownCommand(line) : line, options, isOwn);
}

/** Every rank would fail with the same words; better to say it once, before they are started. */
export function checkAddon(line: readonly string[], isBuilt: boolean = isMpiBuilt()): void {
  if (line[0] !== 'train' || isBuilt) return;
  throw new CommError(
    `run: expected the MPI addon build/mpi.node, which workers speak through, got none. Build it with: ${invocation()} build --mpi`,
  );
}

async function launch(command: readonly string[], options: RunCommand, isOwn: boolean): Promise<number> {
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
    const code = await follow(
      program,
      args,
      {
        stdio: own ? ['ignore', 'inherit', 'inherit'] : 'inherit',
        env: { ...process.env, ...env },
        // Not in the terminal's group: Ctrl+C must not reach the launcher.
        detached: own,
      },
      own ? asWish() : asItIs,
      (pid) => watchLauncher(pid, errorFolder),
    );
    if (code !== 0 && errorFolder !== null) tellErrors(errorFolder);
    return code;
  } finally {
    if (errorFolder !== null) rmSync(errorFolder, { recursive: true, force: true });
  }
}

/** Workers that a list of hosts has room for: `a:2,b` is 3. */
function countSlots(hosts: string | undefined): number {
  if (hosts === undefined) return 1;
  const slots = hosts.split(',').map((host) => Number(/:(\d+)$/.exec(host)?.[1] ?? 1));
  return slots.reduce((sum, count) => sum + count, 0);
}

/** This program again, as it was started: with the loader of TypeScript when it runs from sources. */
function ownCommand(line: readonly string[]): string[] {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const main = fileURLToPath(new URL(`./main.${extension}`, import.meta.url));
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
      'macOS: brew install open-mpi) or name its launcher with --launcher.',
  );
}

/** What a signal to this process becomes for its child; null: nothing. */
type Translate = (signal: NodeJS.Signals) => NodeJS.Signals | null;

/** A terminal sends Ctrl+C to all its programs; a second one would make mpirun kill without warning. */
const asItIs: Translate = (signal) => (signal === 'SIGINT' && process.stdin.isTTY ? null : signal);

/**
 * Launchers answer SIGINT and SIGTERM by killing their ranks within a second or two: too short for a checkpoint. SIGUSR2 they
 * pass on, and training takes it for the wish to stop. A second signal means at once.
 */
function asWish(): Translate {
  let asked = false;
  return (signal) => {
    if (signal !== 'SIGINT' && signal !== 'SIGTERM') return signal;
    if (asked) return 'SIGTERM';
    asked = true;
    return 'SIGUSR2';
  };
}

/**
 * Starts a program, passes signals on to it and gives its exit code; 128 + number when a signal ended it. `watch` is told
 * its process id, and what it returns is called at its end.
 */
function follow(
  program: string,
  args: readonly string[],
  options: SpawnOptions,
  translate: Translate,
  watch?: (pid: number) => () => void,
): Promise<number> {
  const child = spawn(program, args, options);
  const ended = child.pid === undefined ? undefined : watch?.(child.pid);
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
    ended?.();
    for (const signal of signals) process.off(signal, pass);
  });
}

/** Some launchers talk to their processes through an open file that they name. */
function inherited(): SpawnOptions['stdio'] {
  const file = Number(process.env.PMI_FD ?? 2);
  return Array.from({ length: Math.max(3, file + 1) }, () => 'inherit' as const);
}

/** After a failure: what the hidden ranks had to say, the end of it. */
function tellErrors(folder: string): void {
  for (const name of readdirSync(folder).sort()) {
    const text = readFileSync(join(folder, name), 'utf8').trimEnd();
    if (text === '') continue;
    const lines = text.split('\n').slice(-20);
    process.stderr.write(`${name.replace('-', ' ')}:\n${lines.map((line) => `  ${line}`).join('\n')}\n`);
  }
}

/** Skein's command line as processes that can be killed: start, wait with a limit, and search for remaining ones. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { skein } from '../programs.js';
import { Fault } from './campaign.js';

/** Seconds that a command may take before it counts as hanging: far more than on an idle machine. */
const limitSeconds = 240;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
  readonly seconds: number;
}

export interface Started {
  readonly child: ChildProcess;
  /** Variables in the environment of the process and of its children. */
  readonly mark: string;
  readonly said: { out: string; err: string };
  readonly ended: Promise<Ended>;
}

/** Starts a command of Skein's. */
export function start(args: readonly string[], cwd: string): Started {
  const mark = randomUUID();
  const began = performance.now();
  const child = spawn(process.execPath, [...skein, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, SKEIN_THREADS: '1', SKEIN_TEST_JOB: mark },
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (data) => {
    said.out += data;
  });
  child.stderr.on('data', (data) => {
    said.err += data;
  });
  let late = false;
  const limit = setTimeout(() => {
    late = true;
    endAll(mark);
  }, limitSeconds * 1000);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      const seconds = (performance.now() - began) / 1000;
      if (late)
        reject(new Fault('hang', `skein ${args.join(' ')}: not ended after ${limitSeconds} s\n${said.err}`));
      else resolve({ code, signal, ...said, seconds });
    });
  });
  // A caller that is busy with something else asks later.
  ended.catch(() => {});
  return { child, mark, said, ended };
}

/** Runs a command to its end. */
export function finish(args: readonly string[], cwd: string): Promise<Ended> {
  return start(args, cwd).ended;
}

/** Runs a command that must succeed. */
export async function succeed(args: readonly string[], cwd: string): Promise<Ended> {
  const ended = await finish(args, cwd);
  if (ended.code === 0) return ended;
  const how = ended.signal ?? `exit code ${ended.code}`;
  throw new Fault(
    ended.signal === null ? 'unnamed' : 'crash',
    `skein ${args.join(' ')}: ${how}\n${ended.err}`,
  );
}

/** Kills a command `delay` ms after its start; returns true if it had already ended. Its children must end too. */
export async function killAfter(delay: number, args: readonly string[], cwd: string): Promise<boolean> {
  const { child, mark, ended } = start(args, cwd);
  await Promise.race([pause(delay), ended]);
  child.kill('SIGKILL');
  const { signal } = await ended;
  await allGone(mark, 30);
  return signal !== 'SIGKILL';
}

/** Waits until no process of a job is left; fails after `seconds`, and kills the remaining ones. */
export async function allGone(mark: string, seconds: number): Promise<void> {
  const until = performance.now() + seconds * 1000;
  while (processesOf(mark).size > 0 && performance.now() < until) await pause(50);
  const left = processesOf(mark);
  endAll(mark);
  if (left.size > 0)
    throw new Fault('leftover', `still there after ${seconds} s: ${[...left.values()].join('; ')}`);
}

function endAll(mark: string): void {
  for (const pid of processesOf(mark).keys()) sendSignal(pid, 'SIGKILL');
}

/** Kills a process; one that has ended in the meantime needs no signal. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Command lines of the live processes of a job, by process id. Empty without /proc. */
export function processesOf(mark: string): Map<number, string> {
  const found = new Map<number, string>();
  for (const name of entriesOf('/proc').filter((entry) => /^\d+$/.test(entry))) {
    if (!textOf(`/proc/${name}/environ`).includes(`SKEIN_TEST_JOB=${mark}`)) continue;
    const state = textOf(`/proc/${name}/stat`).replace(/^.*\) /s, '');
    if (state === '' || state.startsWith('Z')) continue;
    found.set(Number(name), textOf(`/proc/${name}/cmdline`).replaceAll('\0', ' ').trim());
  }
  return found;
}

/** The ranks of a job: process ids by rank. */
export function ranksOf(mark: string): Map<number, number> {
  const ranks = new Map<number, number>();
  for (const [pid, line] of processesOf(mark)) {
    const rank = /(?:OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)/.exec(textOf(`/proc/${pid}/environ`))?.[1];
    if (rank !== undefined && line.includes(skein[0])) ranks.set(Number(rank), pid);
  }
  return ranks;
}

function entriesOf(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/**
 * Runs of several workers, one of which is killed: starts `skein run -n N …`, waits until it reports, ends a rank with SIGKILL
 * after a while, and says how the others ended. Every kind of training uses the same.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { root, skein } from '../programs.js';

export interface KilledJob {
  /** The job was over before the kill. */
  readonly finished: boolean;
  readonly code: number | null;
  /** Output on stderr, of rank 0 and, after a failure, of the others. */
  readonly err: string;
  /** Time from the kill to the end of the last rank and of the launcher. */
  readonly seconds: number;
}

export interface KillOptions {
  readonly workers: number;
  /** A command of Skein's, such as `train file.yaml --json`; it must report on stdout. */
  readonly command: readonly string[];
  /** Milliseconds from the first report to the kill. */
  readonly delay: number;
  /** The rank that is killed. */
  readonly victim: number;
}

interface Job {
  readonly child: ChildProcess;
  readonly mark: string;
  readonly closed: Promise<number | null>;
  readonly said: { out: string; err: string };
}

function startJob(workers: number, command: readonly string[]): Job {
  const mark = randomUUID();
  const line = [...skein, 'run', '-n', String(workers), ...command];
  const child = spawn(process.execPath, line, {
    cwd: root,
    env: { ...process.env, SKEIN_THREADS: '1', SKEIN_TEST_JOB: mark },
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (data) => {
    said.out += data;
  });
  child.stderr.on('data', (data) => {
    said.err += data;
  });
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { child, mark, closed, said };
}

/** Process ids of a job's ranks, by rank: processes with its mark and a rank variable of Open MPI or MPICH. */
function ranksOf(mark: string): Map<number, number> {
  const found = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const environment = readText(`/proc/${name}/environ`);
    if (!environment.includes(`SKEIN_TEST_JOB=${mark}`)) continue;
    const rank = /(?:OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)/.exec(environment)?.[1];
    if (rank !== undefined && readText(`/proc/${name}/cmdline`).includes(skein[0]) && !isDead(Number(name)))
      found.set(Number(rank), Number(name));
  }
  return found;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Whether a process is gone, or only waits to be reaped. */
function isDead(pid: number): boolean {
  const state = readText(`/proc/${pid}/stat`).replace(/^.*\) /s, '');
  return state === '' || state.startsWith('Z');
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Runs a command on workers to its end; fails unless it succeeds. Returns the JSON lines. */
export async function runJob(
  workers: number,
  command: readonly string[],
): Promise<Readonly<Record<string, unknown>>[]> {
  const { closed, said } = startJob(workers, command);
  expect({ code: await closed, err: said.err }).toMatchObject({ code: 0 });
  return said.out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}

/** Starts a job and kills one of its ranks. */
export async function killRank({ workers, command, delay, victim }: KillOptions): Promise<KilledJob> {
  const { child, mark, closed, said } = startJob(workers, command);
  let over = false;
  void closed.then(() => {
    over = true;
  });
  while (!over && said.out === '') await pause(20);
  for (let waited = 0; !over && waited < delay; waited += 20) await pause(20);
  const ranks = ranksOf(mark);
  const pid = ranks.get(victim);
  if (over || pid === undefined) return { finished: true, code: await closed, err: said.err, seconds: 0 };
  process.kill(pid, 'SIGKILL');
  const killed = performance.now();
  const limit = setTimeout(() => child.kill('SIGKILL'), 60_000);
  const code = await closed;
  clearTimeout(limit);
  while ([...ranks.values()].some((rank) => !isDead(rank)) && performance.now() - killed < 60_000)
    await pause(20);
  return { finished: false, code, err: said.err, seconds: (performance.now() - killed) / 1000 };
}

/** Checks that a job ended as expected: soon, with an error that names the dead rank. */
export function expectReason(job: KilledJob, victim: number, seconds = 15): void {
  expect(job.code).not.toBe(0);
  expect(job.err).toMatch(new RegExp(`rank ${victim} \\(host \\S+, process \\d+\\) is gone; waiting in`));
  expect(job.seconds).toBeLessThan(seconds);
}

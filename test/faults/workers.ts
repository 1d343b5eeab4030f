/**
 * Jobs of two workers: a rank is killed, a rank is stopped, mpirun is killed, `skein run` is killed. Every process of
 * the job ends in time, the missing rank is named if a process is left to report it, and the job resumes with another
 * number of workers to the metrics of the uninterrupted run.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from 'skein/util';
import { hasMpi } from '../dist/mpi-launch.js';
import { type Campaign, Fault, type Setup, survived, type Try } from './campaign.js';
import { allGone, processesOf, ranksOf, type Started, sendSignal, start, succeed } from './processes.js';
import { hasRun, resume, trainArgs, writeConfigs, writeData } from './runs.js';

const jobs = ['links-memory', 'links-buffer', 'nodes-whole', 'events-tgn'] as const;
type JobKind = (typeof jobs)[number];
const faults = ['killed rank', 'stopped rank', 'killed mpirun', 'killed skein run'] as const;
type FaultKind = (typeof faults)[number];

const seed = 5;
const ranks = 2;
/** Seconds after which a stopped worker is considered dead. */
const peerTimeout = 6;
/** Seconds within which all processes must have ended: the machine may be busy. */
const endSeconds = 60;

function args(kind: JobKind, run: string, goOn: boolean): string[] {
  return [
    ...[...trainArgs(kind, run, seed), `--distributed.peer_timeout=${peerTimeout}`],
    ...(kind === 'nodes-whole' ? ['--distributed.mode=sar', '--distributed.partitions=4'] : []),
    ...(goOn ? [resume] : []),
  ];
}

const onWorkers = (n: number, command: readonly string[]): string[] => ['run', '-n', String(n), ...command];

interface Done {
  readonly test: Readonly<Record<string, number>>;
}

function testOf(directory: string): Done['test'] {
  return (JSON.parse(readFileSync(join(directory, 'done.json'), 'utf8')) as Done).test;
}

/** Injects the fault; returns the rank that is gone, or null if it is another process. */
function strike(kind: FaultKind, { child, mark }: Started, random: Random): number | null {
  const victim = random.nextInt(ranks);
  const mpirun = [...processesOf(mark)].find(([, line]) => /^\S*(mpirun|mpiexec|prterun)\b/.test(line))?.[0];
  const pid = ranksOf(mark).get(victim);
  if (pid === undefined || mpirun === undefined)
    throw new Fault('crash', 'the job has no ranks, or no launcher');
  if (kind === 'killed skein run') child.kill('SIGKILL');
  else if (kind === 'killed mpirun') sendSignal(mpirun, 'SIGKILL');
  else sendSignal(pid, kind === 'killed rank' ? 'SIGKILL' : 'SIGSTOP');
  return kind.endsWith('rank') ? victim : null;
}

/** Waits until the job trains, and a random time more. */
async function waitUntilTraining({ child, said }: Started, random: Random): Promise<void> {
  while (!said.out.includes('"event":"epoch"') && child.exitCode === null) await pause(20);
  await pause(random.nextInt(500));
}

function checkNamed(victim: number, run: string, err: string): void {
  const log = existsSync(join(run, 'log.txt')) ? readFileSync(join(run, 'log.txt'), 'utf8') : '';
  if (new RegExp(`rank ${victim} \\(host \\S+, process \\d+\\)`).test(err + log)) return;
  throw new Fault('unnamed', `expected the error to name rank ${victim}, got:\n${err}`);
}

/** Another number of workers adds in another order; the metrics of a few items move in steps. */
function checkClose(got: Done['test'], want: Done['test'], tolerance: number): void {
  for (const [name, value] of Object.entries(want))
    if (!(Math.abs(got[name] - value) <= tolerance * Math.max(1, Math.abs(value))))
      throw new Fault('silent', `test ${name}: expected about ${value}, got ${got[name]}`);
}

export const workers: Campaign = {
  name: 'workers',
  about: 'killed and stopped ranks, launchers and jobs, then resumed with another number of workers',
  missing() {
    if (process.platform !== 'linux') return "needs Linux, where a job's processes are found in /proc";
    return hasMpi ? null : 'needs mpirun and build/mpi.node';
  },
  async tries({ folder, long }: Setup): Promise<Try[]> {
    if (!existsSync(join(folder, 'links'))) await writeData(folder, 'short');
    writeConfigs(folder, 'short');
    const whole = new Map<JobKind, Done['test']>();
    const repeats = long ? [0, 1, 2, 3] : [0];
    return jobs.flatMap((kind) =>
      faults.flatMap((fault, f) =>
        repeats.map((i): Try => {
          const run = `${kind} ${fault} ${i}`.replaceAll(' ', '-');
          const at = join(folder, run);
          return {
            name: `workers/${kind}/${fault}/${i}`,
            run: async (random) => {
              if (!whole.has(kind)) {
                await succeed(args(kind, `whole-${kind}`, false), folder);
                whole.set(kind, testOf(join(folder, `whole-${kind}`)));
              }
              const job = start(onWorkers(ranks, args(kind, run, false)), folder);
              await waitUntilTraining(job, random);
              const victim = strike(fault, job, random);
              const { code, err } = await job.ended;
              await allGone(job.mark, endSeconds);
              if (code === 0) throw new Fault('silent', 'the job reports success');
              if (victim !== null) checkNamed(victim, at, err);
              const others = [1, 4][(f + i) % 2];
              const command = args(kind, run, hasRun(at));
              await succeed(others === 1 ? command : onWorkers(others, command), folder);
              checkClose(testOf(at), whole.get(kind) as Done['test'], 0.02);
              return survived;
            },
          };
        }),
      ),
    );
  },
};

/** Runs the trials of a round: one after the other in this process, or several at a time in processes of their own. */
import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { StateError } from '../../util/errors.js';
import { Interrupt } from '../run/interrupt.js';
import { runTrial, type TrialJob, type TrialOutcome } from './trial.js';
import type { TrialAnswer } from './trial-child.js';

export interface PooledJob extends TrialJob {
  readonly onStart: () => void;
  readonly onEnd: (outcome: TrialOutcome, seconds: number) => void;
}

export interface PoolOptions {
  readonly jobs: number;
  /** Whether to start another trial. */
  readonly goesOn: () => boolean;
}

/** Runs all jobs. Returns false if a signal or `goesOn` ended it before the last one. */
export async function runPool(queue: readonly PooledJob[], { jobs, goesOn }: PoolOptions): Promise<boolean> {
  using interrupt = new Interrupt();
  const waiting = [...queue];
  let isStopped = false;
  const work = async (run: (job: TrialJob) => Promise<TrialOutcome>): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      if (interrupt.requested || isStopped || !goesOn()) {
        isStopped = true;
        return;
      }
      const { onStart, onEnd, ...plain } = job;
      onStart();
      const started = performance.now();
      const outcome = await run(plain);
      if (outcome.kind === 'interrupted') isStopped = true;
      else onEnd(outcome, (performance.now() - started) / 1000);
    }
  };
  if (jobs === 1) await work(runTrial);
  else {
    const count = Math.min(jobs, Math.max(1, queue.length));
    const stopOthers = (error: unknown): never => {
      isStopped = true;
      throw error;
    };
    // All processes end before an error is thrown, because the caller then releases the lock of the search.
    const ended = await Promise.allSettled(
      Array.from({ length: count }, () => withProcess(jobs, work).catch(stopOthers)),
    );
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
  }
  return !isStopped;
}

/** Gives `work` a function that runs jobs in a new process, which ends afterwards. */
async function withProcess(
  jobs: number,
  work: (run: (job: TrialJob) => Promise<TrialOutcome>) => Promise<void>,
): Promise<void> {
  const threads = Math.max(1, Math.floor(availableParallelism() / jobs));
  const child = fork(new URL('./trial-child.js', import.meta.url), {
    env: { ...process.env, SKEIN_THREADS: process.env['SKEIN_THREADS'] ?? String(threads) },
  });
  try {
    await work((job) => ask(child, job));
  } finally {
    child.kill();
  }
}

/** Sends a job to a process and returns its outcome. */
function ask(child: ChildProcess, job: TrialJob): Promise<TrialOutcome> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null, signal: string | null): void =>
      reject(
        new StateError(
          `search: expected the process of a trial to finish, got an end with ${signal ?? `exit code ${code}`} in ${job.directory}. Resume the search to try again.`,
        ),
      );
    child.once('exit', onExit);
    child.once('message', (answer: TrialAnswer) => {
      child.off('exit', onExit);
      if (answer.kind === 'error') reject(new StateError(answer.message));
      else resolve(answer);
    });
    child.send(job);
  });
}

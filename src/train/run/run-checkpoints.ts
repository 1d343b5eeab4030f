/**
 * The checkpoints of a run as training uses them: the one to resume from, those of epochs, and that of the best epoch,
 * which is tested at the end.
 */
import { existsSync } from 'node:fs';
import type { WorkerGroup } from '../../dist/index.js';
import type { BestKeeper } from '../best-state.js';
import type { FitState } from '../fit.js';
import type { Task } from '../task.js';
import { checkOwn } from './check-seed.js';
import { Checkpoints } from './checkpoint.js';
import type { Output } from './output.js';
import type { RunDirectory } from './run-directory.js';
import { isEmpty, type RunPlan, restoresBest } from './run-plan.js';
import { latestCheckpoint, modelFile, type RunRecord, readRecord } from './run-record.js';

/** Finds the checkpoint to resume from; null for a new run. */
export async function findResumePoint(
  plan: RunPlan,
  run: RunDirectory,
): Promise<{ readonly name: string; readonly record: RunRecord } | null> {
  const { path, resumed } = run;
  if (!resumed) {
    const record = (await plan.adopt?.()) ?? null;
    if (record === null) return null;
    plan.check(path, record);
    return { name: 'last', record };
  }
  const latest = await latestCheckpoint(path);
  if (latest === null) {
    // Existing files belong to no checkpoint.
    run.removeScratch();
    return null;
  }
  checkOwn(plan, run.file(latest.name), latest.record);
  // The final test uses the best state, which must belong to this run too.
  const best = run.file('best');
  if (plan.keepBest && latest.record.best !== null && existsSync(run.file('best', modelFile)))
    checkOwn(plan, best, await readRecord(best));
  return latest;
}

interface CheckpointedRun {
  readonly plan: RunPlan;
  readonly run: RunDirectory;
  readonly output: Output;
  readonly group: WorkerGroup;
}

export class RunCheckpoints {
  /** The first epoch of the run; not 0 if it started from a checkpoint of another run. */
  firstEpoch = 0;
  /** The final state of the run, if it is not that of the last epoch. */
  kept: FitState | null = null;
  readonly #task: Task;
  readonly #plan: RunPlan;
  readonly #run: RunDirectory;
  readonly #output: Output;
  readonly #group: WorkerGroup;
  readonly #checkpoints: Checkpoints;
  #lastSave = performance.now();

  constructor(task: Task, { plan, run, output, group }: CheckpointedRun) {
    this.#task = task;
    this.#plan = plan;
    this.#run = run;
    this.#output = output;
    this.#group = group;
    this.#checkpoints = new Checkpoints(run.path, task, group);
  }

  get minutesSinceSave(): number {
    return (performance.now() - this.#lastSave) / 60_000;
  }

  /** Restores the task from a checkpoint. Returns where training starts. */
  async resume(name: string): Promise<Partial<FitState>> {
    const record = await this.#checkpoints.restore(name);
    const { position, progress, validation, plateau } = record;
    const { epoch, step } = position;
    let { best, stale } = record;
    if (this.#run.resumed) {
      this.firstEpoch = record.firstEpoch;
      await this.#checkpoints.prune();
      if (best !== null && this.#forgetsBest(record)) [best, stale] = [null, 0];
    } else {
      // A new run has its own number of epochs and its own best epoch, also after an interruption.
      this.firstEpoch = epoch;
      [best, stale] = [null, 0];
      await this.save([name], { position, progress, validation, best, stale });
    }
    // The test is repeated at the end.
    await this.#run.keepMetrics(
      ({ event, epoch: at, set }) =>
        event !== 'baseline' && !String(set).startsWith('test') && (typeof at !== 'number' || at <= epoch),
    );
    const where = step === 0 ? `after epoch ${epoch}` : `in epoch ${epoch + 1}, after batch ${step}`;
    this.#output.note(`Resuming ${where}.`);
    this.#run.log('info', `resuming ${where}`);
    const isResumed = this.#run.resumed && plateau !== undefined;
    return { position, progress, validation, best, stale, ...(isResumed ? { plateau } : {}) };
  }

  /** Returns whether the best epoch is gone or no longer comparable. */
  #forgetsBest({ evaluatedBy }: RunRecord): boolean {
    const gone = this.#plan.keepBest && !this.has('best', modelFile);
    const differs = evaluatedBy !== null && evaluatedBy !== this.#plan.evaluatedBy;
    if (!gone && !differs) return false;
    this.#output.note(
      gone
        ? 'The model of the best epoch is gone; the best of the remaining epochs is kept.'
        : 'Evaluation uses other negatives or another metric now; the best epoch is determined again.',
    );
    return true;
  }

  /** Returns whether the run has a file, as seen by rank 0. */
  has(...path: readonly string[]): boolean {
    return this.#group.agree(existsSync(this.#run.file(...path)));
  }

  async save(names: readonly string[], state: FitState): Promise<void> {
    const { task, seed, identity, evaluatedBy } = this.#plan;
    const { position, progress, best, stale, validation, plateau } = state;
    const { epoch, step } = position;
    await this.#checkpoints.save(names, {
      ...{ task, seed, identity, evaluatedBy, firstEpoch: this.firstEpoch },
      ...{ position, progress, best, stale, validation },
      ...(plateau === undefined ? {} : { plateau }),
    });
    this.#lastSave = performance.now();
    this.#output.event('checkpoint', { names, epoch, step });
  }

  /** Keeps the best state as a checkpoint. Further training starts from the last state, not from the best. */
  keeper(): BestKeeper {
    return {
      keep: (state) => this.save(['best'], state),
      restore: async (state) => {
        if (!restoresBest(this.#plan)) return false;
        const differs = state.best?.epoch !== state.position.epoch;
        if (differs || this.has('last')) await this.save(['last'], state);
        if (!differs && this.#task.evaluationMovesState !== true) return false;
        const { position, progress, validation } = await this.#checkpoints.restore('best');
        this.kept = { ...state, position, progress, ...(isEmpty(validation) ? {} : { validation }) };
        return differs;
      },
    };
  }
}

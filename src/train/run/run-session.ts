/**
 * The session of a run in its directory: the checkpoint to resume from, `fit` with checkpoints, metrics and progress around
 * it, the test with the best state, the outcome. With several workers each has a session, and all of them do the same.
 */
import { existsSync } from 'node:fs';
import type { WorkerGroup } from '../../dist/index.js';
import type { BestKeeper } from '../best-state.js';
import {
  type FitEpoch,
  type FitOptions,
  type FitResult,
  type FitState,
  fit,
  isLower,
  type Request,
} from '../fit.js';
import type { Baseline, HeldOut, Metrics, Task } from '../task.js';
import { checkOwn } from './check-seed.js';
import { Checkpoints } from './checkpoint.js';
import { Interrupt } from './interrupt.js';
import { type Output, showsProgress } from './output.js';
import { ProgressReporter } from './progress-reporter.js';
import { resumeCommand } from './resume-advice.js';
import type { RunDirectory, RunSettings } from './run-directory.js';
import { latestCheckpoint, modelFile, type RunRecord, readRecord, type TaskKind } from './run-record.js';
import { TimeLimit } from './time-limit.js';
import { StageTimings } from './timings.js';
import { TraceWriter } from './trace.js';
import { baselineNote, trainingAdvice } from './training-advice.js';
import { agreedRequest } from './workers.js';

/** The plan of a run, provided by its kind of task. */
export interface RunPlan {
  readonly task: TaskKind;
  readonly seed: number;
  /** The configuration key of the seed. */
  readonly seedKey: string;
  /** Number of epochs in the configuration. */
  readonly epochs: number;
  /** Properties shared by the checkpoints of this run; see `RunRecord`. */
  readonly identity: RunRecord['identity'];
  readonly evaluatedBy: string;
  readonly fit: Pick<
    FitOptions,
    | 'evaluateEvery'
    | 'lowerIsBetter'
    | 'metric'
    | 'patience'
    | 'minDelta'
    | 'minEpochs'
    | 'minValue'
    | 'schedule'
    | 'plateau'
  >;
  /** Whether to keep the state of the best epoch. */
  readonly keepBest: boolean;
  /** Whether to test and save the best state in place of the last one; default: keepBest. */
  readonly restoreBest?: boolean;
  /** The time limit; absent without one, or where the number of epochs was given. */
  readonly timeLimit?: PlannedLimit;
  /** Whether to save the final model. */
  readonly saveModel: boolean;
  /** When to save within an epoch; 0: never. */
  readonly save: { readonly batches: number; readonly minutes: number };
  readonly logsPerEpoch: number;
  /** Returns the names to save under after an epoch. */
  epochCheckpoints(epoch: number, isLast: boolean): readonly string[];
  /** Throws for a checkpoint of another run, dataset or model. */
  check(folder: string, record: RunRecord): void;
  /** Copies a checkpoint of another run into this one, to start from. Called on the root alone. */
  adopt?(): Promise<RunRecord | null>;
  /** Opens the task, with the tables of the record. Collective. */
  open(record: RunRecord | null, timings: StageTimings): Promise<Task>;
  /** Returns the metrics to print. Default: all. */
  shown?(metrics: Metrics): readonly string[];
  /** Work after the test. Returns null if it was interrupted. */
  finish?(context: FinishContext): Promise<Readonly<Record<string, unknown>> | null>;
}

/** The time limit of a run. */
export interface PlannedLimit {
  readonly seconds: number;
  /** Whether `epochs` of the plan follow from the limit already. */
  readonly isPlanned: boolean;
  /** Returns the resolved configuration with a number of epochs. */
  resolved(path: string, epochs: number): string;
}

export interface FinishContext {
  readonly task: Task;
  readonly run: RunDirectory;
  readonly output: Output;
  /** Returns whether a stop was requested on any worker. Collective. */
  stop(): boolean;
  /** Prints a line and writes it to log.txt. */
  say(line: string): void;
}

export interface RunResult {
  readonly directory: string;
  /** Whether a signal ended it early. */
  readonly interrupted: boolean;
  readonly epochs: number;
  readonly validation: Metrics;
  readonly test: Metrics;
  /** Results without learning on the test split, or on the validation split where there is no test split. */
  readonly baselines: readonly Baseline[];
  readonly itemsPerSecond: number;
}

export interface RunSessionOptions {
  readonly plan: RunPlan;
  readonly run: RunDirectory;
  readonly output: Output;
  readonly group: WorkerGroup;
  /** Write a trace of the stages. */
  readonly profile?: boolean;
  /** Evaluate the test split at the end (default true). */
  readonly test?: boolean;
}

export class RunSession {
  readonly #plan: RunPlan;
  readonly #run: RunDirectory;
  readonly #output: Output;
  readonly #group: WorkerGroup;
  readonly #tests: boolean;
  readonly #trace: TraceWriter | null;
  readonly #timings: StageTimings;
  readonly #interrupt: Interrupt;
  #task: Task | null = null;
  #progress: ProgressReporter | null = null;
  #firstEpoch = 0;
  /** The final state of the run, if it is not that of the last epoch. */
  #kept: FitState | null = null;
  /** Mean loss of each epoch of this process. */
  readonly #losses: number[] = [];
  #stepsPerEpoch = 0;
  #items = 0;
  #seconds = 0;
  #lastSave = performance.now();

  constructor({ plan, run, output, group, profile = false, test = true }: RunSessionOptions) {
    this.#plan = plan;
    this.#run = run;
    this.#output = output;
    this.#group = group;
    this.#tests = test;
    const trace = profile && group.isRoot ? new TraceWriter(run.file('trace.json')) : null;
    this.#trace = trace;
    this.#timings = new StageTimings(trace === null ? null : (span) => trace.add(span));
    this.#interrupt = new Interrupt({
      onRequest: () =>
        output.note(
          'Stopping after this batch and saving a checkpoint. Press Ctrl+C again to stop immediately.',
        ),
    });
  }

  async close(): Promise<void> {
    this.#interrupt[Symbol.dispose]();
    this.#progress?.stop();
    this.#trace?.close();
    await this.#task?.close();
  }

  async train(): Promise<RunResult> {
    const found = await this.#group.onRoot(() => this.#resumePoint());
    const task = await this.#plan.open(found?.record ?? null, this.#timings);
    this.#task = task;
    const checkpoints = new Checkpoints(this.#run.path, task, this.#group);
    const from = found === null ? {} : await this.#restore(checkpoints, found.name);
    // A run that ended before its first checkpoint starts over, and so do its metrics.
    if (found === null && this.#run.resumed) await this.#run.keepMetrics(() => false);
    if (this.#run.resumed) await this.#run.writeConfig();
    const epochs = this.#firstEpoch + this.#plan.epochs;
    const done = from.position?.epoch ?? 0;
    if (done >= epochs) this.#output.note(`Nothing to train: ${done} of ${epochs} epochs are done.`);
    const keeper = this.#plan.keepBest ? this.#keeper(checkpoints, task) : 'none';
    const limitEpochs = this.#limitEpochs(task);
    const result = await fit(task, {
      ...this.#plan.fit,
      ...(limitEpochs === undefined ? {} : { limitEpochs }),
      ...this.#hooks(task, checkpoints, epochs),
      ...{ epochs, from, best: keeper, timings: this.#timings },
    });
    if (result.stopped === 'early') this.#output.note(this.#reasonToEnd(task, result));
    if (result.stopped === 'interrupted') {
      this.#progress?.stop();
      await this.#save(checkpoints, ['last'], result);
      return this.#stopped(`in epoch ${result.epochs + 1}`, result, {});
    }
    return this.#finish(task, checkpoints, result);
  }

  #reasonToEnd(task: Task, { stale, epochs }: FitResult): string {
    const { patience = Number.POSITIVE_INFINITY, minValue } = this.#plan.fit;
    const metric = this.#metric(task);
    return stale >= patience
      ? `No improvement of ${metric} in ${stale} evaluations: training ends.`
      : `${metric} has not reached ${minValue} after ${epochs} epochs: training ends.`;
  }

  /** Returns the hook that lowers the number of epochs to those that fit the time limit; rank 0 decides. */
  #limitEpochs(task: Task): FitOptions['limitEpochs'] {
    const { timeLimit } = this.#plan;
    if (timeLimit === undefined) return undefined;
    const { seconds, isPlanned } = timeLimit;
    const limit = new TimeLimit({
      ...{ seconds, isPlanned, elapsed: this.#elapsed(), itemsPerEpoch: task.batches.train.numItems },
    });
    return async (state) => {
      const own = this.#group.isRoot ? (limit.epochs(state) ?? 0) : 0;
      const epochs = this.#group.highest(own);
      if (epochs === 0) return undefined;
      const decided = Math.max(1, epochs - this.#firstEpoch);
      this.#say(`time limit: ${decided} epochs`);
      await this.#group.onRoot(() => this.#run.replaceResolved(timeLimit.resolved(this.#run.path, decided)));
      if (this.#progress !== null) this.#progress.epochs = Math.min(this.#progress.epochs ?? epochs, epochs);
      return epochs;
    };
  }

  /** Returns the seconds of the run so far, as its metrics have recorded them. */
  #elapsed(): number {
    if (!this.#group.isRoot || !this.#run.resumed) return 0;
    return this.#run
      .readMetrics()
      .reduce((sum, { seconds }) => sum + (typeof seconds === 'number' ? seconds : 0), 0);
  }

  #metric(task: Task): string {
    return [this.#plan.fit.metric ?? task.headline].flat()[0];
  }

  /** Finds the checkpoint to resume from; null for a new run. */
  async #resumePoint(): Promise<{ readonly name: string; readonly record: RunRecord } | null> {
    const plan = this.#plan;
    const { path, resumed } = this.#run;
    if (!resumed) {
      const record = (await plan.adopt?.()) ?? null;
      if (record === null) return null;
      plan.check(path, record);
      return { name: 'last', record };
    }
    const latest = await latestCheckpoint(path);
    if (latest === null) {
      // Existing files belong to no checkpoint.
      this.#run.removeScratch();
      return null;
    }
    checkOwn(plan, this.#run.file(latest.name), latest.record);
    // The final test uses the best state, which must belong to this run too.
    const best = this.#run.file('best');
    if (plan.keepBest && latest.record.best !== null && existsSync(this.#run.file('best', modelFile)))
      checkOwn(plan, best, await readRecord(best));
    return latest;
  }

  async #restore(checkpoints: Checkpoints, name: string): Promise<Partial<FitState>> {
    const record = await checkpoints.restore(name);
    const { position, progress, validation, plateau } = record;
    const { epoch, step } = position;
    let { best, stale } = record;
    if (this.#run.resumed) {
      this.#firstEpoch = record.firstEpoch;
      await checkpoints.prune();
      if (best !== null && this.#forgetsBest(record)) [best, stale] = [null, 0];
    } else {
      // A new run has its own number of epochs and its own best epoch, also after an interruption.
      this.#firstEpoch = epoch;
      [best, stale] = [null, 0];
      await this.#save(checkpoints, [name], { position, progress, validation, best, stale });
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
    const gone = this.#plan.keepBest && !this.#has('best', modelFile);
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
  #has(...path: readonly string[]): boolean {
    return this.#group.agree(existsSync(this.#run.file(...path)));
  }

  #hooks(task: Task, checkpoints: Checkpoints, epochs: number): Partial<FitOptions> {
    const output = this.#output;
    const progress = new ProgressReporter({
      itemName: task.items,
      logsPerEpoch: showsProgress(output) && this.#group.isRoot ? this.#plan.logsPerEpoch : 0,
      endLine: false,
      stream: output.stderr,
      status: output.status,
      onLine: (line) => this.#run.log('info', line),
    });
    progress.epochs = epochs;
    this.#progress = progress;
    return {
      onEpochStart: (epoch, items, done) => progress.start(epoch, items, done),
      onStep: (_, { items, loss }) => progress.addResult(items, loss),
      request: (state) => agreedRequest(this.#group, this.#request(state)),
      onSave: (state) => this.#save(checkpoints, ['last'], state),
      onEpoch: (record) => this.#epochDone(record, task.items),
      evaluate: () => this.#evaluate(task, 'validation'),
      onEvaluation: (epoch, metrics, seconds) => this.#report('validation', epoch, metrics, seconds),
      onEpochEnd: async (state, isLast) => {
        const names = this.#plan.epochCheckpoints(state.position.epoch, isLast);
        if (names.length > 0) await this.#save(checkpoints, names, state);
      },
    };
  }

  /** Returns this worker's request after a batch. Clocks differ, so the workers agree on one afterwards. */
  #request({ position: { step } }: FitState): Request {
    if (this.#interrupt.requested) return 'stop';
    const { batches, minutes } = this.#plan.save;
    const passed = (performance.now() - this.#lastSave) / 60_000;
    const due = batches > 0 && step % batches === 0;
    return due || (minutes > 0 && passed >= minutes) ? 'save' : 'continue';
  }

  #epochDone({ epoch, items, loss: sum, batches, seconds, trained }: FitEpoch, unit: string): void {
    this.#progress?.stop();
    this.#losses.push(items === 0 ? 0 : sum / items);
    this.#stepsPerEpoch = batches;
    this.#items += trained;
    this.#seconds += seconds;
    const perSecond = trained / Math.max(seconds, 1e-9);
    const record = {
      epoch,
      loss: items === 0 ? 0 : sum / items,
      items,
      batches,
      seconds,
      items_per_second: perSecond,
      stages: this.#timings.take(),
    };
    this.#run.record({ event: 'epoch', ...record });
    this.#output.event('epoch', record);
    this.#say(
      `epoch ${epoch}  loss ${record.loss.toFixed(4)}  ${seconds.toFixed(2)} s  ${Math.round(perSecond).toLocaleString('en')} ${unit}/s`,
    );
  }

  /** Prints a line and writes it to log.txt. */
  #say(line: string): void {
    this.#output.text(line);
    this.#run.log('info', line);
  }

  async #evaluate(task: Task, split: HeldOut): Promise<Metrics> {
    const what = task.items === 'events' ? 'events' : 'set';
    const stage = this.#output.stage(`evaluating on the ${split} ${what}`, { plain: false });
    try {
      return await this.#timings.timeAsync('evaluate', () => task.evaluate(split, stage.update));
    } finally {
      stage.end();
    }
  }

  #report(set: HeldOut, epoch: number, metrics: Metrics, seconds: number, more: object = {}): void {
    this.#run.record({ event: 'eval', set, epoch, ...more, ...metrics, seconds });
    this.#output.event('eval', { set, epoch, ...more, ...metrics, seconds });
    this.#say(`${set.padEnd(10)}  ${this.#cells(metrics)}`);
  }

  #cells(metrics: Metrics): string {
    const shown = this.#plan.shown?.(metrics) ?? Object.keys(metrics);
    return shown
      .filter((name) => name in metrics)
      .map((name) => `${name} ${metrics[name].toFixed(4)}`)
      .join('  ');
  }

  async #save(checkpoints: Checkpoints, names: readonly string[], state: FitState): Promise<void> {
    const { task, seed, identity, evaluatedBy } = this.#plan;
    const { position, progress, best, stale, validation, plateau } = state;
    const { epoch, step } = position;
    await checkpoints.save(names, {
      ...{ task, seed, identity, evaluatedBy, firstEpoch: this.#firstEpoch },
      ...{ position, progress, best, stale, validation },
      ...(plateau === undefined ? {} : { plateau }),
    });
    this.#lastSave = performance.now();
    this.#output.event('checkpoint', { names, epoch, step });
  }

  /** Keeps the best state as a checkpoint. Further training starts from the last state, not from the best. */
  #keeper(checkpoints: Checkpoints, task: Task): BestKeeper {
    return {
      keep: (state) => this.#save(checkpoints, ['best'], state),
      restore: async (state) => {
        if (!this.#restoresBest) return false;
        const differs = state.best?.epoch !== state.position.epoch;
        if (differs || this.#has('last')) await this.#save(checkpoints, ['last'], state);
        if (!differs && task.evaluationMovesState !== true) return false;
        const { position, progress, validation } = await checkpoints.restore('best');
        this.#kept = { ...state, position, progress, ...(isEmpty(validation) ? {} : { validation }) };
        return differs;
      },
    };
  }

  get #restoresBest(): boolean {
    return this.#plan.restoreBest ?? this.#plan.keepBest;
  }

  /** Tests the kept state, saves it, and writes the outcome. */
  async #finish(task: Task, checkpoints: Checkpoints, result: FitResult): Promise<RunResult> {
    const plan = this.#plan;
    const kept = this.#kept ?? result;
    const { epochs, best } = result;
    const { validation } = kept;
    const names = this.#restoresBest || !this.#has('last') ? [''] : ['', 'last'];
    // Saved before the test, which may take long.
    if (plan.saveModel) await this.#save(checkpoints, names, kept);
    const { test, baselines } = this.#tests ? await this.#test(task, result, validation) : untested;
    // Saved after the test events, so that scoring continues at the end of the stream.
    if (plan.saveModel && task.evaluationMovesState === true) await this.#save(checkpoints, [''], kept);
    const more = await plan.finish?.({
      ...{ task, run: this.#run, output: this.#output },
      stop: () => this.#group.any(this.#interrupt.requested),
      say: (line) => this.#say(line),
    });
    if (more === null)
      return this.#stopped('after the test; the model is trained and saved', kept, test, baselines);
    const outcome = {
      directory: this.#run.path,
      epochs,
      ...(best === null ? {} : { best: { ...best, metric: this.#metric(task) } }),
      validation,
      test,
      ...Object.fromEntries(Object.entries(test).map(([name, value]) => [`test.${name}`, value])),
      ...(baselines.length === 0 ? {} : { baselines }),
      ...more,
      [`${task.items}_per_second`]: this.#rate,
      seconds: this.#seconds,
      peak_rss_mb: peakRssMb(),
      ...(this.#group.size === 1 ? {} : { workers: this.#group.size }),
    };
    await this.#run.finish(outcome);
    this.#output.text(`Done in ${this.#output.elapsed()}. Saved in ${this.#run.path}`);
    this.#output.event('done', outcome);
    return {
      ...{ directory: this.#run.path, interrupted: false, epochs, validation, test, baselines },
      itemsPerSecond: this.#rate,
    };
  }

  /** Evaluates the test split, and baselines on it, or on the validation split where there is no test split. */
  async #test(task: Task, result: FitResult, validation: Metrics): Promise<Tested> {
    const { best, epochs } = result;
    const tested = this.#restoresBest && best !== null ? best.epoch : epochs;
    if (this.#restoresBest && best !== null) this.#say(`test with the model of epoch ${tested}`);
    const started = performance.now();
    const test = await this.#evaluate(task, 'test');
    if (!isEmpty(test))
      this.#report('test', epochs, test, (performance.now() - started) / 1000, { tested_epoch: tested });
    const baselines = await this.#reportBaselines(task, isEmpty(test) ? 'validation' : 'test');
    this.#advise(task, result, isEmpty(test) ? validation : test, baselines);
    return { test, baselines };
  }

  /** Evaluates baselines on a split and reports them next to the metrics of the model. */
  async #reportBaselines(task: Task, split: HeldOut): Promise<readonly Baseline[]> {
    const found = (await this.#timings.timeAsync('evaluate', async () => task.baselines?.(split))) ?? [];
    for (const { name, metrics, ...rest } of found) {
      const fields = { set: split, baseline: name, ...metrics, ...rest };
      this.#run.record({ event: 'baseline', ...fields });
      this.#output.event('baseline', fields);
      this.#say(
        `${name.padEnd(10)}  ${this.#cells(metrics)}${baselineNote({ name, metrics, ...rest }, task.items)}`,
      );
    }
    return found;
  }

  #advise(task: Task, result: FitResult, test: Metrics, baselines: readonly Baseline[]): void {
    const metric = this.#metric(task);
    const lines = trainingAdvice({
      ...{ result, metric, test, baselines, losses: this.#losses, stepsPerEpoch: this.#stepsPerEpoch },
      lowerIsBetter: isLower(metric, [
        ...(this.#plan.fit.lowerIsBetter ?? []),
        ...(task.lowerIsBetter ?? []),
      ]),
    });
    for (const line of lines) {
      this.#output.note(line);
      this.#run.log('info', line);
    }
  }

  #stopped(
    where: string,
    { position, validation }: FitState,
    test: Metrics,
    baselines: readonly Baseline[] = [],
  ): RunResult {
    const directory = this.#run.path;
    const epochs = position.epoch;
    this.#output.text(`Stopped ${where}. Resume with: ${resumeCommand(directory, this.#group.size)}`);
    this.#output.event('done', { interrupted: true, directory, epochs });
    return {
      ...{ directory, interrupted: true, epochs, validation, test, baselines },
      itemsPerSecond: this.#rate,
    };
  }

  get #rate(): number {
    return this.#items / Math.max(this.#seconds, 1e-9);
  }
}

/** Results at the end of a run. */
interface Tested {
  readonly test: Metrics;
  readonly baselines: readonly Baseline[];
}

const untested: Tested = { test: {}, baselines: [] };

function isEmpty(metrics: Metrics): boolean {
  return Object.keys(metrics).length === 0;
}

/** A run whose configuration has been checked and of which nothing has been written yet. */
export interface PreparedRun {
  /** Settings of its directory. */
  readonly settings: Omit<RunSettings, 'source' | 'group'>;
  /** Details reported at the start. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Collective. */
  plan(run: RunDirectory): Promise<RunPlan>;
  close(): void;
}

/** Returns the peak resident set of this process in MiB, rounded up. */
export function peakRssMb(): number {
  // Node.js reports KiB on every platform.
  return Math.ceil(process.resourceUsage().maxRSS / 1024);
}

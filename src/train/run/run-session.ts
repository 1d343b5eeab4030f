/**
 * The session of a run in its directory: the checkpoint to resume from, `fit` with checkpoints, metrics and progress around
 * it, the test with the best state, the outcome. With several workers each has a session, and all of them do the same.
 */
import type { WorkerGroup } from '../../dist/index.js';
import { type FitOptions, type FitResult, type FitState, fit, type Request } from '../fit.js';
import type { Baseline, HeldOut, Metrics, Task } from '../task.js';
import { Interrupt } from './interrupt.js';
import { type Output, showsProgress } from './output.js';
import { peakRssMb } from './peak-memory.js';
import { ProgressReporter } from './progress-reporter.js';
import { resumeCommand } from './resume-advice.js';
import { findResumePoint, RunCheckpoints } from './run-checkpoints.js';
import type { RunDirectory } from './run-directory.js';
import { isEmpty, type RunPlan, type RunResult, restoresBest } from './run-plan.js';
import { RunReport } from './run-report.js';
import { TimeLimit } from './time-limit.js';
import { StageTimings } from './timings.js';
import { TraceWriter } from './trace.js';
import { agreedRequest } from './workers.js';

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
  readonly #report: RunReport;
  #task: Task | null = null;
  #progress: ProgressReporter | null = null;

  constructor({ plan, run, output, group, profile = false, test = true }: RunSessionOptions) {
    this.#plan = plan;
    this.#run = run;
    this.#output = output;
    this.#group = group;
    this.#tests = test;
    const trace = profile && group.isRoot ? new TraceWriter(run.file('trace.json')) : null;
    this.#trace = trace;
    this.#timings = new StageTimings(trace === null ? null : (span) => trace.add(span));
    this.#report = new RunReport(plan, run, output);
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
    const found = await this.#group.onRoot(() => findResumePoint(this.#plan, this.#run));
    const task = await this.#plan.open(found?.record ?? null, this.#timings);
    this.#task = task;
    const checkpoints = new RunCheckpoints(task, {
      ...{ plan: this.#plan, run: this.#run, output: this.#output, group: this.#group },
    });
    const from = found === null ? {} : await checkpoints.resume(found.name);
    // A run that ended before its first checkpoint starts over, and so do its metrics.
    if (found === null && this.#run.resumed) await this.#run.keepMetrics(() => false);
    if (this.#run.resumed) await this.#run.writeConfig();
    const epochs = checkpoints.firstEpoch + this.#plan.epochs;
    const done = from.position?.epoch ?? 0;
    if (done >= epochs) this.#output.note(`Nothing to train: ${done} of ${epochs} epochs are done.`);
    const keeper = this.#plan.keepBest ? checkpoints.keeper() : 'none';
    const limitEpochs = this.#limitEpochs(task, checkpoints.firstEpoch);
    const result = await fit(task, {
      ...this.#plan.fit,
      ...(limitEpochs === undefined ? {} : { limitEpochs }),
      ...this.#hooks(task, checkpoints, epochs),
      ...{ epochs, from, best: keeper, timings: this.#timings },
    }).finally(() => this.#report.flush());
    if (result.stopped === 'early') this.#output.note(this.#reasonToEnd(task, result));
    if (result.stopped === 'interrupted') {
      this.#progress?.stop();
      await checkpoints.save(['last'], result);
      return this.#stopped(`in epoch ${result.epochs + 1}`, result, {});
    }
    return this.#finish(task, checkpoints, result);
  }

  #reasonToEnd(task: Task, { stale, epochs }: FitResult): string {
    const { patience = Number.POSITIVE_INFINITY, minValue } = this.#plan.fit;
    const metric = this.#report.metricOf(task);
    return stale >= patience
      ? `No improvement of ${metric} in ${stale} evaluations: training ends.`
      : `${metric} has not reached ${minValue} after ${epochs} epochs: training ends.`;
  }

  /** Returns the hook that lowers the number of epochs to those that fit the time limit; rank 0 decides. */
  #limitEpochs(task: Task, firstEpoch: number): FitOptions['limitEpochs'] {
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
      const decided = Math.max(1, epochs - firstEpoch);
      this.#report.say(`time limit: ${decided} epochs`);
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

  #hooks(task: Task, checkpoints: RunCheckpoints, epochs: number): Partial<FitOptions> {
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
      request: (state) => agreedRequest(this.#group, this.#request(state, checkpoints.minutesSinceSave)),
      onSave: (state) => checkpoints.save(['last'], state),
      onEpoch: (record) => {
        progress.stop();
        const own = { memory: process.memoryUsage.rss(), stages: this.#timings.take() };
        this.#report.epoch(record, task.items, this.#group.gather(own));
      },
      evaluate: () => this.#evaluate(task, 'validation'),
      onEvaluation: (epoch, metrics, seconds) =>
        this.#report.evaluation('validation', epoch, metrics, seconds),
      onEpochEnd: async (state, isLast) => {
        const names = this.#plan.epochCheckpoints(state.position.epoch, isLast);
        if (names.length > 0) await checkpoints.save(names, state);
      },
    };
  }

  /** Returns this worker's request after a batch. Clocks differ, so the workers agree on one afterwards. */
  #request({ position: { step } }: FitState, minutesSinceSave: number): Request {
    if (this.#interrupt.requested) return 'stop';
    const { batches, minutes } = this.#plan.save;
    const due = batches > 0 && step % batches === 0;
    return due || (minutes > 0 && minutesSinceSave >= minutes) ? 'save' : 'continue';
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

  /** Tests the kept state, saves it, and writes the outcome. */
  async #finish(task: Task, checkpoints: RunCheckpoints, result: FitResult): Promise<RunResult> {
    const plan = this.#plan;
    const kept = checkpoints.kept ?? result;
    const { epochs, best } = result;
    const { validation } = kept;
    const names = restoresBest(this.#plan) || !checkpoints.has('last') ? [''] : ['', 'last'];
    // Saved before the test, which may take long.
    if (plan.saveModel) await checkpoints.save(names, kept);
    const { test, baselines } = this.#tests ? await this.#test(task, result, validation) : untested;
    // Saved after the test events, so that scoring continues at the end of the stream.
    if (plan.saveModel && task.evaluationMovesState === true) await checkpoints.save([''], kept);
    const more = await plan.finish?.({
      ...{ task, run: this.#run, output: this.#output },
      stop: () => this.#group.any(this.#interrupt.requested),
      say: (line) => this.#report.say(line),
    });
    if (more === null)
      return this.#stopped('after the test; the model is trained and saved', kept, test, baselines);
    const outcome = {
      directory: this.#run.path,
      epochs,
      ...(best === null ? {} : { best: { ...best, metric: this.#report.metricOf(task) } }),
      validation,
      test,
      ...Object.fromEntries(Object.entries(test).map(([name, value]) => [`test.${name}`, value])),
      ...(baselines.length === 0 ? {} : { baselines }),
      ...more,
      [`${task.items}_per_second`]: this.#report.itemsPerSecond,
      seconds: this.#report.seconds,
      peak_rss_mb: peakRssMb(),
      ...(this.#group.size === 1 ? {} : { workers: this.#group.size }),
    };
    await this.#run.finish(outcome);
    this.#output.text(`Done in ${this.#output.elapsed()}. Saved in ${this.#run.path}`);
    this.#output.event('done', outcome);
    return {
      ...{ directory: this.#run.path, interrupted: false, epochs, validation, test, baselines },
      itemsPerSecond: this.#report.itemsPerSecond,
    };
  }

  /** Evaluates the test split, and baselines on it, or on the validation split where there is no test split. */
  async #test(task: Task, result: FitResult, validation: Metrics): Promise<Tested> {
    const { best, epochs } = result;
    const tested = restoresBest(this.#plan) && best !== null ? best.epoch : epochs;
    if (restoresBest(this.#plan) && best !== null) this.#report.say(`test with the model of epoch ${tested}`);
    const started = performance.now();
    const test = await this.#evaluate(task, 'test');
    if (!isEmpty(test))
      this.#report.evaluation('test', epochs, test, (performance.now() - started) / 1000, {
        tested_epoch: tested,
      });
    const split = isEmpty(test) ? 'validation' : 'test';
    const baselines = (await this.#timings.timeAsync('evaluate', async () => task.baselines?.(split))) ?? [];
    this.#report.baselines(split, baselines, task.items);
    this.#report.course();
    this.#report.advice(task, result, isEmpty(test) ? validation : test, baselines);
    return { test, baselines };
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
      itemsPerSecond: this.#report.itemsPerSecond,
    };
  }
}

/** Results at the end of a run. */
interface Tested {
  readonly test: Metrics;
  readonly baselines: readonly Baseline[];
}

const untested: Tested = { test: {}, baselines: [] };

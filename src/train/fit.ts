/**
 * The training loop: epochs, learning rates, evaluation, early stopping, the best state, interruption. Every training in
 * Skein goes through it; a run directory (run/run-session.ts) and progress are hooks around it.
 *
 * @example
 * const result = await fit(task, { epochs: 20, patience: 3 });
 * console.log(result.best, await task.evaluate('test'));
 */
import { type PlateauState, ReduceLROnPlateau } from '../nn/optim/plateau.js';
import { checkInteger, expected, markCollective, StateError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { type BestKeeper, keepInMemory } from './best-state.js';
import type { Cursor, Metrics, Position, StepBatch, Task } from './task.js';

/** Progress within an epoch. */
export interface EpochProgress {
  readonly batches: number;
  readonly items: number;
  /** Sum over items. */
  readonly loss: number;
}

/** A finished epoch. */
export interface FitEpoch extends EpochProgress {
  /** From 1. */
  readonly epoch: number;
  /** Since the epoch began, or training resumed in it. */
  readonly seconds: number;
  /** Items of these seconds. */
  readonly trained: number;
}

/** The best evaluation so far. */
export interface BestResult {
  readonly epoch: number;
  readonly value: number;
}

/** Lowers the learning rates when the deciding metric stops improving; stepped once per evaluation. */
export interface PlateauSchedule {
  /** Multiplies the rates. */
  readonly factor: number;
  /** Evaluations without improvement that are tolerated. */
  readonly patience: number;
  /** The least improvement, relative to the best value. */
  readonly threshold: number;
}

/** The state of the loop: `fit` resumes from it, and a checkpoint stores it. */
export interface FitState {
  readonly position: Position;
  readonly progress: EpochProgress;
  readonly best: BestResult | null;
  /** Evaluations without improvement. */
  readonly stale: number;
  /** Metrics of the last evaluation. */
  readonly validation: Metrics;
  /** The state of `plateau`, with the current factor of the rates; absent without one. */
  readonly plateau?: PlateauState & { readonly rate: number };
}

/** An action between two batches. */
export type Request = 'continue' | 'save' | 'stop';

/** Callbacks during training, in the order of their calls; they do not affect results. */
export interface FitHooks {
  /** Before the batches of an epoch (from 1). */
  onEpochStart?(epoch: number, items: number, done: number): void;
  onStep?(progress: EpochProgress, step: { readonly items: number; readonly loss: number }): void;
  /** Called after every batch. `save` calls `onSave`, `stop` ends training; all workers must return the same value. */
  request?(state: FitState): Request;
  /** Called while no batch is in flight. */
  onSave?(state: FitState): Promise<void>;
  onEpoch?(record: FitEpoch): void | Promise<void>;
  onEvaluation?(epoch: number, metrics: Metrics, seconds: number): void | Promise<void>;
  /** After an epoch and its evaluation. */
  onEpochEnd?(state: FitState, isLast: boolean): Promise<void>;
}

/** Measures the stages of training. */
export interface StageTimer {
  timeAsync<T>(stage: string, work: () => Promise<T>): Promise<T>;
}

export interface FitOptions extends FitHooks {
  /** Total number of epochs, including those before `from`. Default 1. */
  readonly epochs?: number;
  readonly from?: Partial<FitState>;
  /** Evaluate the validation split every this many epochs, and after the last one; 0: never. Default 1. */
  readonly evaluateEvery?: number;
  /**
   * The metric for early stopping and the best state; later ones in a list break ties. Default: the task's headline. `loss`
   * is the training loss, unless evaluation returns one.
   */
  readonly metric?: string | readonly string[];
  /** Further metrics for which lower is better. Known: the task's, `loss`, `mr`, `mse`, `rmse`, `mae`, `nll`, `perplexity`. */
  readonly lowerIsBetter?: readonly string[];
  /** Stop after this many evaluations without improvement. Default: never. */
  readonly patience?: number;
  /** The least improvement that counts. Default 0. */
  readonly minDelta?: number;
  /** Epochs before `patience` or `minValue` may stop training. Default 0. */
  readonly minEpochs?: number;
  /** Stop if the metric has not reached this value after `minEpochs`. */
  readonly minValue?: number;
  /** Lowers the learning rates when the metric stops improving, in addition to `schedule`. */
  readonly plateau?: PlateauSchedule;
  /** Returns the factor of the learning rates in an epoch (from 0). */
  readonly schedule?: (epoch: number, epochs: number) => number;
  /** Where the best state is kept. Default: `memory` with `patience`, else `none`. */
  readonly best?: BestKeeper | 'memory' | 'none';
  /**
   * Called after every batch, and after every epoch before its evaluation. A number lowers `epochs`, but never below the
   * epochs that have begun. All workers must return the same value.
   */
  readonly limitEpochs?: (state: FitState) => number | undefined | Promise<number | undefined>;
  /** Replaces the task's evaluation of the validation split. */
  readonly evaluate?: () => Promise<Metrics>;
  /** Aborts training before the next epoch. */
  readonly signal?: { throwIfAborted(): void };
  readonly timings?: StageTimer;
}

export interface FitResult extends FitState {
  /** Finished epochs. */
  readonly epochs: number;
  readonly stopped: 'finished' | 'early' | 'interrupted';
  /** Mean training loss of the last epoch. */
  readonly loss: number;
  /** Whether the state of the best epoch was restored. */
  readonly restored: boolean;
}

const noProgress: EpochProgress = { batches: 0, items: 0, loss: 0 };

const untimed: StageTimer = { timeAsync: (_stage, work) => work() };

/** Trains a task. Restores the best state at the end, where one is kept. */
export async function fit<B extends object>(task: Task<B>, options: FitOptions = {}): Promise<FitResult> {
  checkOptionNames('fit', options, {
    ...{
      epochs: true,
      from: true,
      evaluateEvery: true,
      metric: true,
      patience: true,
      minDelta: true,
      lowerIsBetter: true,
    },
    ...{ minEpochs: true, minValue: true, plateau: true, limitEpochs: true },
    ...{ schedule: true, best: true, evaluate: true, signal: true, timings: true },
    ...{ onEpochStart: true, onStep: true, request: true, onSave: true, onEpoch: true },
    ...{ onEvaluation: true, onEpochEnd: true },
  });
  checkTask(task);
  return new Fit(task, options).run();
}

/** Throws unless `task` has the methods of a task: callers may be plain JavaScript. */
function checkTask(task: Partial<Task> | null | undefined): void {
  const lacking = (['train', 'evaluate', 'snapshot', 'restore'] as const).find(
    (name) => typeof task?.[name] !== 'function',
  );
  if (lacking !== undefined)
    throw new ValueError(expected('fit', `a task with the method ${lacking}`, 'task', task));
  if (typeof task?.batches?.train?.epoch !== 'function')
    throw new ValueError(expected('fit', 'batches.train with the method epoch', 'task', task));
}

class Fit<B extends object> {
  readonly #task: Task<B>;
  readonly #options: FitOptions;
  readonly #plateau: { readonly steps: ReduceLROnPlateau; readonly rates: { lr: number } } | null;
  #epochs: number;
  readonly #metrics: readonly string[];
  readonly #lower: ReadonlySet<string>;
  readonly #keeper: BestKeeper | null;
  #position: Position;
  #progress: EpochProgress;
  #best: BestResult | null;
  /** Values of the best evaluation, by metric; after resuming only the first is known. */
  #bestValues: readonly number[];
  #stale: number;
  #validation: Metrics;
  #loss = Number.NaN;
  #lastTurn = performance.now();

  constructor(task: Task<B>, options: FitOptions) {
    this.#task = task;
    this.#options = options;
    this.#epochs = checkInteger('fit', 'epochs', options.epochs ?? 1);
    this.#metrics = [options.metric ?? task.headline].flat();
    this.#lower = new Set([...falling, ...(task.lowerIsBetter ?? []), ...(options.lowerIsBetter ?? [])]);
    const { from = {}, patience = Number.POSITIVE_INFINITY } = options;
    this.#position = from.position ?? { epoch: 0, step: 0 };
    this.#progress = from.progress ?? noProgress;
    // Checkpoints of older versions may have NaN here, which is never the best.
    this.#best = isValue(from.best?.value) ? (from.best ?? null) : null;
    this.#bestValues = this.#best === null ? [] : [this.#best.value];
    this.#stale = from.stale ?? 0;
    this.#validation = from.validation ?? {};
    this.#plateau = this.#newPlateau(from.plateau);
    const keep = options.best ?? (Number.isFinite(patience) ? 'memory' : 'none');
    this.#keeper = keep === 'none' ? null : keep === 'memory' ? keepInMemory(task) : keep;
  }

  get #state(): FitState {
    return {
      position: this.#position,
      progress: this.#progress,
      best: this.#best,
      stale: this.#stale,
      validation: this.#validation,
      ...(this.#plateau === null
        ? {}
        : { plateau: { ...this.#plateau.steps.stateDict(), rate: this.#plateau.rates.lr } }),
    };
  }

  #newPlateau(from: FitState['plateau']) {
    const { plateau } = this.#options;
    if (plateau === undefined) return null;
    const rates = { lr: from?.rate ?? 1 };
    const mode = this.#lower.has(this.#metrics[0]) ? 'min' : 'max';
    const steps = new ReduceLROnPlateau({ groups: [rates] }, { ...plateau, mode, eps: 0 });
    if (from !== undefined) steps.loadStateDict(from);
    return { steps, rates };
  }

  /** Whether training ends early: no improvement for long, or too low a value. */
  get #isStale(): boolean {
    const { patience = Number.POSITIVE_INFINITY, minEpochs = 0, minValue } = this.#options;
    const { epoch, step } = this.#position;
    if (minEpochs === 0 && minValue === undefined) return this.#stale >= patience;
    // Both are decided by an evaluation after these epochs.
    if (epoch < minEpochs || step !== 0 || !this.#isEvaluated(epoch)) return false;
    return this.#stale >= patience || (minValue !== undefined && this.#misses(minValue));
  }

  /** Returns whether evaluations have not reached a value so far. */
  #misses(value: number): boolean {
    if (this.#best === null) return true;
    return this.#lower.has(this.#metrics[0]) ? this.#best.value > value : this.#best.value < value;
  }

  /** Returns whether the state after these epochs is evaluated. */
  #isEvaluated(epoch: number): boolean {
    const { evaluateEvery = 1 } = this.#options;
    return epoch > 0 && evaluateEvery > 0 && (epoch % evaluateEvery === 0 || epoch >= this.#epochs);
  }

  /** Lowers the number of epochs on request. */
  async #limit(): Promise<void> {
    const most = await this.#options.limitEpochs?.(this.#state);
    if (most === undefined) return;
    const { epoch, step } = this.#position;
    const begun = epoch + (step > 0 ? 1 : 0);
    this.#epochs = Math.max(begun, Math.min(this.#epochs, checkInteger('fit', 'limitEpochs', most)));
  }

  async run(): Promise<FitResult> {
    const { signal } = this.#options;
    try {
      while (this.#position.epoch < this.#epochs && !this.#isStale) {
        signal?.throwIfAborted();
        this.#scaleRates();
        if (!(await this.#epoch())) return this.#result('interrupted');
        await this.#limit();
        await this.#evaluate();
        await this.#options.onEpochEnd?.(this.#state, this.#position.epoch >= this.#epochs || this.#isStale);
      }
      const restored = this.#best !== null && (await this.#keeper?.restore(this.#state)) === true;
      return { ...this.#result(this.#isStale ? 'early' : 'finished'), restored };
    } finally {
      this.#keeper?.release?.();
    }
  }

  #scaleRates(): void {
    const { schedule } = this.#options;
    if (schedule === undefined && this.#plateau === null) return;
    const planned = schedule?.(this.#position.epoch, this.#epochs) ?? 1;
    this.#task.scaleRates?.(planned * (this.#plateau?.rates.lr ?? 1));
  }

  #result(stopped: FitResult['stopped']): FitResult {
    return { ...this.#state, epochs: this.#position.epoch, stopped, loss: this.#loss, restored: false };
  }

  /** Trains the rest of an epoch. Returns false if a request ended it. */
  async #epoch(): Promise<boolean> {
    const { batches } = this.#task;
    const { timings = untimed, ...hooks } = this.#options;
    const { epoch, ...from } = this.#position;
    if (from.step === 0) {
      this.#progress = noProgress;
      await this.#task.startEpoch?.(epoch);
    }
    const { numItems, readsAhead = false } = batches.train;
    const before = this.#progress.items;
    hooks.onEpochStart?.(epoch + 1, numItems, before);
    const started = performance.now();
    let steps = batches.train.epoch(epoch, from.step === 0 ? undefined : from);
    try {
      for (;;) {
        const { value: batch, done } = await timings.timeAsync('load', () => steps.next());
        if (done === true) break;
        await this.#step(batch);
        if (hooks.limitEpochs !== undefined) await this.#limit();
        const request = hooks.request?.(this.#state) ?? 'continue';
        if (request === 'stop') return false;
        if (request === 'save') {
          if (readsAhead) await steps.return(undefined);
          await hooks.onSave?.(this.#state);
          if (readsAhead) steps = batches.train.epoch(epoch, this.#cursor());
        }
        await this.#turn();
      }
    } finally {
      await steps.return(undefined);
    }
    const seconds = (performance.now() - started) / 1000;
    const progress = this.#progress;
    this.#loss = progress.items === 0 ? 0 : progress.loss / progress.items;
    this.#position = { epoch: epoch + 1, step: 0 };
    this.#progress = noProgress;
    await hooks.onEpoch?.({ ...progress, epoch: epoch + 1, seconds, trained: progress.items - before });
    return true;
  }

  #cursor(): Cursor {
    const { epoch: _, ...cursor } = this.#position;
    return cursor;
  }

  async #step(batch: B): Promise<void> {
    const { epoch, step } = this.#position;
    const { loss, items } = await this.#task.train(batch);
    if (!Number.isFinite(loss))
      throw markCollective(
        new StateError(
          `training: expected a finite loss, got ${loss} in epoch ${epoch + 1}, batch ${step + 1}. Lower the learning rates, or check the features for values that are not finite.`,
        ),
      );
    this.#position = { epoch, ...((batch as StepBatch).after ?? { step: step + 1 }) };
    const { batches, items: done, loss: sum } = this.#progress;
    this.#progress = { batches: batches + 1, items: done + items, loss: sum + loss };
    this.#options.onStep?.(this.#progress, { items, loss });
  }

  /** Yields to the event loop now and then, so that timers and signals are handled. */
  async #turn(): Promise<void> {
    if (performance.now() - this.#lastTurn < 50) return;
    // Browsers have no setImmediate.
    await new Promise<void>((resolve) => void (globalThis.setImmediate ?? setTimeout)(resolve));
    this.#lastTurn = performance.now();
  }

  async #evaluate(): Promise<void> {
    const { minDelta, onEvaluation, evaluate } = this.#options;
    const { epoch } = this.#position;
    if (!this.#isEvaluated(epoch)) return;
    const started = performance.now();
    const metrics = await (evaluate?.() ?? this.#task.evaluate('validation'));
    if (Object.keys(metrics).length === 0) return;
    this.#validation = metrics;
    await onEvaluation?.(epoch, metrics, (performance.now() - started) / 1000);
    const values = this.#metrics.map((metric) => this.#valueOf(metric, metrics));
    const better =
      isValue(values[0]) &&
      (this.#best === null || isBetter(this.#metrics, values, this.#bestValues, minDelta ?? 0, this.#lower));
    this.#stale = better ? 0 : this.#stale + 1;
    if (isValue(values[0])) this.#plateau?.steps.step(values[0]);
    if (!better) return;
    this.#best = { epoch, value: values[0] };
    this.#bestValues = values;
    await this.#keeper?.keep(this.#state);
  }

  #valueOf(metric: string, metrics: Metrics): number {
    const value = metric === 'loss' ? (metrics['loss'] ?? this.#loss) : metrics[metric];
    if (value !== undefined) return value;
    const known = Object.keys(metrics).join(', ');
    throw markCollective(
      new StateError(
        `fit: expected one of ${known} for the deciding metric (metric, the task's headline, or training.early_stopping.metric), got ${metric}.`,
      ),
    );
  }
}

/** Metrics for which lower is better in every task. */
const falling = ['loss', 'mr', 'mse', 'rmse', 'mae', 'nll', 'perplexity'];

/** Returns whether lower values of a metric are better, in every task or by the given names. */
export function isLower(metric: string, names: readonly string[]): boolean {
  return falling.includes(metric) || names.includes(metric);
}

const isValue = (value: unknown): boolean => typeof value === 'number' && !Number.isNaN(value);

/** Returns whether `values` improve on `before`: the first by more than `least`; ties are broken by the next value. */
function isBetter(
  metrics: readonly string[],
  values: readonly number[],
  before: readonly number[],
  least: number,
  lower: ReadonlySet<string>,
): boolean {
  for (const [i, metric] of metrics.entries()) {
    const gain = lower.has(metric) ? before[i] - values[i] : values[i] - before[i];
    if (gain > (i === 0 ? least : 0)) return true;
    if (gain !== 0) return false;
  }
  return false;
}

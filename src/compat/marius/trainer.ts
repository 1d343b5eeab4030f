/**
 * The document's trainers: facades over `fit`.
 *
 * `SynchronousTrainer` finishes a batch before the next is read. `PipelineTrainer` keeps up to `stalenessBound` batches
 * in flight: the parameters of batch t are read when exactly the updates of batches up to t − bound have been applied, so
 * results depend on the bound and not on timing, and a bound of 1 is synchronous training bit for bit.
 */
import type { FitState } from '../../train/fit.js';
import { fit, GraphTask, type Model, type ProgressReporter } from '../../train/index.js';
import type { StageTimings } from '../../train/run/timings.js';
import { checkInteger } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkBatcherAndModel } from './checks.js';
import type { GraphBatcher } from './graph-batcher.js';

/** The progress of an epoch. */
export interface TrainProgress {
  readonly epoch: number;
  readonly batches: number;
  /** Edges or nodes. */
  readonly items: number;
  readonly totalItems: number;
  /** Sum over batches. */
  readonly loss: number;
  /** Since the epoch began, or training resumed in it. */
  readonly seconds: number;
  readonly perSecond: number;
}

export interface TrainerOptions {
  /** Prints the progress of an epoch. */
  readonly progressReporter?: ProgressReporter | null;
  readonly onBatch?: (progress: TrainProgress) => void;
  readonly onEpoch?: (progress: TrainProgress) => void | Promise<void>;
  /**
   * Called after every batch: 'stop' ends training after it, 'save' calls `onSave` with no batch in flight. Results do not
   * depend on it with a bound of 1.
   */
  readonly decide?: (progress: TrainProgress) => 'go' | 'save' | 'stop';
  readonly onSave?: () => Promise<void>;
  readonly timings?: StageTimings;
}

type EpochProgress = FitState['progress'];

export abstract class Trainer {
  readonly graphBatcher: GraphBatcher;
  readonly model: Model;
  readonly progressReporter: ProgressReporter | null;
  readonly options: TrainerOptions;
  /** Whether `decide` stopped the last call of `train`. */
  stopped = false;
  readonly #bound: number;
  #resumed: EpochProgress | null = null;

  constructor(graphBatcher: GraphBatcher, model: Model, options: TrainerOptions, bound: number) {
    checkOptionNames<PipelineTrainerOptions>(new.target.name, options, {
      progressReporter: true,
      onBatch: true,
      onEpoch: true,
      decide: true,
      onSave: true,
      timings: true,
      stalenessBound: true,
    });
    checkBatcherAndModel(new.target.name, graphBatcher, model);
    this.graphBatcher = graphBatcher;
    this.model = model;
    this.progressReporter = options.progressReporter ?? null;
    this.options = options;
    this.#bound = bound;
  }

  /** Sets the progress of the epoch in which training resumes, for reports. */
  continueFrom(done: EpochProgress): void {
    this.#resumed = done;
  }

  /** Trains `numEpochs` epochs from the position of the batcher. */
  async train(numEpochs = 1): Promise<void> {
    checkInteger(`${this.constructor.name}.train`, 'numEpochs', numEpochs);
    const { model, options, progressReporter } = this;
    const { source } = this.graphBatcher;
    const { timings, onSave } = options;
    const { position } = source;
    const task = new GraphTask({
      ...{ model, source, stalenessBound: this.#bound },
      ...(timings === undefined ? {} : { timings }),
    });
    const totalItems = task.batches.train.numItems;
    // An estimate: batches may be smaller than `batchSize`.
    const items = Math.min(totalItems, position.step * source.batchSize);
    const resumed = this.#resumed ?? { batches: 0, items, loss: 0 };
    this.#resumed = null;
    let [started, skipped, epoch] = [0, 0, position.epoch];
    const progress = (done: EpochProgress): TrainProgress => {
      const seconds = (performance.now() - started) / 1000;
      const perSecond = (done.items - skipped) / Math.max(seconds, 1e-9);
      return { ...done, epoch, totalItems, seconds, perSecond };
    };
    const { stopped, position: end } = await fit(task, {
      epochs: position.epoch + numEpochs,
      from: { position, progress: resumed },
      evaluateEvery: 0,
      ...(timings === undefined ? {} : { timings }),
      onEpochStart: (number, total, done) => {
        [started, skipped, epoch] = [performance.now(), done, number - 1];
        progressReporter?.start(number, total, done);
      },
      onStep: (done, { items: added, loss }) => {
        progressReporter?.addResult(added, loss);
        options.onBatch?.(progress(done));
      },
      request: ({ progress: done }) => {
        const asked = options.decide?.(progress(done)) ?? 'go';
        return asked === 'go' ? 'continue' : asked;
      },
      onSave: async (state) => {
        if (this.#bound > 1) source.seek(state.position);
        await onSave?.();
      },
      onEpoch: async (record) => {
        progressReporter?.stop();
        await options.onEpoch?.(progress(record));
      },
    });
    this.stopped = stopped === 'interrupted';
    // The source may have drawn ahead of the last batch that was trained.
    if (this.stopped) source.seek(end);
  }
}

export class SynchronousTrainer extends Trainer {
  constructor(graphBatcher: GraphBatcher, model: Model, options: TrainerOptions = {}) {
    super(graphBatcher, model, options, 1);
  }
}

export interface PipelineTrainerOptions extends TrainerOptions {
  /** Batches in flight at most (default 16). */
  readonly stalenessBound?: number;
}

export class PipelineTrainer extends Trainer {
  readonly stalenessBound: number;

  constructor(graphBatcher: GraphBatcher, model: Model, options: PipelineTrainerOptions = {}) {
    const bound = checkInteger('PipelineTrainer', 'stalenessBound', options.stalenessBound ?? 16, 1);
    super(graphBatcher, model, options, bound);
    this.stalenessBound = bound;
  }
}

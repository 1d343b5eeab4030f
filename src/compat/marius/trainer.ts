/**
 * Marius's trainers over the batches of a `GraphBatcher`, as its document writes them. `fit` does the work.
 *
 * `SynchronousTrainer` finishes a batch before the next is read. `PipelineTrainer` keeps up to `stalenessBound` batches
 * under way: the parameters of batch t are read when exactly the updates of batches up to t − bound have been applied, so
 * results depend on the bound and not on timing, and a bound of 1 is synchronous training bit for bit.
 */
import {
  type FitState,
  fit,
  type GraphBatcher,
  GraphTask,
  type Model,
  type ProgressReporter,
  type StageTimings,
} from '../../train/index.js';
import { checkInteger } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';

/** What happened so far in an epoch. */
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
  /** Shows how far an epoch is. */
  readonly progressReporter?: ProgressReporter | null;
  readonly onBatch?: (progress: TrainProgress) => void;
  readonly onEpoch?: (progress: TrainProgress) => void | Promise<void>;
  /**
   * Asked after every batch: 'stop' ends training after it, 'save' calls `onSave` with no batch under way. Results do not
   * depend on it with a bound of 1.
   */
  readonly decide?: (progress: TrainProgress) => 'go' | 'save' | 'stop';
  readonly onSave?: () => Promise<void>;
  readonly timings?: StageTimings;
}

type Begun = FitState['progress'];

export abstract class Trainer {
  readonly graphBatcher: GraphBatcher;
  readonly model: Model;
  readonly progressReporter: ProgressReporter | null;
  readonly options: TrainerOptions;
  /** Whether the last call of `train` ended because it was told to. */
  stopped = false;
  readonly #bound: number;
  #begun: Begun | null = null;

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
    this.graphBatcher = graphBatcher;
    this.model = model;
    this.progressReporter = options.progressReporter ?? null;
    this.options = options;
    this.#bound = bound;
  }

  /** Says what the epoch in which training resumes has done already, for what is reported of it. */
  continueFrom(done: Begun): void {
    this.#begun = done;
  }

  /** Goes through the training set `numEpochs` times, from where the batcher stands. */
  async train(numEpochs = 1): Promise<void> {
    checkInteger(`${this.constructor.name}.train`, 'numEpochs', numEpochs);
    const { graphBatcher: batcher, model, options, progressReporter } = this;
    const { timings, onSave } = options;
    const { position } = batcher;
    const task = new GraphTask({
      ...{ model, batcher, stalenessBound: this.#bound },
      ...(timings === undefined ? {} : { timings }),
    });
    const totalItems = task.batches.train.numItems;
    // Batches may be smaller than asked for, so their number alone does not tell.
    const items = Math.min(totalItems, position.step * batcher.batchSize);
    const begun = this.#begun ?? { batches: 0, items, loss: 0 };
    this.#begun = null;
    let [started, skipped, epoch] = [0, 0, position.epoch];
    const progress = (done: Begun): TrainProgress => {
      const seconds = (performance.now() - started) / 1000;
      const perSecond = (done.items - skipped) / Math.max(seconds, 1e-9);
      return { ...done, epoch, totalItems, seconds, perSecond };
    };
    const { stopped, position: end } = await fit(task, {
      epochs: position.epoch + numEpochs,
      from: { position, progress: begun },
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
        if (this.#bound > 1) batcher.seek(state.position);
        await onSave?.();
      },
      onEpoch: async (record) => {
        progressReporter?.stop();
        await options.onEpoch?.(progress(record));
      },
    });
    this.stopped = stopped === 'interrupted';
    // The batcher may have drawn ahead: it stands after the last batch that was trained.
    if (this.stopped) batcher.seek(end);
  }
}

export class SynchronousTrainer extends Trainer {
  constructor(graphBatcher: GraphBatcher, model: Model, options: TrainerOptions = {}) {
    super(graphBatcher, model, options, 1);
  }
}

export interface PipelineTrainerOptions extends TrainerOptions {
  /** Batches under way at most (default 16). */
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

/**
 * Training loops over the batches of a `GraphBatcher`.
 *
 * `SynchronousTrainer` finishes a batch before the next is read. `PipelineTrainer` keeps up to `stalenessBound` batches
 * under way: the parameters of batch t are read when exactly the updates of batches up to t − bound have been applied, so
 * results depend on the bound and not on timing, and a bound of 1 is synchronous training bit for bit. Neighbours are
 * sampled and rows are read on other threads while the model computes. All batches are finished before partitions are
 * swapped, at the end of an epoch, and before a hook may stop or save.
 */
import { agreedError } from '../../dist/index.js';
import { checkInteger, StateError } from '../../util/errors.js';
import type { Batch } from '../batch/batch.js';
import type { GraphBatcher } from '../batch/graph-batcher.js';
import type { Model } from '../model/model.js';
import type { ProgressReporter } from '../run/index.js';
import { noTimings, type StageTimings } from './timings.js';

/** What happened so far in an epoch. */
export interface TrainProgress {
  readonly epoch: number;
  readonly batches: number;
  /** Edges or nodes. */
  readonly items: number;
  readonly totalItems: number;
  /** Sum over batches. */
  readonly loss: number;
  /** Since the epoch began, or training went on in it. */
  readonly seconds: number;
  readonly perSecond: number;
}

export interface TrainerOptions {
  /** Shows how far an epoch is. */
  readonly progressReporter?: ProgressReporter | null;
  readonly onBatch?: (progress: TrainProgress) => void;
  readonly onEpoch?: (progress: TrainProgress) => void | Promise<void>;
  /**
   * Asked after every batch, when it may stop: 'stop' ends training after it, 'save' calls `onSave` with no batch under
   * way. Results do not depend on it with a bound of 1.
   */
  readonly decide?: (progress: TrainProgress) => 'go' | 'save' | 'stop';
  readonly onSave?: () => Promise<void>;
  readonly timings?: StageTimings;
}

export abstract class Trainer {
  readonly graphBatcher: GraphBatcher;
  readonly model: Model;
  readonly progressReporter: ProgressReporter | null;
  readonly options: TrainerOptions;
  /** Whether the last call of `train` ended because it was told to. */
  stopped = false;
  #lastTurn = performance.now();
  #begun: { readonly batches: number; readonly items: number; readonly loss: number } | null = null;

  constructor(graphBatcher: GraphBatcher, model: Model, options: TrainerOptions = {}) {
    this.graphBatcher = graphBatcher;
    this.model = model;
    this.progressReporter = options.progressReporter ?? null;
    this.options = options;
  }

  /** Goes through the training set `numEpochs` times, from where the batcher stands. */
  async train(numEpochs = 1): Promise<void> {
    checkInteger(`${this.constructor.name}.train`, 'numEpochs', numEpochs);
    this.stopped = false;
    for (let i = 0; i < numEpochs && !this.stopped; i++) await this.#epoch();
  }

  /** Says what the epoch in which training goes on has done already, for what is reported of it. */
  continueFrom(done: { readonly batches: number; readonly items: number; readonly loss: number }): void {
    this.#begun = done;
  }

  /** Runs batches until the epoch ends or `pause` says so; none is under way afterwards. */
  protected abstract runBatches(done: (batch: Batch, loss: number) => boolean): Promise<void>;

  async #epoch(): Promise<void> {
    const { graphBatcher: batcher, options } = this;
    const timings = options.timings ?? noTimings;
    batcher.setTrainSet();
    await timings.timeAsync('load', () => batcher.loadStorage());
    const started = performance.now();
    const { epoch, step } = batcher.position;
    const totalItems = batcher.numItems;
    const before = this.#begun;
    // Batches may be smaller than asked for, so their number alone does not tell.
    const earlier = before?.items ?? Math.min(totalItems, step * batcher.batchSize);
    this.progressReporter?.start(epoch + 1, totalItems, earlier);
    this.#begun = null;
    let { batches, items, loss } = before ?? { batches: 0, items: 0, loss: 0 };
    const skipped = items;
    let asked: 'go' | 'save' | 'stop' = 'go';
    const progress = (): TrainProgress => {
      const seconds = (performance.now() - started) / 1000;
      return {
        epoch,
        batches,
        items,
        totalItems,
        loss,
        seconds,
        perSecond: (items - skipped) / Math.max(seconds, 1e-9),
      };
    };
    const done = (batch: Batch, batchLoss: number): boolean => {
      batches++;
      items += batch.batchSize;
      const sum = this.model.lossIsMean ? batchLoss * batch.batchSize : batchLoss;
      loss += sum;
      this.progressReporter?.addResult(batch.batchSize, sum);
      options.onBatch?.(progress());
      const wish = options.decide?.(progress()) ?? 'go';
      // Batches that were under way already may not take back what an earlier one asked for.
      if (asked !== 'stop' && wish !== 'go') asked = wish;
      return asked !== 'go';
    };
    while (batcher.hasNextBatch()) {
      asked = 'go';
      try {
        await this.runBatches(done);
      } catch (error) {
        batcher.abandonBatches();
        throw error;
      }
      const wish = asked as string;
      if (wish === 'save') await options.onSave?.();
      if (wish === 'stop') {
        this.stopped = true;
        return;
      }
    }
    await batcher.nextEpoch();
    this.progressReporter?.stop();
    await options.onEpoch?.(progress());
  }

  /** The model's step, where the model is. */
  protected async compute(batch: Batch): Promise<number> {
    const { model, graphBatcher } = this;
    const { device } = model;
    await (this.options.timings ?? noTimings).timeAsync('compute', async () => {
      batch.embeddingsToDevice(device ?? -1);
      if (batch.awaitsParameters) await graphBatcher.loadGPUParameters(batch);
      model.train(batch);
      batch.accumulateGradients();
      await batch.embeddingsToHost();
    });
    const loss = batch.loss ?? Number.NaN;
    if (Number.isFinite(loss)) return loss;
    const { epoch, step } = batch.at;
    throw agreedError(
      new StateError(
        `training: expected a finite loss, got ${loss} in epoch ${epoch + 1}, batch ${step + 1}. Lower the learning rates, or look for values that are not finite in the features.`,
      ),
    );
  }

  /** Applies the batch's updates. */
  protected async update(batch: Batch): Promise<void> {
    const timings = this.options.timings ?? noTimings;
    const onDevice = batch.keepsGradients;
    await timings.timeAsync('update', () => this.graphBatcher.updateEmbeddingsForBatch(batch, onDevice));
    this.graphBatcher.finishedBatch();
    if (performance.now() - this.#lastTurn < 50) return;
    // Timers and signals get their turn only between turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    this.#lastTurn = performance.now();
  }
}

export class SynchronousTrainer extends Trainer {
  protected override async runBatches(done: (batch: Batch, loss: number) => boolean): Promise<void> {
    const timings = this.options.timings ?? noTimings;
    while (this.graphBatcher.hasNextBatch()) {
      const batch = await timings.timeAsync('load', () => this.graphBatcher.getBatch());
      const loss = await this.compute(batch);
      await this.update(batch);
      const pause = done(batch, loss);
      batch.clear();
      if (pause) return;
    }
  }
}

export interface PipelineTrainerOptions extends TrainerOptions {
  /** Batches under way at most (default 16). */
  readonly stalenessBound?: number;
}

export class PipelineTrainer extends Trainer {
  readonly stalenessBound: number;

  constructor(graphBatcher: GraphBatcher, model: Model, options: PipelineTrainerOptions = {}) {
    super(graphBatcher, model, options);
    this.stalenessBound = checkInteger('PipelineTrainer', 'stalenessBound', options.stalenessBound ?? 16, 1);
  }

  protected override async runBatches(done: (batch: Batch, loss: number) => boolean): Promise<void> {
    const timings = this.options.timings ?? noTimings;
    const batcher = this.graphBatcher;
    const drawn: Promise<Batch>[] = [];
    const loaded: Batch[] = [];
    let closing = false;
    // Draws ahead, never into a state whose partitions are not there yet.
    const draw = (): void => {
      while (!closing && drawn.length + loaded.length < this.stalenessBound && batcher.hasNextBatch()) {
        if (batcher.atStateEnd && drawn.length + loaded.length > 0) return;
        const entersState = batcher.atStateEnd;
        const next = batcher.prepareBatch();
        // Whoever takes it from the queue sees an error; until then it must not count as unhandled.
        next.catch(() => undefined);
        drawn.push(next);
        if (entersState) return;
      }
    };
    const load = async (): Promise<void> => {
      while (drawn.length > 0) {
        const batch = await (drawn.shift() as Promise<Batch>);
        await batcher.loadParameters(batch, true);
        loaded.push(batch);
        draw();
      }
    };
    let reading = Promise.resolve();
    try {
      draw();
      await timings.timeAsync('load', load);
      while (loaded.length > 0) {
        const batch = loaded.shift() as Batch;
        const loss = await this.compute(batch);
        // What is being read must not see this batch's update, which was not its turn.
        await timings.timeAsync('load', () => reading);
        await this.update(batch);
        if (done(batch, loss)) closing = true;
        batch.clear();
        draw();
        reading = load();
        reading.catch(() => undefined);
        if (loaded.length === 0) await timings.timeAsync('load', () => reading);
      }
      await reading;
    } catch (error) {
      closing = true;
      await Promise.allSettled([reading, ...drawn]);
      for (const batch of loaded) batch.clear();
      throw error;
    }
  }
}

/**
 * Link prediction and node classification over a graph whose nodes have rows in a table: in memory, through a partition
 * buffer, or sharded over workers. Batches are edges or nodes with their samples.
 */

import type { RunTable } from '../../../storage/index.js';
import type { TableManifest } from '../../../storage/table-manifest.js';
import { checkOptionNames } from '../../../util/option-names.js';
import { noTimings, type StageTimings } from '../../run/timings.js';
import type {
  Baseline,
  Batches,
  HeldOut,
  Metrics,
  SavedState,
  SplitName,
  StepLoss,
  Task,
} from '../../task.js';
import type { BatchSource } from './batch/batch-source.js';
import type { TrainingBatch } from './batch/training-batch.js';
import { GraphBatches } from './graph-batches.js';
import { KeptRows, type KeptRowsState } from './kept-rows.js';
import type { Model } from './model/model.js';

export interface GraphTaskOptions {
  readonly model: Model;
  readonly source: BatchSource;
  /** The rows that a checkpoint keeps; null without any. */
  readonly table?: RunTable | null;
  /** The checkpoint's table that `table` was opened with. */
  readonly opened?: TableManifest | null;
  /** Default: accuracy of nodes, mrr of edges. */
  readonly headline?: string;
  /** Batches in flight at most: 1 (default) reads no batch ahead. */
  readonly stalenessBound?: number;
  /** Read the next batch while one is evaluated (default true). The result is the same. */
  readonly evaluateAhead?: boolean;
  readonly timings?: Pick<StageTimings, 'timeAsync'>;
}

/** The checkpoint state of a task, without its parameters. */
interface GraphState extends KeptRowsState {
  /** Epochs so far, which determine the negatives of an evaluation. */
  readonly evaluationEpoch: number;
  /** The plan key of the epoch; absent in checkpoints of older versions. */
  readonly plan?: string;
}

export class GraphTask implements Task<TrainingBatch> {
  readonly model: Model;
  readonly source: BatchSource;
  readonly batches: Readonly<Record<SplitName, Batches<TrainingBatch>>>;
  readonly headline: string;
  readonly #table: RunTable | null;
  readonly #train: GraphBatches;
  readonly #rows: KeptRows;
  readonly #timings: Pick<StageTimings, 'timeAsync'>;

  constructor(options: GraphTaskOptions) {
    checkOptionNames('GraphTask', options, {
      ...{ model: true, source: true, table: true, opened: true, headline: true },
      ...{ stalenessBound: true, evaluateAhead: true, timings: true },
    });
    const { model, source, stalenessBound = 1 } = options;
    this.model = model;
    this.source = source;
    this.headline = options.headline ?? (source.holdsNodes ? 'accuracy' : 'mrr');
    this.#table = options.table ?? null;
    const optimizer = this.#table === null ? null : (source.storage.embeddings?.optimizer ?? null);
    this.#rows = new KeptRows(this.#table, optimizer, options.opened);
    const ahead = options.evaluateAhead ?? true;
    this.#timings = options.timings ?? noTimings;
    this.#train = new GraphBatches(source, stalenessBound);
    this.batches = {
      train: this.#train,
      validation: new EvaluationBatches(source, 'validation', ahead),
      test: new EvaluationBatches(source, 'test', ahead),
    };
  }

  get items(): 'edges' | 'nodes' {
    return this.source.holdsNodes ? 'nodes' : 'edges';
  }

  get optimizer(): Model['encoderOptimizer'] {
    return this.model.encoderOptimizer;
  }

  scaleRates(factor: number): void {
    this.model.encoderOptimizer?.scaleRates(factor);
    this.#rows.scaleRate(factor);
  }

  async train(batch: TrainingBatch): Promise<StepLoss> {
    const { model, source } = this;
    const { embeddings } = source.storage;
    const items = batch.batchSize;
    const placed = batch.on(model.device);
    // Rows of a table on the device are updated there.
    const staysOnDevice = embeddings === null || embeddings.device !== null;
    try {
      const [loss, gradient] = await this.#timings.timeAsync('compute', () =>
        Promise.all([model.train(placed), staysOnDevice ? null : placed.gradient()]),
      );
      // A loss that is not finite must not reach the table; `fit` throws on it.
      if (Number.isFinite(loss)) {
        await this.#timings.timeAsync('load', () => this.#train.idle());
        const change = staysOnDevice ? placed.uniqueNodeEmbeddings?.ownGrad : gradient;
        await this.#timings.timeAsync('update', async () => {
          if (change) embeddings?.update(batch.uniqueNodeIndices as Int32Array, change);
        });
        // Its memory serves the next step: garbage of this size makes the engine collect every few steps.
        if (placed.uniqueNodeEmbeddings?.device === null || batch.queries !== null)
          placed.uniqueNodeEmbeddings?.ownGrad?.dispose();
      }
      return { loss: model.lossIsMean ? loss * items : loss, items };
    } finally {
      if (placed !== batch) placed.dispose();
    }
  }

  /**
   * Returns the metrics of the model's reporter over all batches of the split. An encoder that follows edges first encodes
   * all nodes, so that edges can be ranked against all of them.
   */
  async evaluate(
    split: HeldOut,
    onProgress: (done: number, total: number) => void = () => {},
  ): Promise<Metrics> {
    const { model, source } = this;
    const batches = this.batches[split];
    if (batches.numItems === 0) return {};
    try {
      source.select(split);
      await this.#releaseRows();
      await source.load();
      model.startEvaluation();
      await model.encodeForEvaluation(source);
      let done = 0;
      const whole = await model.evaluateSplit(source, split, (fraction) => {
        if (!model.evaluatesBatches) onProgress(Math.floor(fraction * batches.numItems), batches.numItems);
      });
      if (!model.evaluatesBatches) return whole;
      for await (const batch of batches.epoch(source.position.epoch)) {
        const placed = batch.on(model.device);
        await model.evaluate(placed);
        if (placed !== batch) placed.dispose();
        done += batch.batchSize;
        onProgress(done, batches.numItems);
      }
      return { ...whole, ...model.finishEvaluation() };
    } finally {
      source.storage.setEncodedNodes(null);
      source.select('train');
    }
  }

  async baselines(split: HeldOut): Promise<readonly Baseline[]> {
    const { model, source } = this;
    if (source.numItemsOf(split) === 0) return [];
    try {
      source.select(split);
      await source.load();
      return await model.baselines(source, split);
    } finally {
      source.select('train');
    }
  }

  /** Releases the resident partitions of a table that does not fit: evaluation reads it partition by partition. */
  async #releaseRows(): Promise<void> {
    if (this.#table === null || this.source.storage.allResident) return;
    await this.#table.release();
    // Training loads them again.
    this.source.seek(this.source.position);
  }

  async snapshot(): Promise<SavedState> {
    const state: GraphState = {
      ...(await this.#rows.snapshot()),
      evaluationEpoch: this.source.position.epoch,
      plan: this.source.planKey,
    };
    return { tensors: {}, state: { ...state } };
  }

  async restore(saved: SavedState): Promise<void> {
    const state = saved.state as unknown as GraphState;
    const { evaluationEpoch, plan } = state;
    this.#train.plan = plan ?? null;
    await this.#rows.restore(state);
    this.source.seek({ epoch: evaluationEpoch, step: 0 });
  }

  async prune(kept: readonly SavedState['state'][]): Promise<void> {
    await this.#rows.prune(kept);
  }

  async close(): Promise<void> {
    this.source.deviceFeatures?.release();
    try {
      await this.#table?.close();
      await this.source.storage.features?.unload?.();
    } finally {
      this.source.storage.close();
    }
  }
}

/** Batches of an evaluation split; the next is read while one is evaluated. */
class EvaluationBatches implements Batches<TrainingBatch> {
  readonly #source: BatchSource;
  readonly #split: HeldOut;
  readonly #ahead: boolean;

  constructor(source: BatchSource, split: HeldOut, ahead: boolean) {
    this.#source = source;
    this.#split = split;
    this.#ahead = ahead;
  }

  get numItems(): number {
    return this.#source.numItemsOf(this.#split);
  }

  async *epoch(): AsyncGenerator<TrainingBatch, void, undefined> {
    const source = this.#source;
    source.select(this.#split);
    await source.load();
    const next = (): Promise<TrainingBatch> | null => {
      if (!source.hasNext()) return null;
      const batch = source.next();
      batch.catch(() => undefined);
      return batch;
    };
    let coming = next();
    while (coming !== null) {
      const batch: TrainingBatch = await coming;
      if (this.#ahead) coming = next();
      yield batch;
      batch.dispose();
      if (!this.#ahead) coming = next();
    }
  }
}

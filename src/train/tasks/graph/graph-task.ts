/**
 * Link prediction and node classification over a graph whose nodes have rows in a table: in memory, through a partition
 * buffer, or held by several workers together. Batches are edges or nodes with what was sampled for them.
 */

import type { RunTable, TableManifest } from '../../../storage/index.js';
import { checkOptionNames } from '../../../util/option-names.js';
import { noTimings, type StageTimings } from '../../run/timings.js';
import type { Batches, HeldOut, Metrics, SavedState, SplitName, StepLoss, Task } from '../../task.js';
import type { Batch } from './batch/batch.js';
import type { GraphBatcher } from './batch/graph-batcher.js';
import { GraphBatches } from './graph-batches.js';
import { KeptRows, type KeptRowsState } from './kept-rows.js';
import type { Model } from './model/model.js';

export interface GraphTaskOptions {
  readonly model: Model;
  readonly batcher: GraphBatcher;
  /** The rows that a checkpoint keeps; null where there are none. */
  readonly table?: RunTable | null;
  /** The checkpoint's table that `table` was opened with. */
  readonly opened?: TableManifest | null;
  /** Default: accuracy of nodes, mrr of edges. */
  readonly headline?: string;
  /** Batches whose parameters may be read ahead of their turn (default 1: none). */
  readonly stalenessBound?: number;
  /** Read the next batch while one is evaluated (default true). The result is the same. */
  readonly evaluateAhead?: boolean;
  readonly timings?: Pick<StageTimings, 'timeAsync'>;
}

/** What a checkpoint keeps of a task beside its parameters. */
interface GraphState extends KeptRowsState {
  /** Epochs before it: decides which negatives evaluation draws. */
  readonly evaluationEpoch: number;
  /** How the epoch is cut into states; checkpoints of older versions do not say. */
  readonly plan?: string;
}

export class GraphTask implements Task<Batch> {
  readonly model: Model;
  readonly batcher: GraphBatcher;
  readonly batches: Readonly<Record<SplitName, Batches<Batch>>>;
  readonly headline: string;
  readonly #table: RunTable | null;
  readonly #train: GraphBatches;
  readonly #rows: KeptRows;
  readonly #timings: Pick<StageTimings, 'timeAsync'>;

  constructor(options: GraphTaskOptions) {
    checkOptionNames('GraphTask', options, {
      ...{ model: true, batcher: true, table: true, opened: true, headline: true },
      ...{ stalenessBound: true, evaluateAhead: true, timings: true },
    });
    const { model, batcher, stalenessBound = 1 } = options;
    this.model = model;
    this.batcher = batcher;
    this.headline = options.headline ?? (batcher.ofNodes ? 'accuracy' : 'mrr');
    this.#table = options.table ?? null;
    const optimizer = this.#table === null ? null : (batcher.graphStorage.embeddings?.optimizer ?? null);
    this.#rows = new KeptRows(this.#table, optimizer, options.opened);
    const ahead = options.evaluateAhead ?? true;
    this.#timings = options.timings ?? noTimings;
    this.#train = new GraphBatches(batcher, stalenessBound);
    this.batches = {
      train: this.#train,
      validation: new EvaluationBatches(batcher, 'validation', ahead),
      test: new EvaluationBatches(batcher, 'test', ahead),
    };
  }

  get items(): 'edges' | 'nodes' {
    return this.batcher.ofNodes ? 'nodes' : 'edges';
  }

  get optimizer(): Model['encoderOptimizer'] {
    return this.model.encoderOptimizer;
  }

  scaleRates(factor: number): void {
    this.model.encoderOptimizer?.scaleRates(factor);
    this.#rows.scaleRate(factor);
  }

  async train(batch: Batch): Promise<StepLoss> {
    const { model, batcher } = this;
    const items = batch.batchSize;
    const onDevice = (batcher.graphStorage.embeddings?.device ?? null) !== null;
    await this.#timings.timeAsync('compute', async () => {
      batch.embeddingsToDevice(model.device ?? -1);
      model.train(batch);
      batch.accumulateGradients();
      await batch.embeddingsToHost(!onDevice);
    });
    const loss = batch.loss ?? Number.NaN;
    // A loss that is not finite must not reach the table; the loop refuses it.
    if (Number.isFinite(loss)) {
      await this.#timings.timeAsync('load', () => this.#train.idle());
      await this.#timings.timeAsync('update', () => batcher.updateEmbeddingsForBatch(batch, onDevice));
    }
    return { loss: model.lossIsMean ? loss * items : loss, items };
  }

  /**
   * The model adds the result of each batch to its reporter, whose metrics are the outcome. An encoder that follows edges
   * first encodes all nodes, so that edges can be ranked against all of them.
   */
  async evaluate(
    split: HeldOut,
    onProgress: (done: number, total: number) => void = () => {},
  ): Promise<Metrics> {
    const { model, batcher } = this;
    const batches = this.batches[split];
    if (batches.numItems === 0) return {};
    try {
      selectSplit(batcher, split);
      await this.#releaseRows();
      await batcher.loadStorage();
      model.startEvaluation();
      await model.encodeForEvaluation(batcher);
      let done = 0;
      for await (const batch of batches.epoch(batcher.position.epoch)) {
        batch.embeddingsToDevice(model.device ?? -1);
        await model.evaluate(batch);
        done += batch.batchSize;
        onProgress(done, batches.numItems);
      }
      return model.finishEvaluation();
    } finally {
      batcher.graphStorage.setEncodedNodes(null);
      batcher.setTrainSet();
    }
  }

  /** A table that is not all in memory is evaluated partition by partition: the resident ones would only take memory. */
  async #releaseRows(): Promise<void> {
    if (this.#table === null || this.batcher.graphStorage.allResident) return;
    await this.#table.release();
    // Training loads them again.
    this.batcher.seek(this.batcher.position);
  }

  async snapshot(): Promise<SavedState> {
    const state: GraphState = {
      ...(await this.#rows.snapshot()),
      evaluationEpoch: this.batcher.position.epoch,
      plan: this.batcher.graphStorage.planKey,
    };
    return { tensors: {}, state: { ...state } };
  }

  async restore(saved: SavedState): Promise<void> {
    const state = saved.state as unknown as GraphState;
    const { evaluationEpoch, plan } = state;
    this.#train.plan = plan ?? null;
    await this.#rows.restore(state);
    this.batcher.seek({ epoch: evaluationEpoch, step: 0 });
  }

  async prune(kept: readonly SavedState['state'][]): Promise<void> {
    await this.#rows.prune(kept);
  }

  async close(): Promise<void> {
    this.batcher.deviceFeatures?.release();
    try {
      await this.#table?.close();
      await this.batcher.graphStorage.features?.unload?.();
    } finally {
      this.batcher.graphStorage.close();
    }
  }
}

function selectSplit(batcher: GraphBatcher, split: HeldOut): void {
  if (split === 'validation') batcher.setValidationSet();
  else batcher.setTestSet();
}

/** Batches of a split that is evaluated; the next is read while one is evaluated. */
class EvaluationBatches implements Batches<Batch> {
  readonly #batcher: GraphBatcher;
  readonly #split: HeldOut;
  readonly #ahead: boolean;

  constructor(batcher: GraphBatcher, split: HeldOut, ahead: boolean) {
    this.#batcher = batcher;
    this.#split = split;
    this.#ahead = ahead;
  }

  get numItems(): number {
    return this.#batcher.numItemsOf(this.#split);
  }

  async *epoch(): AsyncGenerator<Batch, void, undefined> {
    const batcher = this.#batcher;
    selectSplit(batcher, this.#split);
    await batcher.loadStorage();
    const next = (): Promise<Batch> | null => {
      if (!batcher.hasNextBatch()) return null;
      const batch = batcher.getBatch();
      batch.catch(() => undefined);
      return batch;
    };
    let coming = next();
    while (coming !== null) {
      const batch: Batch = await coming;
      if (this.#ahead) coming = next();
      yield batch;
      batch.clear();
      if (!this.#ahead) coming = next();
    }
  }
}

/**
 * Node classification on the whole graph, which is sharded over workers: an epoch is one step, in which each worker has its
 * nodes and the labels of the split. All workers run the same steps, also those without a labelled node.
 *
 * Features are one tensor for all steps, by which a graph finds its cache of fetched features.
 */
import type { ShardEmbeddings } from '../../../../dist/stores/shard-embeddings.js';
import type { SampleTime } from '../../../../sample/index.js';
import type { TrainedRows } from '../../../../storage/index.js';
import type { TableManifest } from '../../../../storage/table-manifest.js';
import type { Tensor } from '../../../../tensor/index.js';
import { noTimings, type StageTimings } from '../../../run/timings.js';
import type {
  Baseline,
  Batches,
  HeldOut,
  Metrics,
  SavedState,
  SplitName,
  StepLoss,
  Task,
} from '../../../task.js';
import { TrainingBatch } from '../../graph/batch/training-batch.js';
import { KeptRows, type KeptRowsState } from '../../graph/kept-rows.js';
import type { Model } from '../../graph/model/model.js';
import { countClasses, mostFrequent } from '../node-baselines.js';
import { NodeClassificationModel } from '../node-classification-model.js';
import { NodeClassificationReporter } from '../node-classification-reporter.js';
import { type ShardedLayer, ShardedLayers } from './sharded-layers.js';

/** The inputs of a step on one split. */
export interface ShardedSet {
  /** The first to run first. */
  readonly layers: readonly ShardedLayer[];
  /** One row for each source of the first layer; null where the encoder reads none. */
  readonly features: Tensor | null;
  /** For each source of the first layer the row of its node among those of this worker. */
  readonly inputRows: Int32Array;
  /** The class of each target of the last layer; −1 is ignored. */
  readonly labels: Int32Array;
  /** Labelled nodes of the split on all workers. */
  readonly count: number;
  /** Whether the first graph keeps the rows of features that it fetches. */
  readonly cached: boolean;
}

export type ShardedSets = Readonly<Record<SplitName, ShardedSet>>;

/** Returns the batch of a step. @param rows the embeddings of `inputRows`; the batch disposes of them. */
export function shardedBatch(
  set: ShardedSet,
  rows: Tensor | null,
  train: boolean,
  at: Required<SampleTime>,
): TrainingBatch {
  // Compressed rows carry the rounding error of the previous step's gradients.
  if (train) for (const { graph } of set.layers) graph.beginStep();
  const batch = new TrainingBatch({
    ...{ train, at, batchSize: set.count, shardedGraph: new ShardedLayers(set.layers) },
    ...{ uniqueNodeLabels: set.labels, uniqueNodeIndices: set.inputRows },
    uniqueNodeFeatures: set.features,
    keepsFeatures: true,
  });
  return rows === null ? batch : batch.withEmbeddings(rows);
}

/** One batch per epoch. */
class WholeGraph implements Batches<TrainingBatch> {
  readonly #set: ShardedSet;
  readonly #embeddings: TrainedRows | null;
  readonly #train: boolean;

  constructor(set: ShardedSet, embeddings: TrainedRows | null, train: boolean) {
    this.#set = set;
    this.#embeddings = embeddings;
    this.#train = train;
  }

  get numItems(): number {
    return this.#set.count;
  }

  async *epoch(epoch: number): AsyncGenerator<TrainingBatch, void, undefined> {
    if (this.#set.count === 0) return;
    const rows = this.#embeddings?.resident(this.#set.inputRows) ?? null;
    const batch = shardedBatch(this.#set, rows, this.#train, { epoch, step: 0 });
    yield batch;
    batch.dispose();
  }
}

export interface ShardedTaskOptions {
  readonly model: Model;
  readonly sets: ShardedSets;
  /** The rows of this worker's nodes; null without trained rows. */
  readonly embeddings: ShardEmbeddings | null;
  /** The manifest of the checkpoint that `embeddings` were opened from. */
  readonly opened: TableManifest | null;
  readonly headline: string;
  readonly timings?: Pick<StageTimings, 'time'>;
}

export class ShardedTask implements Task<TrainingBatch> {
  readonly items = 'nodes';
  readonly model: Model;
  readonly headline: string;
  readonly batches: Readonly<Record<SplitName, Batches<TrainingBatch>>>;
  readonly #sets: ShardedSets;
  readonly #embeddings: ShardEmbeddings | null;
  readonly #rows: KeptRows;
  readonly #timings: Pick<StageTimings, 'time'>;

  constructor({ model, sets, embeddings, opened, headline, timings = noTimings }: ShardedTaskOptions) {
    this.model = model;
    this.headline = headline;
    this.#sets = sets;
    this.#embeddings = embeddings;
    this.#rows = new KeptRows(embeddings, embeddings?.optimizer ?? null, opened);
    this.#timings = timings;
    this.batches = {
      train: new WholeGraph(sets.train, embeddings, true),
      validation: new WholeGraph(sets.validation, embeddings, false),
      test: new WholeGraph(sets.test, embeddings, false),
    };
  }

  get optimizer(): Model['encoderOptimizer'] {
    return this.model.encoderOptimizer;
  }

  scaleRates(factor: number): void {
    this.model.encoderOptimizer?.scaleRates(factor);
    this.#rows.scaleRate(factor);
  }

  async train(batch: TrainingBatch): Promise<StepLoss> {
    const items = batch.batchSize;
    const loss = await this.#timings.time('compute', () => this.model.train(batch));
    // A loss that is not finite must not reach the table; `fit` throws on it.
    if (this.#embeddings !== null && Number.isFinite(loss)) {
      const gradient = (await batch.gradient()) as Float32Array;
      const rows = batch.uniqueNodeIndices as Int32Array;
      this.#timings.time('update', () => this.#embeddings?.update(rows, gradient));
    }
    return { loss: this.model.lossIsMean ? loss * items : loss, items };
  }

  async evaluate(split: HeldOut, onProgress?: (done: number, total: number) => void): Promise<Metrics> {
    const batches = this.batches[split];
    if (batches.numItems === 0) return {};
    this.model.startEvaluation();
    for await (const batch of batches.epoch(0)) {
      await this.model.evaluate(batch);
      onProgress?.(batch.batchSize, batches.numItems);
    }
    return this.model.finishEvaluation();
  }

  /** Returns the most frequent class of the training nodes as a prediction. Collective. */
  async baselines(split: HeldOut): Promise<readonly Baseline[]> {
    const { model } = this;
    if (!(model instanceof NodeClassificationModel) || this.batches[split].numItems === 0) return [];
    const { numClasses, metrics } = model.reporter;
    const counts = countClasses(this.#sets.train.labels, numClasses);
    const majority = mostFrequent(model.workers?.sum(counts) ?? counts);
    const reporter = new NodeClassificationReporter({ numClasses, metrics });
    const { labels } = this.#sets[split];
    reporter.addResult(labels, new Int32Array(labels.length).fill(majority));
    if (model.workers !== null) reporter.gather(model.workers);
    return [{ name: 'majority class', metrics: reporter.results() }];
  }

  async snapshot(): Promise<SavedState> {
    return { tensors: {}, state: { ...(await this.#rows.snapshot()) } };
  }

  async restore(saved: SavedState): Promise<void> {
    await this.#rows.restore(saved.state as unknown as KeptRowsState);
  }

  async prune(kept: readonly SavedState['state'][]): Promise<void> {
    await this.#rows.prune(kept);
  }

  async close(): Promise<void> {}
}

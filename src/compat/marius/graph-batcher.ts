/** The document's iterator of batches: a facade over `BatchSource`. */
import { asTensor } from '../../storage/memory-embeddings.js';
import {
  BatchSource,
  type GraphStorage,
  type Position,
  type SplitName,
  type TrainingEdgeSampler,
  type TrainingNegativeSampler,
  type TrainingNeighborSampler,
  type TrainingNodeSampler,
} from '../../train/index.js';
import type { BatchSourceOptions } from '../../train/tasks/graph/batch/batch-source-options.js';
import { StateError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { Batch, listsOf } from './batch.js';

export interface GraphBatcherOptions
  extends Pick<BatchSourceOptions, 'batchSize' | 'evaluationBatchSize' | 'filtered' | 'hideTargets'> {
  /** Negatives in evaluation; null: every edge is ranked against all nodes. */
  readonly evaluationNegativeSampler?: TrainingNegativeSampler | null;
}

export class GraphBatcher {
  /** The source of the batches, as tasks take it. */
  readonly source: BatchSource;
  readonly #filtersNegatives: boolean;
  /** Training batches whose updates are not applied yet. */
  readonly #inFlight = new Set<Batch>();
  /** Updated batches for which `finishedBatch` may still be called: the document's loop does not call it. */
  #unconfirmed = 0;

  /** @param graphStorage the storage, or a source that was made without a batcher. */
  constructor(
    graphStorage: GraphStorage | BatchSource,
    sampler?: TrainingEdgeSampler | TrainingNodeSampler,
    negativeSampler: TrainingNegativeSampler | null = null,
    trainingNeighborSampler: TrainingNeighborSampler | null = null,
    evaluationNeighborSampler: TrainingNeighborSampler | null = null,
    options: GraphBatcherOptions = {},
  ) {
    checkOptionNames('GraphBatcher', options, {
      ...{ batchSize: true, evaluationBatchSize: true, evaluationNegativeSampler: true },
      ...{ filtered: true, hideTargets: true },
    });
    const { evaluationNegativeSampler = null, ...rest } = options;
    this.source =
      graphStorage instanceof BatchSource
        ? graphStorage
        : new BatchSource(graphStorage, sampler as TrainingEdgeSampler, {
            ...rest,
            negatives: negativeSampler,
            evaluationNegatives: evaluationNegativeSampler,
            neighbors: trainingNeighborSampler,
            evaluationNeighbors: evaluationNeighborSampler,
          });
    this.#filtersNegatives = evaluationNegativeSampler !== null && (options.filtered ?? true);
  }

  get graphStorage(): GraphStorage {
    return this.source.storage;
  }

  get neighborSampler(): TrainingNeighborSampler | null {
    return this.source.neighbors;
  }

  get evaluationNeighborSampler(): TrainingNeighborSampler | null {
    return this.source.evaluationNeighbors;
  }

  get batchSize(): number {
    return this.source.batchSize;
  }

  get position(): Required<Position> {
    return this.source.position;
  }

  /** Continues from a saved position; takes effect with the next `loadStorage`. */
  seek(position: Position): void {
    this.source.seek(position);
  }

  setTrainSet(): void {
    this.#select('train');
  }

  setValidationSet(): void {
    this.#select('validation');
  }

  setTestSet(): void {
    this.#select('test');
  }

  /** Rows encoded for an earlier evaluation may be out of date. */
  #select(split: SplitName): void {
    this.graphStorage.setEncodedNodes(null);
    this.source.select(split);
  }

  /** Makes the data of the set resident. */
  async loadStorage(): Promise<void> {
    await this.source.load();
  }

  /** Waits for reads and writes; with `write`, writes the changes of the table to its files. */
  async unloadStorage(write = false): Promise<void> {
    await this.source.unload(write);
  }

  hasNextBatch(): boolean {
    return this.source.hasNext();
  }

  /** Returns the next batch with its rows. */
  async getBatch(): Promise<Batch> {
    const { source } = this;
    const { residency, activeSplit, numNodes } = source.storage;
    const drawn = await source.next();
    const batch = Batch.of(drawn, activeSplit === 'train' ? residency.numLocalRows : numNodes);
    if (batch.train) this.#inFlight.add(batch);
    if (this.#filtersNegatives && !batch.train && batch.src !== null) await this.#addFilter(batch);
    return batch;
  }

  async #addFilter(batch: Batch): Promise<void> {
    const edges = { src: batch.src as Int32Array, dst: batch.dst as Int32Array, relations: batch.relations };
    const { sources, destinations } = await this.graphStorage.trueEndsOfBatch(batch.startIndex, edges);
    batch.srcNegFilterEval = listsOf(sources);
    batch.dstNegFilterEval = listsOf(destinations);
  }

  /** Reads the rows of a batch again; with `encoded`, those that the encoder computed for evaluation. */
  async loadGPUParameters(batch: Batch, encoded = false): Promise<void> {
    if (!encoded) {
      const { uniqueNodeEmbeddings, uniqueNodeFeatures, isEncoded } = await this.source.read(batch);
      if (uniqueNodeEmbeddings !== null) batch.setEmbeddings(uniqueNodeEmbeddings);
      if (uniqueNodeFeatures !== null) batch.setFeatures(uniqueNodeFeatures);
      batch.isEncoded = isEncoded;
      return;
    }
    const { rows, width, isEncoded } = await this.graphStorage.readEncoded(
      batch.uniqueNodeIndices as Int32Array,
    );
    if (!isEncoded)
      throw new StateError(
        'GraphBatcher.loadGPUParameters: expected encoded nodes, got none. Call encoder.encodeFullGraph first.',
      );
    batch.setEmbeddings(asTensor(rows, width));
    batch.isEncoded = true;
  }

  /**
   * Applies the batch's gradients to the store: with `gpu` only to embeddings on a device, otherwise to those on the host.
   * The batch is finished afterwards.
   */
  async updateEmbeddingsForBatch(batch: Batch, gpu = false): Promise<void> {
    const { embeddings } = this.graphStorage;
    const ids = batch.uniqueNodeIndices as Int32Array;
    if (embeddings !== null && (embeddings.device !== null) === gpu) {
      const gradient = gpu ? batch.uniqueNodeEmbeddings?.ownGrad : batch.uniqueNodeGradients;
      if (gradient) embeddings.update(ids, gradient);
    }
    if (!this.#inFlight.delete(batch)) return;
    this.#unconfirmed++;
    this.source.finishBatch();
  }

  /** Notes that a batch is finished; has no effect for a batch whose updates were applied. */
  finishedBatch(): void {
    if (this.#unconfirmed > 0) {
      this.#unconfirmed--;
      return;
    }
    const [first] = this.#inFlight;
    if (first !== undefined) this.#inFlight.delete(first);
    this.source.finishBatch();
  }

  /** Ends the epoch and prepares the next one. */
  async nextEpoch(): Promise<void> {
    this.#unconfirmed = 0;
    await this.source.endEpoch();
    await this.source.load();
  }

  /** Returns the edges of the set. */
  getNumEdges(): number {
    return this.graphStorage.getNumEdges();
  }
}

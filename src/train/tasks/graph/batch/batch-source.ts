/**
 * Draws the batches of a split, reads their rows, and keeps the position in the epoch.
 *
 * A batch is made in two stages. Its draws depend on (seed, epoch, step) alone and may be made early; its rows are read
 * when their turn comes, so that the updates a batch sees are decided by the caller and not by timing. All batches in
 * flight must be finished before partitions are swapped.
 */
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import { checkInteger, expected, StateError, ValueError } from '../../../../util/errors.js';
import { checkOptionNames } from '../../../../util/option-names.js';
import type { CandidateRule } from '../../../config/types.js';
import type { Position, SplitName } from '../../../task.js';
import type { QueryBatches } from '../../links/query-batches.js';
import type { TrueEnds } from '../../links/stream-filter.js';
import type { ValidationSample } from '../../links/validation-sample.js';
import type { GraphStorage } from '../storage/graph-storage.js';
import { nodesOf, shareNodes, takeShare, type WorkerRank } from './batch-share.js';
import type { BatchSourceOptions } from './batch-source-options.js';
import type { DeviceFeatures } from './device-features.js';
import { drawNegatives } from './draw-negatives.js';
import { hideTargets } from './hide-targets.js';
import type { TrainingNeighborSampler } from './neighbor-sampler.js';
import { labelsOf, readRows } from './read-rows.js';
import { TrainingEdgeSampler, TrainingNodeSampler } from './samplers.js';
import { findNodes, TrainingBatch } from './training-batch.js';

const name = 'BatchSource';

export class BatchSource {
  readonly storage: GraphStorage;
  readonly neighbors: TrainingNeighborSampler | null;
  readonly evaluationNeighbors: TrainingNeighborSampler | null;
  readonly batchSize: number;
  /** A cache of the features on a device; null: they are read with every batch. */
  deviceFeatures: DeviceFeatures | null = null;
  /** The nodes that an edge is ranked among when there are no negatives. */
  candidates: CandidateRule;
  readonly #sampler: TrainingEdgeSampler | TrainingNodeSampler;
  readonly #options: BatchSourceOptions;
  #position: Required<Position> = { epoch: 0, state: 0, step: 0, cursor: 0 };
  #evaluated = 0;
  #loaded = false;
  #inFlight = 0;
  #waiting: (() => void)[] = [];
  #map = new Int32Array(0);

  /** @param sampler draws edges (link prediction) or nodes (node classification). */
  constructor(
    storage: GraphStorage,
    sampler: TrainingEdgeSampler | TrainingNodeSampler,
    options: BatchSourceOptions = {},
  ) {
    checkOptionNames(name, options, {
      ...{ batchSize: true, evaluationBatchSize: true, negatives: true, evaluationNegatives: true },
      ...{ neighbors: true, evaluationNeighbors: true, filtered: true, candidates: true },
      ...{ hideTargets: true, worker: true, edgeWeights: true, queries: true, validation: true },
    });
    if (!(sampler instanceof TrainingEdgeSampler || sampler instanceof TrainingNodeSampler))
      throw new ValueError(
        expected(name, 'a TrainingEdgeSampler or a TrainingNodeSampler', 'sampler', sampler),
      );
    this.storage = storage;
    this.#sampler = sampler;
    this.neighbors = options.neighbors ?? null;
    this.evaluationNeighbors = options.evaluationNeighbors ?? this.neighbors;
    this.batchSize = checkInteger(name, 'batchSize', options.batchSize ?? 1000, 1);
    this.candidates = options.candidates ?? 'ALL';
    this.#options = options;
  }

  /** Whether batches hold nodes to classify, not edges. */
  get holdsNodes(): boolean {
    return this.#sampler instanceof TrainingNodeSampler;
  }

  /** The sample of validation edges that is evaluated; null: all are. */
  get validationSample(): ValidationSample | null {
    return this.#options.validation ?? null;
  }

  /** Identifies the buffer states and rows of an epoch: a position within it is valid under the same key only. */
  get planKey(): string {
    const { planKey } = this.storage;
    return this.#queries === null ? planKey : [planKey, this.#queries.key].filter(Boolean).join(', ');
  }

  get position(): Required<Position> {
    return this.#position;
  }

  /** Continues from a saved position; takes effect with the next `load`. */
  seek({ epoch, step, state = 0, cursor = 0 }: Position): void {
    this.#position = { epoch, step, state, cursor };
    this.#loaded = false;
  }

  /** Selects the split that batches come from. An evaluation split starts at its first batch. */
  select(split: SplitName): void {
    this.storage.select(split);
    if (split !== 'train') this.#evaluated = 0;
  }

  get #training(): boolean {
    return this.storage.activeSplit === 'train';
  }

  /** Makes the data of the selected split resident. */
  async load(): Promise<void> {
    const { storage } = this;
    if (this.#training) {
      if (!this.#loaded) await storage.startEpoch(this.#position.epoch, this.#position.state);
      this.#loaded = true;
      if (this.neighbors !== null) await storage.prepareSampling();
      await this.#options.negatives?.prepare();
      await this.#options.edgeWeights?.prepare();
      await this.#skipIdleStates();
    } else {
      if (this.evaluationNeighbors !== null) await storage.prepareSampling();
      await this.#options.evaluationNegatives?.prepare();
    }
    if (this.#map.length < this.#localRows()) this.#map = new Int32Array(this.#localRows()).fill(-1);
  }

  /** Waits for reads and writes; with `write`, writes the changes of the table to its files. */
  async unload(write = false): Promise<void> {
    await this.#drain();
    await this.storage.unload(write);
    this.#loaded = false;
  }

  /** Edges or nodes of the selected split; queries train each edge in both directions. */
  get numItems(): number {
    return this.numItemsOf(this.storage.activeSplit);
  }

  numItemsOf(split: SplitName): number {
    const { storage } = this;
    if (this.holdsNodes) return storage.splitNodes(split)?.length ?? 0;
    const edges = storage.getNumEdges(split);
    if (split === 'train') return this.#queries === null ? edges : 2 * edges;
    return split === 'validation' ? Math.min(edges, this.#options.validation?.most ?? edges) : edges;
  }

  hasNext(): boolean {
    if (!this.#training) return this.#evaluated < this.numItems;
    if (!this.#loaded)
      throw new StateError(`${name}: expected a loaded epoch, got none. Call load() before drawing batches.`);
    return this.#position.cursor < this.#numActive() || this.storage.hasLaterWork();
  }

  /** Whether the next batch needs other partitions, and so all updates before it. */
  get isAtStateEnd(): boolean {
    return this.#training && this.#position.cursor >= this.#numActive();
  }

  /** Returns the next batch with its rows. */
  async next(): Promise<TrainingBatch> {
    return this.read(await this.draw());
  }

  /** Returns the next batch without rows. Swaps partitions at the end of a buffer state. */
  async draw(): Promise<TrainingBatch> {
    if (!this.hasNext()) throw new StateError(`${name}: expected another batch, got the end of the split.`);
    return this.#training ? this.#drawTraining() : this.#drawEvaluation();
  }

  /** Returns the batch with the rows of its nodes as they are now; `ahead` reads them on other threads. */
  read(batch: TrainingBatch, ahead = false): Promise<TrainingBatch> {
    const { storage, deviceFeatures, holdsNodes } = this;
    return readRows(batch, { storage, deviceFeatures, holdsNodes, ahead });
  }

  /** Notes that the updates of a batch are applied. */
  finishBatch(): void {
    this.#inFlight = Math.max(0, this.#inFlight - 1);
    if (this.#inFlight > 0) return;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** Drops batches that will never be finished, after an error. */
  abandonBatches(): void {
    this.#inFlight = 0;
    this.finishBatch();
  }

  /** Ends the epoch: the next `load` prepares the following one. */
  async endEpoch(): Promise<void> {
    await this.#drain();
    this.#position = { epoch: this.#position.epoch + 1, state: 0, step: 0, cursor: 0 };
    this.#loaded = false;
  }

  async #drawTraining(): Promise<TrainingBatch> {
    if (this.isAtStateEnd) await this.#enterNextState();
    if (this.#queries !== null) return this.#drawQueries(this.#queries);
    const { epoch, step, cursor, state } = this.#position;
    const batchSize = Math.min(this.batchSize, this.#numActive() - cursor);
    const after = { state, step: step + 1, cursor: cursor + batchSize };
    this.#position = { ...this.#position, step: after.step, cursor: after.cursor };
    const at = { epoch, step };
    const empty = new TrainingBatch({ train: true, at, startIndex: cursor, batchSize, after });
    this.#inFlight++;
    const batch =
      this.#sampler instanceof TrainingNodeSampler
        ? this.#withNodes(empty, this.#sampler.getNodes(empty))
        : this.#withEdges(empty, this.#sampler.getEdges(empty));
    return this.#findNodes(batch, this.neighbors);
  }

  #drawQueries(batches: QueryBatches): TrainingBatch {
    const { epoch, step, cursor, state } = this.#position;
    const { queries, rows, answers } = batches.draw(epoch, cursor);
    const after = { state, step: step + 1, cursor: cursor + rows };
    this.#position = { epoch, ...after };
    this.#inFlight++;
    return new TrainingBatch({
      ...{ train: true, at: { epoch, step }, startIndex: cursor, batchSize: answers, after, queries },
      uniqueNodeIndices: batches.candidates,
    });
  }

  #withNodes(batch: TrainingBatch, nodes: Int32Array): TrainingBatch {
    const allNodes = this.#worker.size > 1 ? nodes : null;
    return batch.with({ rootNodes: shareNodes(nodes, this.#worker), allNodes });
  }

  #withEdges(empty: TrainingBatch, { src, dst, relations = null }: EdgeList): TrainingBatch {
    const edgeWeights = this.#options.edgeWeights?.ofEdges({ src, dst, relations }) ?? null;
    const edges = empty.with({ src, dst, relations, edgeWeights, batchSize: src.length });
    const batch = drawNegatives(edges, this.#options.negatives ?? null);
    const needsAll = this.neighbors !== null && this.#worker.size > 1;
    return takeShare(needsAll ? batch.with({ allNodes: nodesOf(batch) }) : batch, this.#worker);
  }

  get #queries(): QueryBatches | null {
    return this.#options.queries ?? null;
  }

  get #worker(): WorkerRank {
    return this.#options.worker ?? { rank: 0, size: 1 };
  }

  async #drawEvaluation(): Promise<TrainingBatch> {
    const { storage } = this;
    const startIndex = this.#evaluated;
    const most = this.#options.evaluationBatchSize ?? this.batchSize;
    const batchSize = Math.min(most, this.numItems - startIndex);
    const end = startIndex + batchSize;
    const at = { epoch: this.#position.epoch, step: Math.floor(startIndex / most) };
    this.#evaluated = end;
    let batch = new TrainingBatch({ train: false, at, startIndex, batchSize, source: this });
    const split = storage.split(storage.activeSplit);
    if (this.holdsNodes) {
      const nodes = storage.splitNodes(storage.activeSplit) as Int32Array;
      batch = this.#withNodes(batch, nodes.slice(startIndex, end));
    } else if (split !== null) {
      const validation = storage.activeSplit === 'validation' ? this.#options.validation : null;
      const {
        src,
        dst,
        relations = null,
      } = (await validation?.read(split, startIndex, end)) ?? (await split.read(startIndex, end));
      const sampler = this.#options.evaluationNegatives ?? null;
      const edges = batch.with({ src, dst, relations });
      batch = sampler === null ? await this.#rankAgainstAll(edges) : drawNegatives(edges, sampler);
      batch = takeShare(batch, this.#worker);
    }
    return this.#findNodes(batch, this.holdsNodes ? this.evaluationNeighbors : null);
  }

  async #rankAgainstAll(batch: TrainingBatch): Promise<TrainingBatch> {
    const filtered = this.#options.filtered ?? true;
    const [src, dst] = [batch.src as Int32Array, batch.dst as Int32Array];
    const asked = { src, dst, relations: batch.relations };
    const isSampled =
      this.storage.activeSplit === 'validation' && (this.#options.validation ?? null) !== null;
    const trueEnds = (): Promise<TrueEnds> =>
      // Edges of a sample are not consecutive in their split.
      isSampled ? this.storage.trueEnds(asked) : this.storage.trueEndsOfBatch(batch.startIndex, asked);
    const ends = filtered ? await trueEnds() : null;
    return batch.with({
      evaluation: {
        tiles: () => this.storage.tiles(),
        trueDestinations: ends?.destinations ?? null,
        trueSources: ends?.sources ?? null,
        candidates: this.candidates === 'SEEN' ? await this.storage.candidates() : null,
      },
    });
  }

  /** Adds the distinct nodes and, with a sampler, their neighbourhood. */
  async #findNodes(given: TrainingBatch, sampler: TrainingNeighborSampler | null): Promise<TrainingBatch> {
    const found = findNodes(given, this.#map);
    const targets = found.uniqueNodeIndices as Int32Array;
    const uniqueNodeLabels = this.holdsNodes ? labelsOf(targets, this.storage) : null;
    const batch = given.with({ ...found, uniqueNodeLabels });
    if (sampler === null) return batch;
    const graph = await sampler.sampleAsync(targets, batch.at, batch.allNodes ?? undefined);
    if (batch.train && (this.#options.hideTargets ?? true)) hideTargets(batch, graph);
    return batch.with({ gnnGraph: graph, uniqueNodeIndices: graph.nodeIds });
  }

  #numActive(): number {
    const { activeNodes, numActiveEdges } = this.storage;
    if (this.#queries !== null) return numActiveEdges === 0 ? 0 : this.#queries.count(this.#position.epoch);
    return this.holdsNodes ? activeNodes.length : numActiveEdges;
  }

  #localRows(): number {
    return this.#training ? this.storage.residency.numLocalRows : this.storage.numNodes;
  }

  async #enterNextState(): Promise<void> {
    await this.#drain();
    await this.storage.nextState();
    if (this.neighbors !== null) await this.storage.prepareSampling();
    this.#position = { ...this.#position, state: this.#position.state + 1, cursor: 0 };
    await this.#skipIdleStates();
  }

  async #skipIdleStates(): Promise<void> {
    while (this.#numActive() === 0 && this.storage.hasLaterWork()) await this.#enterNextState();
  }

  /** Waits until no batch is in flight. */
  async #drain(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

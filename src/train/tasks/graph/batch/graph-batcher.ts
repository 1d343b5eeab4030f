/**
 * The order in which data is processed: batches of the active set, each with its edges or nodes, negatives, neighbours
 * and parameters, and the way back of updates into the store.
 *
 * A batch is made in two steps. What is drawn depends on (seed, epoch, step) alone and may be made early; parameters are
 * read when their turn comes, so that what a batch sees of earlier updates is decided by the trainer and not by timing.
 * Before a swap of partitions all batches in flight must have been finished.
 */
import type { GNNGraph } from '../../../../sample/index.js';
import type { RowReader } from '../../../../storage/index.js';
import { asTensor } from '../../../../storage/memory-embeddings.js';
import type { Tensor } from '../../../../tensor/index.js';
import { checkInteger, expected, StateError, ValueError } from '../../../../util/errors.js';
import { checkOptionNames } from '../../../../util/option-names.js';
import type { Position, SplitName } from '../../../task.js';
import type { NegativeSampler } from '../../links/negative-sampler.js';
import type { GraphModelStorage } from '../storage/graph-model-storage.js';
import { Batch, type Negatives } from './batch.js';
import { nodesOf, ownNodes, type Place, takeShare } from './batch-share.js';
import type { DeviceFeatures } from './device-features.js';
import type { NeighborSampler } from './neighbor-sampler.js';
import { EdgeSampler, NodeSampler } from './samplers.js';

export interface GraphBatcherOptions {
  /** Edges or nodes a training batch (default 1000). */
  readonly batchSize?: number;
  /** Edges or nodes of a batch in evaluation (default: batchSize). */
  readonly evaluationBatchSize?: number;
  /** Negatives in evaluation; without, every edge is ranked against all nodes. */
  readonly evaluationNegativeSampler?: NegativeSampler | null;
  /** Leave true edges out when ranking against all nodes (default true). */
  readonly filtered?: boolean;
  /** Take the edges of a batch out of the sampled neighbourhood (default true). */
  readonly hideTargets?: boolean;
  /** One of several workers that share every batch; all have the same batches. Default: the only one. */
  readonly place?: Place;
}

const name = 'GraphBatcher';

export class GraphBatcher {
  readonly graphStorage: GraphModelStorage;
  readonly neighborSampler: NeighborSampler | null;
  readonly evaluationNeighborSampler: NeighborSampler | null;
  readonly batchSize: number;
  /** A cache of the table's features on a device; null: they are read with every batch. */
  deviceFeatures: DeviceFeatures | null = null;
  readonly #sampler: EdgeSampler | NodeSampler;
  readonly #negatives: NegativeSampler | null;
  readonly #options: GraphBatcherOptions;
  #position: Required<Position> = { epoch: 0, state: 0, step: 0, cursor: 0 };
  #evaluated = 0;
  #loaded = false;
  #inFlight = 0;
  #waiting: (() => void)[] = [];
  #map = new Int32Array(0);

  constructor(
    graphStorage: GraphModelStorage,
    sampler: EdgeSampler | NodeSampler,
    negativeSampler: NegativeSampler | null = null,
    trainingNeighborSampler: NeighborSampler | null = null,
    evaluationNeighborSampler: NeighborSampler | null = null,
    options: GraphBatcherOptions = {},
  ) {
    checkOptionNames('GraphBatcher', options, {
      batchSize: true,
      evaluationBatchSize: true,
      evaluationNegativeSampler: true,
      filtered: true,
      hideTargets: true,
      place: true,
    });
    if (!(sampler instanceof EdgeSampler || sampler instanceof NodeSampler))
      throw new ValueError(expected(name, 'an EdgeSampler or a NodeSampler', 'sampler', sampler));
    this.graphStorage = graphStorage;
    this.#sampler = sampler;
    this.#negatives = negativeSampler;
    this.neighborSampler = trainingNeighborSampler;
    this.evaluationNeighborSampler = evaluationNeighborSampler ?? trainingNeighborSampler;
    this.batchSize = checkInteger(name, 'batchSize', options.batchSize ?? 1000, 1);
    this.#options = options;
  }

  /** Whether batches hold nodes to classify, not edges. */
  get ofNodes(): boolean {
    return this.#sampler instanceof NodeSampler;
  }

  get position(): Required<Position> {
    return this.#position;
  }

  /** Goes on from a position that was saved; takes effect with the next `loadStorage`. */
  seek({ epoch, step, state = 0, cursor = 0 }: Position): void {
    this.#position = { epoch, step, state, cursor };
    this.#loaded = false;
  }

  setTrainSet(): void {
    this.graphStorage.setTrainSet();
  }

  setValidationSet(): void {
    this.graphStorage.setValidationSet();
    this.#evaluated = 0;
  }

  setTestSet(): void {
    this.graphStorage.setTestSet();
    this.#evaluated = 0;
  }

  get #training(): boolean {
    return this.graphStorage.activeSet === 'train';
  }

  /** Makes what the active set needs resident. */
  async loadStorage(): Promise<void> {
    const { graphStorage } = this;
    if (this.#training) {
      if (!this.#loaded) await graphStorage.startEpoch(this.#position.epoch, this.#position.state);
      this.#loaded = true;
      if (this.neighborSampler !== null) await graphStorage.prepareSampling();
      await this.#negatives?.prepare();
      await this.#skipIdleStates();
    } else {
      if (this.evaluationNeighborSampler !== null) await graphStorage.prepareSampling();
      await this.#options.evaluationNegativeSampler?.prepare();
    }
    if (this.#map.length < this.#localRows()) this.#map = new Int32Array(this.#localRows()).fill(-1);
  }

  /** Waits for reads and writes; with `write` the table's changes reach its files. */
  async unloadStorage(write = false): Promise<void> {
    await this.#drained();
    await this.graphStorage.unload(write);
    this.#loaded = false;
  }

  /** Edges or nodes of the active set. */
  getNumEdges(): number {
    return this.graphStorage.getNumEdges();
  }

  /** Edges or nodes that an epoch over the active set goes through. */
  get numItems(): number {
    return this.numItemsOf(this.graphStorage.activeSet);
  }

  /** Edges or nodes of a split. */
  numItemsOf(split: SplitName): number {
    const { graphStorage } = this;
    return this.ofNodes ? (graphStorage.splitNodes(split)?.length ?? 0) : graphStorage.getNumEdges(split);
  }

  hasNextBatch(): boolean {
    if (!this.#training) return this.#evaluated < this.numItems;
    if (!this.#loaded) throw new StateError(`${name}: expected loadStorage() before batches are asked for.`);
    return this.#position.cursor < this.#active() || this.graphStorage.hasLaterWork();
  }

  /** Whether the next batch needs other partitions, and so all updates first. */
  get atStateEnd(): boolean {
    return this.#training && this.#position.cursor >= this.#active();
  }

  /** The next batch with its parameters. */
  async getBatch(): Promise<Batch> {
    const batch = await this.prepareBatch();
    await this.loadParameters(batch);
    return batch;
  }

  /** The next batch without parameters. Swaps partitions when the state's work is done. */
  async prepareBatch(): Promise<Batch> {
    if (!this.hasNextBatch())
      throw new StateError(`${name}: expected another batch, got the end of the set.`);
    return this.#training ? this.#trainingBatch() : this.#evaluationBatch();
  }

  /** Reads the parameters that the batch needs, as they are now; `elsewhere` reads rows on other threads. */
  async loadParameters(batch: Batch, elsewhere = false): Promise<void> {
    const { graphStorage } = this;
    const { embeddings } = graphStorage;
    const ids = batch.uniqueNodeIndices as Int32Array;
    if (!batch.train && batch.gnnGraph === null && !this.ofNodes) {
      const { rows, width } = await graphStorage.readEncoded(ids);
      batch.setEmbeddings(rows, width);
      return;
    }
    if (embeddings !== null) {
      const rows = !batch.train
        ? asTensor(await embeddings.gather(ids), embeddings.width)
        : elsewhere
          ? await embeddings.residentAsync(ids)
          : embeddings.resident(ids);
      batch.setEmbeddings(rows);
    }
    if (graphStorage.features !== null)
      batch.setFeatures(await this.#featuresOf(graphStorage.features, batch));
  }

  async #featuresOf(features: RowReader<Float32Array>, batch: Batch): Promise<Tensor> {
    const ids = batch.uniqueNodeIndices as Int32Array;
    const nodes = batch.train ? this.graphStorage.residency.toGlobal(ids) : ids;
    if (this.deviceFeatures !== null) return this.deviceFeatures.gather(nodes);
    return asTensor(await features.gather(nodes), features.width);
  }

  /** Reads the parameters of a batch again; with `encoded` those that an encoder made for evaluation. */
  async loadGPUParameters(batch: Batch, encoded = false): Promise<void> {
    if (!encoded) return this.loadParameters(batch);
    const { rows, width } = await this.graphStorage.readEncoded(batch.uniqueNodeIndices as Int32Array);
    batch.setEmbeddings(rows, width);
  }

  /** Applies the batch's gradients to the store: with `gpu` to embeddings that live on a device, otherwise to those here. */
  async updateEmbeddingsForBatch(batch: Batch, gpu = false): Promise<void> {
    const { embeddings } = this.graphStorage;
    const ids = batch.uniqueNodeIndices as Int32Array;
    if (embeddings === null) return;
    if (gpu) {
      const gradient = batch.uniqueNodeEmbeddings?.ownGrad;
      if (embeddings.device !== null && gradient) embeddings.update(ids, gradient);
    } else if (batch.uniqueNodeGradients !== null && embeddings.device === null)
      embeddings.update(ids, batch.uniqueNodeGradients);
  }

  /** Says that a batch's updates are applied. */
  finishedBatch(): void {
    this.#inFlight = Math.max(0, this.#inFlight - 1);
    if (this.#inFlight > 0) return;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** Forgets batches that will never be finished, after an error: nothing waits for them any more. */
  abandonBatches(): void {
    this.#inFlight = 0;
    this.finishedBatch();
  }

  /** Ends the epoch: the next `loadStorage` prepares the following one. */
  async nextEpoch(): Promise<void> {
    await this.#drained();
    this.#position = { epoch: this.#position.epoch + 1, state: 0, step: 0, cursor: 0 };
    this.#loaded = false;
  }

  async #trainingBatch(): Promise<Batch> {
    if (this.atStateEnd) await this.#enterNextState();
    const { epoch, step, cursor } = this.#position;
    const batch = new Batch(true);
    batch.at = { epoch, step };
    batch.startIndex = cursor;
    batch.batchSize = Math.min(this.batchSize, this.#active() - cursor);
    this.#position = { ...this.#position, step: step + 1, cursor: cursor + batch.batchSize };
    batch.after = { state: this.#position.state, step: step + 1, cursor: this.#position.cursor };
    this.#inFlight++;
    if (this.#sampler instanceof NodeSampler) this.#fillNodes(batch, this.#sampler.getNodes(batch));
    else this.#fillEdges(batch, this.#sampler);
    await this.#findNodes(batch, this.neighborSampler);
    return batch;
  }

  #fillNodes(batch: Batch, nodes: Int32Array): void {
    batch.rootNodes = ownNodes(nodes, this.#place);
    if (this.#place.size > 1) batch.allNodes = nodes;
  }

  #fillEdges(batch: Batch, sampler: EdgeSampler): void {
    const edges = sampler.getEdges(batch);
    batch.src = edges.src;
    batch.dst = edges.dst;
    batch.relations = edges.relations ?? null;
    batch.batchSize = edges.src.length;
    this.#draw(batch, this.#negatives);
    if (this.neighborSampler !== null && this.#place.size > 1) batch.allNodes = nodesOf(batch);
    takeShare(batch, this.#place);
  }

  get #place(): Place {
    return this.#options.place ?? { rank: 0, size: 1 };
  }

  #draw(batch: Batch, sampler: NegativeSampler | null): void {
    if (sampler === null) return;
    batch.srcNegatives = asNegatives(sampler.getNegatives(batch, true));
    batch.dstNegatives = asNegatives(sampler.getNegatives(batch, false));
  }

  async #evaluationBatch(): Promise<Batch> {
    const { graphStorage } = this;
    const set = graphStorage.activeSet;
    const batch = new Batch(false);
    batch.startIndex = this.#evaluated;
    const most = this.#options.evaluationBatchSize ?? this.batchSize;
    batch.batchSize = Math.min(most, this.numItems - this.#evaluated);
    batch.at = { epoch: this.#position.epoch, step: Math.floor(this.#evaluated / most) };
    const end = this.#evaluated + batch.batchSize;
    this.#evaluated = end;
    const split = graphStorage.split(set);
    if (this.ofNodes)
      this.#fillNodes(batch, (graphStorage.splitNodes(set) as Int32Array).slice(batch.startIndex, end));
    else if (split !== null) {
      const edges = await split.read(batch.startIndex, end);
      batch.src = edges.src;
      batch.dst = edges.dst;
      batch.relations = edges.relations ?? null;
      const sampler = this.#options.evaluationNegativeSampler ?? null;
      if (sampler !== null) this.#draw(batch, sampler);
      else await this.#rankAgainstAll(batch);
      takeShare(batch, this.#place);
    }
    const neighbours = this.ofNodes ? this.evaluationNeighborSampler : null;
    await this.#findNodes(batch, neighbours);
    return batch;
  }

  async #rankAgainstAll(batch: Batch): Promise<void> {
    const filtered = this.#options.filtered ?? true;
    const [src, dst] = [batch.src as Int32Array, batch.dst as Int32Array];
    const asked = { src, dst, relations: batch.relations };
    const ends = filtered ? await this.graphStorage.trueEndsOfBatch(batch.startIndex, asked) : null;
    batch.evaluation = {
      tiles: () => this.graphStorage.tiles(),
      trueDestinations: ends?.destinations ?? null,
      trueSources: ends?.sources ?? null,
    };
  }

  /** The distinct nodes and, with a sampler, their neighbourhood. */
  async #findNodes(batch: Batch, sampler: NeighborSampler | null): Promise<void> {
    batch.localSample(this.#map);
    const targets = batch.uniqueNodeIndices as Int32Array;
    if (this.ofNodes) batch.uniqueNodeLabels = this.#labelsOf(targets);
    if (sampler === null) return;
    const graph = await sampler.getNeighborsAsync(targets, batch.at, batch.allNodes ?? undefined);
    if (batch.train && (this.#options.hideTargets ?? true)) this.#hideTargets(batch, graph);
    batch.gnnGraph = graph;
    batch.uniqueNodeIndices = graph.nodeIds;
  }

  #hideTargets(batch: Batch, graph: GNNGraph): void {
    const [src, dst] = [batch.share?.allSrc ?? batch.src, batch.share?.allDst ?? batch.dst];
    if (src === null || dst === null) return;
    const hidden = new Map<number, Set<number>>();
    for (let i = 0; i < src.length; i++) {
      const others = hidden.get(src[i]);
      if (others === undefined) hidden.set(src[i], new Set([dst[i]]));
      else others.add(dst[i]);
    }
    graph.filterEdges((_id, from, to) => hidden.get(from)?.has(to) !== true);
  }

  #labelsOf(localIds: Int32Array): Int32Array | null {
    const { labels } = this.graphStorage;
    if (labels === null) return null;
    if (!this.#training || this.graphStorage.allResident) return localIds.map((id) => labels[id]);
    const ranges = this.graphStorage.residency.residentRanges();
    return localIds.map((id) => {
      const range = ranges.find(({ localStart, rows }) => id >= localStart && id < localStart + rows);
      return range === undefined ? -1 : labels[range.globalStart + id - range.localStart];
    });
  }

  #active(): number {
    const { activeNodes, numActiveEdges } = this.graphStorage;
    return this.ofNodes ? activeNodes.length : numActiveEdges;
  }

  #localRows(): number {
    return this.#training ? this.graphStorage.residency.numLocalRows : this.graphStorage.numNodes;
  }

  async #enterNextState(): Promise<void> {
    await this.#drained();
    await this.graphStorage.nextState();
    if (this.neighborSampler !== null) await this.graphStorage.prepareSampling();
    this.#position = { ...this.#position, state: this.#position.state + 1, cursor: 0 };
    await this.#skipIdleStates();
  }

  async #skipIdleStates(): Promise<void> {
    while (this.#active() === 0 && this.graphStorage.hasLaterWork()) await this.#enterNextState();
  }

  async #drained(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

/** The name that current versions of Marius have for it. */
export { GraphBatcher as DataLoader };

function asNegatives(given: Negatives | Int32Array): Negatives {
  return given instanceof Int32Array ? { ids: given, chunks: 1 } : given;
}

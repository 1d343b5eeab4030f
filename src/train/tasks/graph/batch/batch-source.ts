/**
 * Draws the batches of a split, reads their rows, and keeps the position in the epoch.
 *
 * A batch is made in two stages. Its draws depend on (seed, epoch, step) alone and may be made early; its rows are read
 * when their turn comes, so that the updates a batch sees are decided by the caller and not by timing. All batches in
 * flight must be finished before partitions are swapped.
 */
import type { DenseSample } from '../../../../sample/index.js';
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import type { RowReader } from '../../../../storage/index.js';
import { asTensor } from '../../../../storage/memory-embeddings.js';
import type { Tensor } from '../../../../tensor/index.js';
import { checkInteger, expected, ShapeError, StateError, ValueError } from '../../../../util/errors.js';
import { checkOptionNames } from '../../../../util/option-names.js';
import type { CandidateRule } from '../../../config/types.js';
import type { Position, SplitName } from '../../../task.js';
import type { NegativeDraw, TrainingNegativeSampler } from '../../links/negative-sampler.js';
import type { QueryBatches } from '../../links/query-batches.js';
import type { TrueEnds } from '../../links/stream-filter.js';
import type { SubsamplingWeights } from '../../links/subsampling-weights.js';
import type { ValidationSample } from '../../links/validation-sample.js';
import { gatherText } from '../model/text-bags.js';
import type { GraphStorage } from '../storage/graph-storage.js';
import { nodesOf, shareNodes, takeShare, type WorkerRank } from './batch-share.js';
import type { DeviceFeatures } from './device-features.js';
import type { TrainingNeighborSampler } from './neighbor-sampler.js';
import { TrainingEdgeSampler, TrainingNodeSampler } from './samplers.js';
import { findNodes, type Negatives, TrainingBatch } from './training-batch.js';

export interface BatchSourceOptions {
  /** Edges or nodes of a training batch (default 1000). */
  readonly batchSize?: number;
  /** Edges or nodes of an evaluation batch (default: batchSize). */
  readonly evaluationBatchSize?: number;
  /** Negatives for training; null: none. */
  readonly negatives?: TrainingNegativeSampler | null;
  /** Negatives for evaluation; null: every edge is ranked against all nodes. */
  readonly evaluationNegatives?: TrainingNegativeSampler | null;
  /** Weights of training edges in the loss; null: all are 1. */
  readonly edgeWeights?: SubsamplingWeights | null;
  /** Trains queries against all resident nodes, in place of edges against negatives; null: trains edges. */
  readonly queries?: QueryBatches | null;
  /** Neighbours for training; null: none. */
  readonly neighbors?: TrainingNeighborSampler | null;
  /** Neighbours for evaluation (default: those of training). */
  readonly evaluationNeighbors?: TrainingNeighborSampler | null;
  /** Leave true edges out when ranking against all nodes (default true). */
  readonly filtered?: boolean;
  /** Rank among all nodes (default), or among those seen at that end of the relation in training. */
  readonly candidates?: CandidateRule;
  /** Take the edges of a batch out of the sampled neighbourhood (default true). */
  readonly hideTargets?: boolean;
  /** The most validation edges: a fixed sample of them is evaluated. Default: all. */
  readonly validation?: ValidationSample | null;
  /** One of several workers that share every batch; all have the same batches. Default: the only one. */
  readonly worker?: WorkerRank;
}

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
  async read(batch: TrainingBatch, ahead = false): Promise<TrainingBatch> {
    const { storage } = this;
    const { embeddings, features } = storage;
    const ids = batch.uniqueNodeIndices as Int32Array;
    if (!batch.train && batch.gnnGraph === null && !this.holdsNodes) {
      const { rows, width, isEncoded } = await storage.readEncoded(ids);
      return batch.withEmbeddings(asTensor(rows, Math.max(1, width)), isEncoded);
    }
    let read = batch;
    if (embeddings !== null) {
      const rows = !batch.train
        ? asTensor(await embeddings.gather(ids), embeddings.width)
        : batch.queries !== null
          ? (embeddings.residentView?.() ?? embeddings.resident(ids))
          : ahead
            ? await embeddings.residentAsync(ids)
            : embeddings.resident(ids);
      read = read.withEmbeddings(rows);
    }
    if (storage.text !== null)
      read = read.with({ uniqueNodeText: gatherText(storage.text, this.#globalIds(batch)) });
    if (features === null) return read;
    return read.with({ uniqueNodeFeatures: await this.#readFeatures(features, batch) });
  }

  async #readFeatures(features: RowReader<Float32Array>, batch: TrainingBatch): Promise<Tensor> {
    const nodes = this.#globalIds(batch);
    if (this.deviceFeatures !== null) return this.deviceFeatures.gather(nodes);
    return asTensor(await features.gather(nodes), features.width);
  }

  #globalIds(batch: TrainingBatch): Int32Array {
    const ids = batch.uniqueNodeIndices as Int32Array;
    return batch.train ? this.storage.residency.toGlobal(ids) : ids;
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
    const uniqueNodeLabels = this.holdsNodes ? this.#labelsOf(targets) : null;
    const batch = given.with({ ...found, uniqueNodeLabels });
    if (sampler === null) return batch;
    const graph = await sampler.sampleAsync(targets, batch.at, batch.allNodes ?? undefined);
    if (batch.train && (this.#options.hideTargets ?? true)) hideTargets(batch, graph);
    return batch.with({ gnnGraph: graph, uniqueNodeIndices: graph.nodeIds });
  }

  #labelsOf(localIds: Int32Array): Int32Array | null {
    const { labels } = this.storage;
    if (labels === null) return null;
    if (!this.#training || this.storage.allResident) return localIds.map((id) => labels[id]);
    const ranges = this.storage.residency.residentRanges();
    return localIds.map((id) => {
      const range = ranges.find(({ localStart, rows }) => id >= localStart && id < localStart + rows);
      return range === undefined ? -1 : labels[range.globalStart + id - range.localStart];
    });
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

/** Takes the edges of the batch out of its sampled neighbourhood. */
function hideTargets(batch: TrainingBatch, graph: DenseSample): void {
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

/** Adds negatives to a batch. Negative edges replace neither end, so one draw serves both directions. */
function drawNegatives(batch: TrainingBatch, sampler: TrainingNegativeSampler | null): TrainingBatch {
  if (sampler === null) return batch;
  const sources = fromTensor(sampler.getNegatives(batch, true));
  if ('src' in sources) return batch.with({ negativeEdges: checkNegativeEdges(batch, sources) });
  const destinations = fromTensor(sampler.getNegatives(batch, false));
  if ('src' in destinations)
    throw new ShapeError(
      expected(name, 'node ids for both ends, or edges for both', 'getNegatives(batch, false)', 'edges'),
    );
  return batch.with({ srcNegatives: asNegatives(sources), dstNegatives: asNegatives(destinations) });
}

/** Reads a tensor of node ids [n], or of edges [n, 2] (source, destination) or [n, 3] (source, relation, destination). */
function fromTensor(given: NegativeDraw): Exclude<NegativeDraw, Tensor> {
  if (!('dataSync' in given)) return given;
  const [count, columns] = given.shape;
  const ids = Int32Array.from(given.dataSync() as ArrayLike<number>);
  if (given.shape.length === 1) return ids;
  if (given.shape.length !== 2 || (columns !== 2 && columns !== 3))
    throw new ShapeError(expected(name, 'shape [n], [n, 2] or [n, 3]', 'negatives', given.shape));
  const column = (c: number): Int32Array =>
    Int32Array.from({ length: count }, (_, i) => ids[i * columns + c]);
  return { src: column(0), dst: column(columns - 1), relations: columns === 3 ? column(1) : null };
}

function checkNegativeEdges(batch: TrainingBatch, edges: EdgeList): EdgeList {
  const [given, positive] = [edges.src.length, batch.src?.length ?? 0];
  if (given % Math.max(1, positive) !== 0 || edges.dst.length !== given)
    throw new ShapeError(
      expected(name, `a multiple of the batch's ${positive} edges`, 'negative edges', given),
    );
  return edges;
}

function asNegatives(given: Negatives | Int32Array): Negatives {
  return given instanceof Int32Array ? { ids: given, chunks: 1 } : given;
}

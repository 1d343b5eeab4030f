/**
 * One face to everything a model trains on: edges, nodes, embeddings with optimiser state, features, labels, encoded
 * nodes. It knows what is resident: training sees the edges whose both ends are, with local ids.
 *
 * An epoch is a sequence of states (which partitions are resident, which edge buckets or nodes are trained then). With
 * everything in memory there is one state, and local ids are global ids.
 */
import { Graph } from '../../../../graph/index.js';
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import {
  PartitionLayout,
  type Residency,
  type RowReader,
  type TrainedRows,
} from '../../../../storage/index.js';
import { AllResident, type ResidentRange, type Tile } from '../../../../storage/trained-rows.js';
import { DTypeError, expected, StateError, ValueError } from '../../../../util/errors.js';
import type { SplitName } from '../../../task.js';
import type { FilterIndex } from '../../links/filter-index.js';
import type { AskedEdges, TrueEnds } from '../../links/stream-filter.js';
import { TrueEdges } from '../../links/true-edges.js';
import { bucketStarts, EdgeRuns, emptyEdges, joinMapped } from './edge-runs.js';
import type { EdgeSplit } from './edge-splits.js';
import { SpreadEdges } from './sharded-edges.js';

/** What is resident in each state of an epoch, and what is trained then: buckets a·p + b of edges, or nodes by global id. */
export interface EpochPlan {
  /** How many the plan has; where all rows are in memory, partitions are an order of edges alone. */
  readonly partitions: number;
  readonly states: readonly Int32Array[];
  readonly buckets?: readonly Int32Array[];
  readonly nodes?: readonly Int32Array[];
}

export interface GraphStorageParts {
  readonly numNodes: number;
  /** 0 without relations. */
  readonly numRelations: number;
  readonly edges: Readonly<Partial<Record<SplitName, EdgeSplit>>>;
  /** Trained rows of all nodes. */
  readonly embeddings?: TrainedRows | null;
  /** Fixed rows of all nodes. */
  readonly features?: RowReader<Float32Array> | null;
  /** Which nodes are resident; default: that of the embeddings, or all. */
  readonly residency?: Residency;
  readonly labels?: Int32Array | null;
  readonly nodes?: Readonly<Partial<Record<SplitName, Int32Array>>>;
  /** The states of an epoch; needed when not all rows fit. */
  readonly plan?: (epoch: number) => EpochPlan;
  /** What decides the states: a place within an epoch means something under the same key alone. */
  readonly planKey?: string;
  /** Rows that other workers read here until the run ends. */
  readonly shared?: readonly SharedRows[];
}

/** A graph with the relation of each edge, by edge id; null without relations. */
export interface EdgeGraph {
  readonly graph: Graph;
  readonly relations: Int32Array | null;
}

/** Rows of some nodes; `isEncoded`: an encoder computed them. */
export interface ReadRows {
  readonly rows: Float32Array;
  readonly width: number;
  readonly isEncoded: boolean;
}

/** What one worker holds for all of them. */
export interface SharedRows {
  /** Others cannot read it any more. */
  close(): void;
}

const name = 'GraphStorage';

export class GraphStorage {
  readonly numNodes: number;
  readonly numRelations: number;
  readonly embeddings: TrainedRows | null;
  readonly features: RowReader<Float32Array> | null;
  readonly residency: Residency;
  readonly labels: Int32Array | null;
  readonly #parts: GraphStorageParts;
  readonly #trueEdges: TrueEdges;
  #plan: EpochPlan | null = null;
  #state = -1;
  #active: EdgeList = emptyEdges;
  /** Where each bucket of training edges begins. */
  #bucketStarts: Float64Array | null = null;
  /** Where the edges of the state are, if training edges are spread. */
  #activeRuns = new EdgeRuns([]);
  #activeNodes: Int32Array = new Int32Array(0);
  #graph: EdgeGraph | null = null;
  #whole: EdgeGraph | null = null;
  #wholeTrain: EdgeList | null = null;
  #encoded: { readonly rows: Float32Array; readonly width: number } | null = null;
  #split: SplitName = 'train';

  constructor(parts: GraphStorageParts) {
    const { embeddings = null, features = null } = parts;
    for (const [table, rows] of Object.entries({ embeddings: embeddings?.rows, features: features?.rows }))
      if (rows !== undefined && rows !== parts.numNodes)
        throw new ValueError(expected(name, `a table of ${parts.numNodes} rows`, table, `${rows} rows`));
    this.#parts = parts;
    this.numNodes = parts.numNodes;
    this.numRelations = parts.numRelations;
    this.#trueEdges = new TrueEdges(parts.edges, parts.numNodes, parts.numRelations);
    this.embeddings = embeddings;
    this.features = features;
    this.residency = parts.residency ?? embeddings?.residency ?? new AllResident(parts.numNodes);
    this.labels = checkLabels(parts.labels ?? null, parts.numNodes);
  }

  get planKey(): string {
    return this.#parts.planKey ?? '';
  }

  get hasRelations(): boolean {
    return this.numRelations > 0;
  }

  /** Whether every row is resident, so that local ids are global ids. */
  get allResident(): boolean {
    return this.residency.capacity >= this.residency.partitions;
  }

  /** The split that batches come from. */
  get activeSplit(): SplitName {
    return this.#split;
  }

  /** Selects the split that batches come from. */
  select(split: SplitName): void {
    this.#split = split;
    this.#trueEdges.forgetBatches();
  }

  split(split: SplitName): EdgeSplit | null {
    return this.#parts.edges[split] ?? null;
  }

  /** Returns the nodes of a split, by global id; null when the task has none. */
  splitNodes(split: SplitName): Int32Array | null {
    return this.#parts.nodes?.[split] ?? null;
  }

  getNumEdges(split: SplitName = this.#split): number {
    return this.split(split)?.numEdges ?? 0;
  }

  /** Edges of the current state, by local ids; not where several workers hold them together. */
  get activeEdges(): EdgeList {
    if (this.spread !== null)
      throw new StateError(
        `${name}: expected all edges with every worker, got edges that are spread. Use numActiveEdges and pickEdges.`,
      );
    return this.#active;
  }

  get numActiveEdges(): number {
    return this.spread === null ? this.#active.src.length : this.#activeRuns.numEdges;
  }

  /** Some edges of the current state, by local ids. */
  pickEdges(places: Int32Array): EdgeList {
    if (this.spread !== null) return this.spread.pick(this.#activeRuns.inSplit(places));
    const { src, dst, relations = null } = this.#active;
    const pick = (values: Int32Array) => places.map((i) => values[i]);
    return { src: pick(src), dst: pick(dst), relations: relations === null ? null : pick(relations) };
  }

  /** Training edges that several workers hold together; null where each has all. */
  get spread(): SpreadEdges | null {
    const split = this.split('train');
    return split instanceof SpreadEdges ? split : null;
  }

  /** Training nodes of the current state, by local ids. */
  get activeNodes(): Int32Array {
    return this.#activeNodes;
  }

  get numStates(): number {
    return this.#plan?.states.length ?? 1;
  }

  /** Which state of the epoch is resident. */
  get state(): number {
    return this.#state;
  }

  /** Makes the given state of the epoch resident. */
  async startEpoch(epoch: number, state = 0): Promise<void> {
    this.#plan = this.allResident && this.#parts.plan === undefined ? null : this.#planOf(epoch);
    const states = this.allResident ? null : this.#plan?.states.slice(state);
    this.residency.setOrdering(states ?? [Int32Array.of(0)]);
    await this.residency.load();
    await this.#enter(state);
  }

  /** Whether a later state of this epoch has edges or nodes to train. */
  hasLaterWork(): boolean {
    const plan = this.#plan;
    if (plan === null) return false;
    const sizes = this.split('train')?.bucketSizes ?? null;
    for (let s = this.#state + 1; s < plan.states.length; s++) {
      if ((plan.nodes?.[s]?.length ?? 0) > 0) return true;
      if (plan.buckets?.[s]?.some((b) => sizes === null || sizes[b] > 0) === true) return true;
    }
    return false;
  }

  /** Makes the next state resident. All updates of the current one must have been applied. */
  async nextState(): Promise<void> {
    if (!this.allResident) await this.residency.nextState();
    await this.#enter(this.#state + 1);
  }

  /** The rows that the current state trains, by local ids: negatives are drawn among them. */
  trainedRanges(): readonly ResidentRange[] {
    const plan = this.#plan;
    if (plan === null || !this.allResident) return this.residency.residentRanges();
    const layout = new PartitionLayout(this.numNodes, plan.partitions);
    return [...plan.states[this.#state]]
      .sort((a, b) => a - b)
      .map((k) => ({ localStart: layout.start(k), globalStart: layout.start(k), rows: layout.rowsOf(k) }));
  }

  /** The graph that samplers follow: in training that of the resident edges, by local ids, otherwise all training edges. */
  get graph(): EdgeGraph {
    if (this.#split !== 'train' && this.#whole !== null) return this.#whole;
    if (this.#graph === null || this.#split !== 'train')
      throw new StateError(`${name}: expected a loaded state, got none. Call startEpoch first.`);
    return this.#graph;
  }

  /** Makes ready what samplers follow; must be awaited whenever the state or the set has changed. */
  async prepareSampling(): Promise<void> {
    if (this.spread === null) await this.loadGraph();
  }

  /** Makes `graph`; must be awaited whenever the state or the set has changed. Reading edges may need files. */
  async loadGraph(): Promise<EdgeGraph> {
    if (this.#split === 'train' && this.#plan !== null && !this.allResident) {
      this.#graph ??= edgeGraph(await this.#residentEdges(), this.residency.numLocalRows);
      return this.#graph;
    }
    this.#whole ??= edgeGraph(await this.trainEdges(), this.numNodes);
    this.#graph = this.#whole;
    return this.#whole;
  }

  /** All training edges with global ids. */
  async trainEdges(): Promise<EdgeList> {
    const split = this.split('train');
    if (split === null) throw new StateError(`${name}: expected training edges, got none.`);
    this.#wholeTrain ??= await split.read(0, split.numEdges);
    return this.#wholeTrain;
  }

  /** True edges of all splits, for filtered evaluation. */
  filterIndex(): Promise<FilterIndex> {
    return this.#trueEdges.index();
  }

  /** The true ends of (src, relation) and (dst, relation), in all splits: by the index, or where edges are in files by a pass over them. */
  trueEnds(asked: AskedEdges): Promise<TrueEnds> {
    return this.#trueEdges.ends(asked);
  }

  /** The true ends of a batch of the active set, from its edge `first` on; where edges are in files, a pass answers for many batches. */
  trueEndsOfBatch(first: number, batch: AskedEdges): Promise<TrueEnds> {
    const split = this.split(this.#split);
    return split === null ? this.#trueEdges.ends(batch) : this.#trueEdges.endsOfBatch(split, first, batch);
  }

  /** True edges of the training split alone: negatives that spared held-out edges would tell which they are. */
  trainFilterIndex(): Promise<FilterIndex> {
    return this.#trueEdges.trainIndex();
  }

  /** The index of training edges, once `trainFilterIndex` has made it. */
  get knownFilter(): FilterIndex {
    const index = this.#trueEdges.knownTrainIndex;
    if (index === null)
      throw new StateError(
        `${name}: expected trainFilterIndex() to have been awaited before filtered negatives are drawn.`,
      );
    return index;
  }

  /** Results of an encoder for all nodes, instead of embeddings, in evaluation; null forgets them. */
  setEncodedNodes(rows: Float32Array | null, width = 0): void {
    this.#encoded = rows === null ? null : { rows, width };
  }

  get encodedNodes(): { readonly rows: Float32Array; readonly width: number } | null {
    return this.#encoded;
  }

  /** Encoded nodes if there are, otherwise embeddings, of any nodes. */
  async readEncoded(ids: Int32Array): Promise<ReadRows> {
    if (this.#encoded === null) {
      const { embeddings } = this;
      if (embeddings === null) return { rows: new Float32Array(0), width: 0, isEncoded: false };
      return { rows: await embeddings.gather(ids), width: embeddings.width, isEncoded: false };
    }
    const { rows, width } = this.#encoded;
    const out = new Float32Array(ids.length * width);
    for (let i = 0; i < ids.length; i++)
      out.set(rows.subarray(ids[i] * width, (ids[i] + 1) * width), i * width);
    return { rows: out, width, isEncoded: true };
  }

  /** All encoded nodes (or embeddings) in order. */
  async *tiles(): AsyncIterable<Tile> {
    if (this.#encoded === null) yield* this.embeddings?.tiles() ?? [];
    else yield { start: 0, count: this.numNodes, rows: this.#encoded.rows };
  }

  /** Waits for writes and, if asked, writes what changed. */
  async unload(write = false): Promise<void> {
    await this.residency.unload(write);
    this.#state = -1;
    this.#active = emptyEdges;
    this.#graph = null;
  }

  /**
   * Ends what others read here. The last thing that all workers have done together must be behind their last reads: an epoch,
   * an evaluation and an export end so.
   */
  close(): void {
    for (const rows of this.#parts.shared ?? []) rows.close();
    this.spread?.close();
  }

  #planOf(epoch: number): EpochPlan {
    if (this.#parts.plan === undefined)
      throw new StateError(`${name}: expected a plan for a table that does not fit, got none.`);
    return this.#parts.plan(epoch);
  }

  async #enter(state: number): Promise<void> {
    const unchanged = this.#plan === null && this.#state === 0;
    this.#state = state;
    if (unchanged) return;
    this.#graph = null;
    const buckets = this.#plan === null ? null : (this.#plan.buckets?.[state] ?? new Int32Array(0));
    if (this.spread === null) this.#active = await this.#edgesOf(buckets);
    else this.#activeRuns = this.#runsOf(this.spread, buckets);
    this.#activeNodes = this.#localTrainNodes();
  }

  async #edgesOf(buckets: Int32Array | null): Promise<EdgeList> {
    const split = this.split('train');
    if (split === null) return emptyEdges;
    if (buckets === null) return this.trainEdges();
    const lists: EdgeList[] = [];
    for (const { first, end } of this.#runsOf(split, buckets).runs) lists.push(await split.read(first, end));
    return joinMapped(lists, this.#localMap(), split.hasRelations);
  }

  /** Where the training edges of some buckets are; null: all of them. */
  #runsOf(split: EdgeSplit, buckets: Int32Array | null): EdgeRuns {
    if (buckets === null) return EdgeRuns.ofAll(split);
    const sizes = split.bucketSizes;
    if (sizes === null) {
      throw new StateError(
        `${name}: expected training edges in buckets for a partition buffer, got a list without. Preprocess with --num_partitions ${this.residency.partitions}.`,
      );
    }
    // Summed once: an epoch has as many states as there are partitions or more, and a bucket for each pair of them.
    this.#bucketStarts ??= bucketStarts(sizes);
    return EdgeRuns.ofBuckets(buckets, this.#bucketStarts);
  }

  async #residentEdges(): Promise<EdgeList> {
    if (this.#plan === null) return this.trainEdges();
    const p = this.residency.partitions;
    const present = [...this.#plan.states[this.#state]].sort((a, b) => a - b);
    return this.#edgesOf(Int32Array.from(present.flatMap((a) => present.map((b) => a * p + b))));
  }

  #localTrainNodes(): Int32Array {
    const all = this.splitNodes('train');
    if (all === null) return new Int32Array(0);
    if (this.#plan === null) return all;
    const map = this.#localMap();
    return (this.#plan.nodes?.[this.#state] ?? all).map((id) => map(id)).filter((id) => id >= 0);
  }

  /** The local id of a node, −1 when it is not resident. */
  #localMap(): (id: number) => number {
    if (this.#plan === null || this.allResident) return (id) => id;
    const { partitions } = this.residency;
    const size = Math.ceil(this.numNodes / partitions);
    const shift = new Int32Array(partitions).fill(-1);
    for (const range of this.residency.residentRanges())
      shift[Math.floor(range.globalStart / size)] = range.localStart;
    return (id) => {
      const partition = Math.floor(id / size);
      return shift[partition] < 0 ? -1 : shift[partition] + id - partition * size;
    };
  }
}

function edgeGraph({ src, dst, relations = null, weights = null }: EdgeList, numNodes: number): EdgeGraph {
  const options = { numNodes, ...(weights === null ? {} : { edgeWeight: weights }) };
  return { graph: Graph.fromEdges(src, dst, options), relations };
}

function checkLabels(labels: Int32Array | null, numNodes: number): Int32Array | null {
  if (labels === null) return null;
  checkClassIds(name, 'labels', labels);
  if (labels.length !== numNodes)
    throw new ValueError(expected(name, `one class id per node (${numNodes})`, 'labels', labels.length));
  return labels;
}

/** Throws unless the labels are class ids. One-hot labels are a tensor or array of floats. */
export function checkClassIds(where: string, what: string, labels: Int32Array): Int32Array {
  if (labels instanceof Int32Array) return labels;
  const got = Object.prototype.toString.call(labels).slice(8, -1);
  throw new DTypeError(
    expected(
      where,
      'an Int32Array of class ids',
      what,
      got,
      'Convert one-hot labels with argmax(labels, 1).',
    ),
  );
}

/**
 * The data of a task behind one interface: edges, nodes, embeddings with optimiser state, features, labels, encoded nodes.
 * Training uses the edges whose both ends are resident, by local ids.
 *
 * An epoch is a sequence of buffer states: which partitions are resident, and which edge buckets or nodes are trained then.
 * With everything in memory there is one state, and local ids are global ids.
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
import { Candidates } from '../../links/candidates.js';
import { EndCounts } from '../../links/end-counts.js';
import type { FilterIndex } from '../../links/filter-index.js';
import type { AskedEdges, TrueEnds } from '../../links/stream-filter.js';
import { TrueEdges } from '../../links/true-edges.js';
import type { TextRows } from '../model/text-bags.js';
import { bucketStarts, EdgeRuns, emptyEdges, joinMapped } from './edge-runs.js';
import { chunksOf, type EdgeSplit } from './edge-splits.js';
import { ShardedEdges } from './sharded-edges.js';

/** Resident partitions in each state of an epoch, and what is trained then: buckets a·p + b of edges, or nodes by global id. */
export interface EpochPlan {
  /** Partitions of the plan; where all rows are in memory, they only order edges. */
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
  /** Words of all nodes, in memory. */
  readonly text?: TextRows | null;
  /** Resident nodes; default: those of the embeddings, or all. */
  readonly residency?: Residency;
  readonly labels?: Int32Array | null;
  /** The type of each node; null or absent: there is one. */
  readonly nodeTypes?: Uint8Array | null;
  readonly nodes?: Readonly<Partial<Record<SplitName, Int32Array>>>;
  /** The states of an epoch; needed when not all rows fit. */
  readonly plan?: (epoch: number) => EpochPlan;
  /** Identifies the states: a position within an epoch is valid under the same key only. */
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

/** Rows that a worker stores for all workers. */
export interface SharedRows {
  /** Ends reads by other workers. */
  close(): void;
}

const name = 'GraphStorage';

export class GraphStorage {
  readonly numNodes: number;
  readonly numRelations: number;
  readonly embeddings: TrainedRows | null;
  readonly features: RowReader<Float32Array> | null;
  readonly text: TextRows | null;
  readonly residency: Residency;
  readonly labels: Int32Array | null;
  readonly nodeTypes: Uint8Array | null;
  readonly #parts: GraphStorageParts;
  readonly #trueEdges: TrueEdges;
  #plan: EpochPlan | null = null;
  #state = -1;
  #active: EdgeList = emptyEdges;
  /** The first edge of each bucket of training edges. */
  #bucketStarts: Float64Array | null = null;
  /** Positions of the state's edges, if training edges are sharded. */
  #activeRuns = new EdgeRuns([]);
  #activeNodes: Int32Array = new Int32Array(0);
  #graph: EdgeGraph | null = null;
  #whole: EdgeGraph | null = null;
  #wholeTrain: EdgeList | null = null;
  #encoded: { readonly rows: Float32Array; readonly width: number } | null = null;
  #endCounts: EndCounts | null = null;
  #candidates: Candidates | null = null;
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
    this.text = parts.text ?? null;
    this.residency = parts.residency ?? embeddings?.residency ?? new AllResident(parts.numNodes);
    this.nodeTypes = parts.nodeTypes ?? null;
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

  /** Edges of the current state, by local ids. Throws if they are sharded over workers. */
  get activeEdges(): EdgeList {
    if (this.spread !== null)
      throw new StateError(
        `${name}: expected all edges on every worker, got sharded edges. Use numActiveEdges and pickEdges.`,
      );
    return this.#active;
  }

  get numActiveEdges(): number {
    return this.spread === null ? this.#active.src.length : this.#activeRuns.numEdges;
  }

  /** Returns some edges of the current state, by local ids. */
  pickEdges(places: Int32Array): EdgeList {
    if (this.spread !== null) return this.spread.pick(this.#activeRuns.inSplit(places));
    const { src, dst, relations = null } = this.#active;
    const pick = (values: Int32Array) => places.map((i) => values[i]);
    return { src: pick(src), dst: pick(dst), relations: relations === null ? null : pick(relations) };
  }

  /** Training edges that are sharded over workers; null where each has all. */
  get spread(): ShardedEdges | null {
    const split = this.split('train');
    return split instanceof ShardedEdges ? split : null;
  }

  /** Training nodes of the current state, by local ids. */
  get activeNodes(): Int32Array {
    return this.#activeNodes;
  }

  get numStates(): number {
    return this.#plan?.states.length ?? 1;
  }

  /** The resident state of the epoch. */
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

  /** Returns the rows that the current state trains, by local ids; negatives are drawn among them. */
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

  /** Prepares the graph for samplers; must be awaited after the state or the split has changed. */
  async prepareSampling(): Promise<void> {
    if (this.spread === null) await this.loadGraph();
  }

  /** Loads `graph`; must be awaited after the state or the split has changed. Edges may be read from files. */
  async loadGraph(): Promise<EdgeGraph> {
    if (this.#split === 'train' && this.#plan !== null && !this.allResident) {
      this.#graph ??= edgeGraph(await this.#residentEdges(), this.residency.numLocalRows);
      return this.#graph;
    }
    this.#whole ??= edgeGraph(await this.trainEdges(), this.numNodes);
    this.#graph = this.#whole;
    return this.#whole;
  }

  /** Reads all training edges with global ids. */
  async trainEdges(): Promise<EdgeList> {
    const split = this.split('train');
    if (split === null) throw new StateError(`${name}: expected training edges, got none.`);
    this.#wholeTrain ??= await split.read(0, split.numEdges);
    return this.#wholeTrain;
  }

  /** Returns the index of true edges of all splits, for filtered evaluation. */
  filterIndex(): Promise<FilterIndex> {
    return this.#trueEdges.index();
  }

  /** Returns the true ends of (src, relation) and (dst, relation) in all splits, by the index or by a pass over edges in files. */
  trueEnds(asked: AskedEdges): Promise<TrueEnds> {
    return this.#trueEdges.ends(asked);
  }

  /** Returns the true ends of a batch of the active split, from its edge `first` on; a pass over edges in files serves many batches. */
  trueEndsOfBatch(first: number, batch: AskedEdges): Promise<TrueEnds> {
    const split = this.split(this.#split);
    return split === null ? this.#trueEdges.ends(batch) : this.#trueEdges.endsOfBatch(split, first, batch);
  }

  /** Counts how often each node is an end of training edges, by relation; kept for later calls. */
  async endCounts(): Promise<EndCounts> {
    const train = this.split('train');
    const chunks = chunksOf(train === null ? [] : [train]);
    this.#endCounts ??= await EndCounts.read(chunks, this.numNodes, this.numRelations);
    return this.#endCounts;
  }

  /** Returns the candidates for the ends of each relation. */
  async candidates(): Promise<Candidates> {
    this.#candidates ??= new Candidates(await this.endCounts(), this.nodeTypes);
    return this.#candidates;
  }

  /** Returns the index of training edges alone: negatives that avoid held-out edges would reveal them. */
  trainFilterIndex(): Promise<FilterIndex> {
    return this.#trueEdges.trainIndex();
  }

  /** The index of training edges, after `trainFilterIndex`. */
  get knownFilter(): FilterIndex {
    const index = this.#trueEdges.knownTrainIndex;
    if (index === null)
      throw new StateError(
        `${name}: expected trainFilterIndex() to have been awaited before filtered negatives are drawn.`,
      );
    return index;
  }

  /** Sets an encoder's results for all nodes, which evaluation reads in place of embeddings; null removes them. */
  setEncodedNodes(rows: Float32Array | null, width = 0): void {
    this.#encoded = rows === null ? null : { rows, width };
  }

  get encodedNodes(): { readonly rows: Float32Array; readonly width: number } | null {
    return this.#encoded;
  }

  /** Reads encoded nodes if there are any, otherwise embeddings. */
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

  /** Reads all encoded nodes (or embeddings) in order. */
  async *tiles(): AsyncIterable<Tile> {
    if (this.#encoded === null) yield* this.embeddings?.tiles() ?? [];
    else yield { start: 0, count: this.numNodes, rows: this.#encoded.rows };
  }

  /** Waits for writes; with `write`, writes changed rows. */
  async unload(write = false): Promise<void> {
    await this.residency.unload(write);
    this.#state = -1;
    this.#active = emptyEdges;
    this.#graph = null;
  }

  /**
   * Ends reads by other workers. A collective operation must come after their last reads, as at the end of an epoch, an
   * evaluation and an export.
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

  /** Returns the positions of the training edges of some buckets; null: all of them. */
  #runsOf(split: EdgeSplit, buckets: Int32Array | null): EdgeRuns {
    if (buckets === null) return EdgeRuns.ofAll(split);
    const sizes = split.bucketSizes;
    if (sizes === null) {
      throw new StateError(
        `${name}: expected training edges in buckets for a partition buffer, got edges without buckets. Preprocess with --num_partitions ${this.residency.partitions}.`,
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

  /** Returns a map from global to local ids, −1 for nodes that are not resident. */
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

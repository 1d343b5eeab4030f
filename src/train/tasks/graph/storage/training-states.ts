/**
 * The buffer states of an epoch: which partitions are resident, and which edges and nodes are trained then, by local ids.
 * With everything in memory there is one state, and local ids are global ids.
 */
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import { PartitionLayout, type Residency } from '../../../../storage/index.js';
import type { ResidentRange } from '../../../../storage/trained-rows.js';
import { StateError } from '../../../../util/errors.js';
import { type EnteredState, mostDrawnPartitions, type OnState } from '../../../run/buffer-record.js';
import { bucketStarts, EdgeRuns, emptyEdges, joinMapped } from './edge-runs.js';
import type { EdgeSplit } from './edge-splits.js';
import type { EpochPlan, GraphStorageParts } from './graph-storage-parts.js';
import { ShardedEdges } from './sharded-edges.js';

const name = 'GraphStorage';

export class TrainingStates {
  readonly #parts: GraphStorageParts;
  readonly #residency: Residency;
  readonly #edges: EdgeSplit | null;
  #plan: EpochPlan | null = null;
  #state = -1;
  #active: EdgeList = emptyEdges;
  /** The first edge of each bucket of training edges. */
  #bucketStarts: Float64Array | null = null;
  /** Positions of the state's edges, if training edges are sharded. */
  #activeRuns = new EdgeRuns([]);
  #activeNodes: Int32Array = new Int32Array(0);
  #allEdges: EdgeList | null = null;
  #epoch = 0;
  /** Called when a state of an epoch with several has become resident. */
  onEnter: OnState | null = null;

  constructor(parts: GraphStorageParts, residency: Residency) {
    this.#parts = parts;
    this.#residency = residency;
    this.#edges = parts.edges.train ?? null;
  }

  /** Whether every row is resident, so that local ids are global ids. */
  get allResident(): boolean {
    return this.#residency.capacity >= this.#residency.partitions;
  }

  /** Whether not all rows are resident, so that the graph of training depends on the state. */
  get isPartial(): boolean {
    return this.#plan !== null && !this.allResident;
  }

  /** Edges of the current state, by local ids. Throws if they are sharded over workers. */
  get edges(): EdgeList {
    if (this.spread !== null)
      throw new StateError(
        `${name}: expected all edges on every worker, got sharded edges. Use numActiveEdges and pickEdges.`,
      );
    return this.#active;
  }

  get numEdges(): number {
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
    const split = this.#edges;
    return split instanceof ShardedEdges ? split : null;
  }

  /** Training nodes of the current state, by local ids. */
  get nodes(): Int32Array {
    return this.#activeNodes;
  }

  /** States of the epoch. */
  get count(): number {
    return this.#plan?.states.length ?? 1;
  }

  /** The resident state of the epoch. */
  get current(): number {
    return this.#state;
  }

  /** Makes the given state of the epoch resident. Returns whether edges or nodes changed. */
  async start(epoch: number, state: number): Promise<boolean> {
    this.#plan = this.allResident && this.#parts.plan === undefined ? null : this.#planOf(epoch);
    const states = this.allResident ? null : this.#plan?.states.slice(state);
    this.#residency.setOrdering(states ?? [Int32Array.of(0)]);
    await this.#residency.load();
    this.#epoch = epoch;
    return this.#enter(state);
  }

  /** Whether a later state of this epoch has edges or nodes to train. */
  hasLaterWork(): boolean {
    const plan = this.#plan;
    if (plan === null) return false;
    const sizes = this.#edges?.bucketSizes ?? null;
    for (let s = this.#state + 1; s < plan.states.length; s++) {
      if ((plan.nodes?.[s]?.length ?? 0) > 0) return true;
      if (plan.buckets?.[s]?.some((b) => sizes === null || sizes[b] > 0) === true) return true;
    }
    return false;
  }

  /** Makes the next state resident; see `start`. All updates of the current one must have been applied. */
  async next(): Promise<boolean> {
    if (!this.allResident) await this.#residency.nextState();
    return this.#enter(this.#state + 1);
  }

  /** Returns the rows that the current state trains, by local ids; negatives are drawn among them. */
  trainedRanges(): readonly ResidentRange[] {
    const plan = this.#plan;
    if (plan === null || !this.allResident) return this.#residency.residentRanges();
    const layout = new PartitionLayout(this.#parts.numNodes, plan.partitions);
    return [...plan.states[this.#state]]
      .sort((a, b) => a - b)
      .map((k) => ({ localStart: layout.start(k), globalStart: layout.start(k), rows: layout.rowsOf(k) }));
  }

  /** Reads all training edges with global ids. */
  async allEdges(): Promise<EdgeList> {
    const split = this.#edges;
    if (split === null) throw new StateError(`${name}: expected training edges, got none.`);
    this.#allEdges ??= await split.read(0, split.numEdges);
    return this.#allEdges;
  }

  reset(): void {
    this.#state = -1;
    this.#active = emptyEdges;
  }

  #planOf(epoch: number): EpochPlan {
    if (this.#parts.plan === undefined)
      throw new StateError(`${name}: expected a plan for a table that does not fit, got none.`);
    return this.#parts.plan(epoch);
  }

  async #enter(state: number): Promise<boolean> {
    const unchanged = this.#plan === null && this.#state === 0;
    this.#state = state;
    if (unchanged) return false;
    const buckets = this.#plan === null ? null : (this.#plan.buckets?.[state] ?? new Int32Array(0));
    if (this.spread === null) this.#active = await this.#edgesOf(buckets);
    else this.#activeRuns = this.#runsOf(this.spread, buckets);
    this.#activeNodes = this.#localTrainNodes();
    const plan = this.#plan;
    if (plan !== null && this.isPartial)
      this.onEnter?.(state === plan.states.length - 1, () => this.#entered(plan));
    return true;
  }

  #entered({ partitions, states, buckets, nodes }: EpochPlan): EnteredState {
    const sizes = this.#edges?.bucketSizes ?? null;
    const isDrawn = buckets !== undefined && partitions <= mostDrawnPartitions;
    return {
      ...{ epoch: this.#epoch + 1, state: this.#state, partitions },
      states: states.map((resident) => [...resident]),
      buckets: isDrawn ? buckets.map((own) => [...own]) : null,
      items: states.map(
        (_, s) => nodes?.[s]?.length ?? buckets?.[s]?.reduce((sum, b) => sum + (sizes?.[b] ?? 0), 0) ?? 0,
      ),
    };
  }

  async #edgesOf(buckets: Int32Array | null): Promise<EdgeList> {
    const split = this.#edges;
    if (split === null) return emptyEdges;
    if (buckets === null) return this.allEdges();
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
        `${name}: expected training edges in buckets for a partition buffer, got edges without buckets. Preprocess with --num_partitions ${this.#residency.partitions}.`,
      );
    }
    // Summed once: an epoch has as many states as there are partitions or more, and a bucket for each pair of them.
    this.#bucketStarts ??= bucketStarts(sizes);
    return EdgeRuns.ofBuckets(buckets, this.#bucketStarts);
  }

  /** Reads the edges whose both ends are resident, by local ids. */
  async residentEdges(): Promise<EdgeList> {
    if (this.#plan === null) return this.allEdges();
    const p = this.#residency.partitions;
    const present = [...this.#plan.states[this.#state]].sort((a, b) => a - b);
    return this.#edgesOf(Int32Array.from(present.flatMap((a) => present.map((b) => a * p + b))));
  }

  #localTrainNodes(): Int32Array {
    const all = this.#parts.nodes?.train ?? null;
    if (all === null) return new Int32Array(0);
    if (this.#plan === null) return all;
    const map = this.#localMap();
    return (this.#plan.nodes?.[this.#state] ?? all).map((id) => map(id)).filter((id) => id >= 0);
  }

  /** Returns a map from global to local ids, −1 for nodes that are not resident. */
  #localMap(): (id: number) => number {
    if (this.#plan === null || this.allResident) return (id) => id;
    const { partitions } = this.#residency;
    const size = Math.ceil(this.#parts.numNodes / partitions);
    const shift = new Int32Array(partitions).fill(-1);
    for (const range of this.#residency.residentRanges())
      shift[Math.floor(range.globalStart / size)] = range.localStart;
    return (id) => {
      const partition = Math.floor(id / size);
      return shift[partition] < 0 ? -1 : shift[partition] + id - partition * size;
    };
  }
}

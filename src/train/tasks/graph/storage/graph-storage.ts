/**
 * The data of a task behind one interface: edges, nodes, embeddings with optimiser state, features, labels, encoded nodes.
 * Training uses the edges whose both ends are resident, by local ids; `training-states.ts` decides which those are.
 */
import type { IdLists } from '../../../../gnn/ops/id-lists.js';
import { Graph } from '../../../../graph/index.js';
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import type { Residency, RowReader, TrainedRows } from '../../../../storage/index.js';
import { AllResident, type ResidentRange, type Tile } from '../../../../storage/trained-rows.js';
import { checkInteger, expected, StateError, ValueError } from '../../../../util/errors.js';
import type { OnState } from '../../../run/buffer-record.js';
import type { SplitName } from '../../../task.js';
import { Candidates } from '../../links/candidates.js';
import { EndCounts } from '../../links/end-counts.js';
import type { FilterIndex } from '../../links/filter-index.js';
import type { AskedEdges, TrueEnds } from '../../links/stream-filter.js';
import { TrueEdges } from '../../links/true-edges.js';
import type { TextRows } from '../model/text-bags.js';
import { checkNodeLabels } from './check-labels.js';
import { chunksOf, type EdgeSplit } from './edge-splits.js';
import type { GraphStorageParts } from './graph-storage-parts.js';
import type { ShardedEdges } from './sharded-edges.js';
import { TrainingStates } from './training-states.js';

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
  readonly #states: TrainingStates;
  #graph: EdgeGraph | null = null;
  #whole: EdgeGraph | null = null;
  #encoded: { readonly rows: Float32Array; readonly width: number } | null = null;
  #endCounts: EndCounts | null = null;
  #candidates: Candidates | null = null;
  #split: SplitName = 'train';

  constructor(parts: GraphStorageParts) {
    checkInteger(name, 'numNodes', parts?.numNodes);
    if (typeof parts.edges !== 'object')
      throw new ValueError(expected(name, 'the edges of each split', 'edges', parts.edges));
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
    this.#states = new TrainingStates(parts, this.residency);
    this.nodeTypes = parts.nodeTypes ?? null;
    this.labels = checkNodeLabels(name, parts.labels ?? null, parts.numNodes);
  }

  get planKey(): string {
    return this.#parts.planKey ?? '';
  }

  get hasRelations(): boolean {
    return this.numRelations > 0;
  }

  /** Whether every row is resident, so that local ids are global ids. */
  get allResident(): boolean {
    return this.#states.allResident;
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
    return this.#states.edges;
  }

  get numActiveEdges(): number {
    return this.#states.numEdges;
  }

  /** Returns some edges of the current state, by local ids. */
  pickEdges(places: Int32Array): EdgeList {
    return this.#states.pickEdges(places);
  }

  /** Training edges that are sharded over workers; null where each has all. */
  get spread(): ShardedEdges | null {
    return this.#states.spread;
  }

  /** Training nodes of the current state, by local ids. */
  get activeNodes(): Int32Array {
    return this.#states.nodes;
  }

  get numStates(): number {
    return this.#states.count;
  }

  /** The resident state of the epoch. */
  get state(): number {
    return this.#states.current;
  }

  /** Sets a function that is called when a buffer state of several has become resident; for displays. */
  set onState(onState: OnState | null) {
    this.#states.onEnter = onState;
  }

  /** Makes the given state of the epoch resident. */
  async startEpoch(epoch: number, state = 0): Promise<void> {
    if (await this.#states.start(epoch, state)) this.#graph = null;
  }

  /** Whether a later state of this epoch has edges or nodes to train. */
  hasLaterWork(): boolean {
    return this.#states.hasLaterWork();
  }

  /** Makes the next state resident. All updates of the current one must have been applied. */
  async nextState(): Promise<void> {
    if (await this.#states.next()) this.#graph = null;
  }

  /** Returns the rows that the current state trains, by local ids; negatives are drawn among them. */
  trainedRanges(): readonly ResidentRange[] {
    return this.#states.trainedRanges();
  }

  /** Reads all training edges with global ids. */
  trainEdges(): Promise<EdgeList> {
    return this.#states.allEdges();
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
    if (this.#split === 'train' && this.#states.isPartial) {
      this.#graph ??= edgeGraph(await this.#states.residentEdges(), this.residency.numLocalRows);
      return this.#graph;
    }
    this.#whole ??= edgeGraph(await this.trainEdges(), this.numNodes);
    this.#graph = this.#whole;
    return this.#whole;
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

  /** Returns the destinations of heads and relations in some splits, as one or several lists. */
  endsIn(
    splits: readonly SplitName[],
    asked: Pick<AskedEdges, 'src' | 'relations'>,
  ): Promise<readonly IdLists[]> {
    return this.#trueEdges.endsIn(splits, asked);
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
    this.#states.reset();
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
}

function edgeGraph({ src, dst, relations = null, weights = null }: EdgeList, numNodes: number): EdgeGraph {
  const options = { numNodes, ...(weights === null ? {} : { edgeWeight: weights }) };
  return { graph: Graph.fromEdges(src, dst, options), relations };
}

/**
 * The true edges of a graph by their ends, which filtered evaluation leaves out and filtered negatives avoid. Edges in
 * memory have an index; edges in files or of other workers are read in a pass when ends are requested.
 */
import type { IdLists } from '../../../gnn/ops/id-lists.js';
import type { EdgeList } from '../../../sample/one-hop-sampler.js';
import type { SplitName } from '../../task.js';
import { chunksOf, type EdgeSplit, FileEdges } from '../graph/storage/edge-splits.js';
import { ShardedEdges } from '../graph/storage/sharded-edges.js';
import { FilterIndex } from './filter-index.js';
import { type AskedEdges, SplitEnds, type TrueEnds, trueEndsOf } from './stream-filter.js';

export class TrueEdges {
  readonly #splits: Readonly<Partial<Record<SplitName, EdgeSplit>>>;
  readonly #numNodes: number;
  readonly #numRelations: number;
  #all: FilterIndex | null = null;
  #train: FilterIndex | null = null;
  readonly #held: { validation?: Promise<FilterIndex>; test?: Promise<FilterIndex> } = {};
  /** True ends of the evaluated split, found ahead. */
  #ahead: { readonly split: EdgeSplit; readonly ends: SplitEnds } | null = null;

  /** @param numRelations 0 without relations. */
  constructor(
    splits: Readonly<Partial<Record<SplitName, EdgeSplit>>>,
    numNodes: number,
    numRelations: number,
  ) {
    this.#splits = splits;
    this.#numNodes = numNodes;
    this.#numRelations = Math.max(numRelations, 1);
  }

  /** Returns the index of all splits. */
  async index(): Promise<FilterIndex> {
    this.#all ??= await this.#indexOf(Object.values(this.#splits));
    return this.#all;
  }

  async trainIndex(): Promise<FilterIndex> {
    const { train } = this.#splits;
    this.#train ??= await this.#indexOf(train === undefined ? [] : [train]);
    return this.#train;
  }

  /** The index of training edges; null before `trainIndex`. */
  get knownTrainIndex(): FilterIndex | null {
    return this.#train;
  }

  /** Returns the destinations of heads and relations in some splits: lists by split, or one for all where edges are in files. */
  async endsIn(
    names: readonly SplitName[],
    { src, relations }: Pick<AskedEdges, 'src' | 'relations'>,
  ): Promise<readonly IdLists[]> {
    if (this.#areRead()) {
      const splits = names.flatMap((name) => this.#splits[name] ?? []);
      return [
        (await trueEndsOf({ src, dst: src, relations }, chunksOf(splits), this.#numNodes)).destinations,
      ];
    }
    const indexes = await Promise.all(names.map((name) => this.#indexOfSplit(name)));
    return indexes.map((index) => index.lists(src, relations, true));
  }

  #indexOfSplit(name: SplitName): Promise<FilterIndex> {
    if (name === 'train') return this.trainIndex();
    const split = this.#splits[name];
    this.#held[name] ??= this.#indexOf(split === undefined ? [] : [split]);
    return this.#held[name];
  }

  /** Returns the true ends of any edges, in all splits. */
  async ends(asked: AskedEdges): Promise<TrueEnds> {
    if (this.#areRead()) return trueEndsOf(asked, this.#pieces(), this.#numNodes);
    const index = await this.index();
    const { src, dst, relations } = asked;
    return { destinations: index.lists(src, relations, true), sources: index.lists(dst, relations, false) };
  }

  /** Returns the true ends of a batch of a split, from its edge `first` on; a pass over edges in files serves many batches. */
  async endsOfBatch(split: EdgeSplit, first: number, batch: AskedEdges): Promise<TrueEnds> {
    if (!this.#areRead()) return this.ends(batch);
    if (this.#ahead?.split !== split)
      this.#ahead = { split, ends: new SplitEnds(split, () => this.#pieces(), this.#numNodes) };
    return this.#ahead.ends.of(first, batch);
  }

  /** Drops results that were found ahead. */
  forgetBatches(): void {
    this.#ahead = null;
  }

  /** Whether some edges are not in the memory of this process. */
  #areRead(): boolean {
    const splits = Object.values(this.#splits);
    return splits.some((split) => split instanceof FileEdges || split instanceof ShardedEdges);
  }

  #pieces(): AsyncIterable<EdgeList> {
    return chunksOf(Object.values(this.#splits));
  }

  async #indexOf(splits: readonly EdgeSplit[]): Promise<FilterIndex> {
    const lists: EdgeList[] = [];
    for (const split of splits) lists.push(await split.read(0, split.numEdges));
    return new FilterIndex(lists, this.#numNodes, this.#numRelations);
  }
}

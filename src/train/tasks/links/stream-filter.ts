/**
 * The true ends of some edges, found in one pass over all edges: for tables and edges that are not in memory, where an index
 * of every edge would not fit either. Memory: a byte per node and direction, and the results, each end once for all edges
 * that share it.
 */

import type { IdLists } from '../../../gnn/ops/id-lists.js';
import type { EdgeList } from '../../../sample/one-hop-sampler.js';
import type { EdgeSplit } from '../graph/storage/edge-splits.js';

export interface AskedEdges {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly relations: Int32Array | null;
}

export interface TrueEnds {
  /** Ends of (src[i], relations[i]), ascending. */
  readonly destinations: IdLists;
  /** Ends of (dst[i], relations[i]), ascending. */
  readonly sources: IdLists;
}

/** Returns the true ends of the given edges, among all that `edges` reads. */
export async function trueEndsOf(
  asked: AskedEdges,
  edges: AsyncIterable<EdgeList>,
  numNodes: number,
): Promise<TrueEnds> {
  return (await findEnds(asked, edges, numNodes)).of(asked);
}

/** The result of a pass over all edges. */
interface FoundEnds {
  /** Returns the lists of the given edges, or of some of them. */
  of(some: AskedEdges): TrueEnds;
}

async function findEnds(
  asked: AskedEdges,
  edges: AsyncIterable<EdgeList>,
  numNodes: number,
): Promise<FoundEnds> {
  const bySrc = new Ends(asked.src, asked.relations, numNodes);
  const byDst = new Ends(asked.dst, asked.relations, numNodes);
  for await (const { src, dst, relations = null } of edges)
    for (let e = 0; e < src.length; e++) {
      const relation = relations === null ? 0 : relations[e];
      bySrc.add(src[e], relation, dst[e]);
      byDst.add(dst[e], relation, src[e]);
    }
  bySrc.sort();
  byDst.sort();
  return {
    of: ({ src, dst, relations }) => ({
      destinations: bySrc.lists(src, relations),
      sources: byDst.lists(dst, relations),
    }),
  };
}

/** Edges of a split per pass over all edges, unless a batch has more. */
const edgesAPass = 2 ** 16;

/**
 * The true ends of a split's edges, batch after batch. A pass over all edges finds those of as many batches as have 2^16
 * edges together, so that n edges take at most ⌈n / 2^15⌉ passes, and none more than there are batches.
 */
export class SplitEnds {
  readonly #split: EdgeSplit;
  readonly #all: () => AsyncIterable<EdgeList>;
  readonly #numNodes: number;
  #ahead: { readonly first: number; readonly end: number; readonly found: Promise<FoundEnds> } | null = null;

  /** @param all the edges of all splits. */
  constructor(split: EdgeSplit, all: () => AsyncIterable<EdgeList>, numNodes: number) {
    this.#split = split;
    this.#all = all;
    this.#numNodes = numNodes;
  }

  /** Returns the true ends of a batch whose first edge is edge `first` of the split. */
  async of(first: number, batch: AskedEdges): Promise<TrueEnds> {
    const end = first + batch.src.length;
    if (this.#ahead === null || first < this.#ahead.first || end > this.#ahead.end)
      this.#ahead = this.#find(first, batch.src.length);
    const { found, end: last } = this.#ahead;
    const ends = (await found).of(batch);
    // Results are dropped after their last batch.
    if (end === last && this.#ahead?.found === found) this.#ahead = null;
    return ends;
  }

  #find(first: number, batchSize: number) {
    const edges = batchSize * Math.max(1, Math.floor(edgesAPass / Math.max(1, batchSize)));
    const end = Math.min(this.#split.numEdges, first + edges);
    const find = async (): Promise<FoundEnds> => {
      const { src, dst, relations = null } = await this.#split.read(first, end);
      return findEnds({ src, dst, relations }, this.#all(), this.#numNodes);
    };
    return { first, end, found: find() };
  }
}

/** Other ends of edges by (node, relation), for the given pairs. */
class Ends {
  /** A byte per node, which saves looking up a key for most edges. */
  readonly #isAsked: Uint8Array;
  readonly #found = new Map<number, number[]>();
  readonly #numNodes: number;

  constructor(nodes: Int32Array, relations: Int32Array | null, numNodes: number) {
    this.#numNodes = numNodes;
    this.#isAsked = new Uint8Array(numNodes);
    for (let i = 0; i < nodes.length; i++) {
      this.#isAsked[nodes[i]] = 1;
      this.#found.set(this.#key(nodes[i], relations === null ? 0 : relations[i]), []);
    }
  }

  /** Returns the key of a pair; below 2^53 for graphs whose nodes and relations all have edges. */
  #key(node: number, relation: number): number {
    return relation * this.#numNodes + node;
  }

  add(node: number, relation: number, end: number): void {
    if (this.#isAsked[node] === 0) return;
    this.#found.get(this.#key(node, relation))?.push(end);
  }

  /** Returns the lists, after all edges were added. */
  sort(): void {
    for (const ends of this.#found.values()) ends.sort((a, b) => a - b);
  }

  lists(nodes: Int32Array, relations: Int32Array | null): IdLists {
    const of = (i: number): readonly number[] =>
      this.#found.get(this.#key(nodes[i], relations === null ? 0 : relations[i])) ?? [];
    const offsets = new Int32Array(nodes.length + 1);
    for (let i = 0; i < nodes.length; i++) offsets[i + 1] = offsets[i] + of(i).length;
    const ids = new Int32Array(offsets[nodes.length]);
    for (let i = 0; i < nodes.length; i++) ids.set(of(i), offsets[i]);
    return { offsets, ids };
  }
}

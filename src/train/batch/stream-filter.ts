/**
 * The true ends of some edges, found in one pass over all edges: for tables and edges that are not in memory, where an index
 * of every edge would not fit either. Memory: a byte a node and direction, and the answers.
 */
import type { EdgeList } from '../../sample/index.js';
import type { IdLists } from './filter-index.js';

export interface AskedEdges {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly relations: Int32Array | null;
}

export interface TrueEnds {
  /** Of (src[i], relations[i]), ascending. */
  readonly destinations: IdLists;
  readonly sources: IdLists;
}

/** True ends for the edges asked about, among all that `edges` gives. */
export async function trueEndsOf(
  asked: AskedEdges,
  edges: AsyncIterable<EdgeList>,
  numNodes: number,
): Promise<TrueEnds> {
  const bySrc = new Ends(asked.src, asked.relations, numNodes);
  const byDst = new Ends(asked.dst, asked.relations, numNodes);
  for await (const { src, dst, relations = null } of edges)
    for (let e = 0; e < src.length; e++) {
      const relation = relations === null ? 0 : relations[e];
      bySrc.add(src[e], relation, dst[e]);
      byDst.add(dst[e], relation, src[e]);
    }
  return { destinations: bySrc.lists(), sources: byDst.lists() };
}

/** Other ends of edges by (node, relation), for the pairs that are asked about. */
class Ends {
  readonly #nodes: Int32Array;
  readonly #relations: Int32Array | null;
  /** Most edges are none of these: a byte says so before a key is looked up. */
  readonly #isAsked: Uint8Array;
  readonly #found = new Map<number, number[]>();
  readonly #numNodes: number;

  constructor(nodes: Int32Array, relations: Int32Array | null, numNodes: number) {
    this.#nodes = nodes;
    this.#relations = relations;
    this.#numNodes = numNodes;
    this.#isAsked = new Uint8Array(numNodes);
    for (let i = 0; i < nodes.length; i++) {
      this.#isAsked[nodes[i]] = 1;
      this.#found.set(this.#key(nodes[i], relations === null ? 0 : relations[i]), []);
    }
  }

  /** Below 2^53: relations and nodes are below 2^31, and their product is of a graph that has an edge for each. */
  #key(node: number, relation: number): number {
    return relation * this.#numNodes + node;
  }

  add(node: number, relation: number, end: number): void {
    if (this.#isAsked[node] === 0) return;
    this.#found.get(this.#key(node, relation))?.push(end);
  }

  lists(): IdLists {
    for (const ends of this.#found.values()) ends.sort((a, b) => a - b);
    const nodes = this.#nodes;
    const of = (i: number): readonly number[] =>
      this.#found.get(this.#key(nodes[i], this.#relations === null ? 0 : this.#relations[i])) ?? [];
    const offsets = new Int32Array(nodes.length + 1);
    for (let i = 0; i < nodes.length; i++) offsets[i + 1] = offsets[i] + of(i).length;
    const ids = new Int32Array(offsets[nodes.length]);
    for (let i = 0; i < nodes.length; i++) ids.set(of(i), offsets[i]);
    return { offsets, ids };
  }
}

/**
 * How often each node is the source or the destination of training edges with a relation. Counting baselines rank by
 * these numbers, and nodes with a number above zero are what a relation was seen to point at.
 *
 * Memory: 12 bytes per distinct (relation, node) and direction, and as much again while edges are read.
 */
import type { EdgeList } from '../../../sample/one-hop-sampler.js';

/** The end of an edge that is predicted: its destination (tail) or its source (head). */
export type Direction = 'tail' | 'head';

/** Nodes at one end of a relation, ascending, and how often each occurs there. */
export interface RelationEnds {
  readonly nodes: Int32Array;
  readonly counts: Int32Array;
}

export class EndCounts {
  readonly numNodes: number;
  /** At least 1. */
  readonly numRelations: number;
  readonly #sides: Readonly<Record<Direction, CountedSide>>;

  private constructor(
    numNodes: number,
    numRelations: number,
    sides: Readonly<Record<Direction, CountedSide>>,
  ) {
    this.numNodes = numNodes;
    this.numRelations = numRelations;
    this.#sides = sides;
  }

  /** Counts the ends of edges in one pass. @param numRelations 0 or 1 for edges without relations. */
  static async read(
    edges: AsyncIterable<EdgeList>,
    numNodes: number,
    numRelations: number,
  ): Promise<EndCounts> {
    const tails = new PairCounter(numNodes);
    const heads = new PairCounter(numNodes);
    for await (const { src, dst, relations = null } of edges) {
      tails.add(dst, relations);
      heads.add(src, relations);
    }
    const relations = Math.max(1, numRelations);
    return new EndCounts(numNodes, relations, { tail: tails.side(relations), head: heads.side(relations) });
  }

  /** Returns the nodes that occur at an end of a relation. */
  of(relation: number, direction: Direction): RelationEnds {
    const { offsets, nodes, counts } = this.#sides[direction];
    const [begin, end] = [offsets[relation], offsets[relation + 1]];
    return { nodes: nodes.subarray(begin, end), counts: counts.subarray(begin, end) };
  }
}

/** Nodes and counts of one direction, sorted by (relation, node). */
interface CountedSide extends RelationEnds {
  /** The first position of each relation. */
  readonly offsets: Int32Array;
}

/** Fewest pairs that are sorted at a time. */
const fewestPairs = 2 ** 18;

/** Counts pairs (relation, node), with memory for the distinct ones. */
class PairCounter {
  readonly #numNodes: number;
  /** Distinct pairs so far as relation · numNodes + node, ascending. */
  #keys = new Float64Array(0);
  #counts = new Int32Array(0);
  #pending: Float64Array[] = [];
  #numPending = 0;

  constructor(numNodes: number) {
    this.#numNodes = numNodes;
  }

  add(nodes: Int32Array, relations: Int32Array | null): void {
    const keys = new Float64Array(nodes.length);
    for (let i = 0; i < keys.length; i++)
      keys[i] = (relations === null ? 0 : relations[i]) * this.#numNodes + nodes[i];
    this.#pending.push(keys);
    this.#numPending += keys.length;
    // Merging as many pairs as there are keeps the work proportional to the edges.
    if (this.#numPending >= Math.max(fewestPairs, this.#keys.length)) this.#merge();
  }

  side(numRelations: number): CountedSide {
    this.#merge();
    const keys = this.#keys;
    const offsets = new Int32Array(numRelations + 1);
    const nodes = new Int32Array(keys.length);
    for (let i = 0; i < keys.length; i++) {
      const relation = Math.floor(keys[i] / this.#numNodes);
      nodes[i] = keys[i] - relation * this.#numNodes;
      offsets[relation + 1]++;
    }
    for (let r = 0; r < numRelations; r++) offsets[r + 1] += offsets[r];
    return { offsets, nodes, counts: this.#counts };
  }

  #merge(): void {
    const added = new Float64Array(this.#numPending);
    let at = 0;
    for (const keys of this.#pending) {
      added.set(keys, at);
      at += keys.length;
    }
    added.sort();
    const [before, counted] = [this.#keys, this.#counts];
    const keys = new Float64Array(before.length + added.length);
    const counts = new Int32Array(keys.length);
    let size = 0;
    for (let i = 0, j = 0; i < before.length || j < added.length; ) {
      const isOld = j >= added.length || (i < before.length && before[i] <= added[j]);
      const key = isOld ? before[i] : added[j];
      if (size === 0 || keys[size - 1] !== key) keys[size++] = key;
      counts[size - 1] += isOld ? counted[i++] : 1;
      if (!isOld) j++;
    }
    this.#keys = keys.slice(0, size);
    this.#counts = counts.slice(0, size);
    this.#pending = [];
    this.#numPending = 0;
  }
}

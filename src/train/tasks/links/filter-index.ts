/**
 * The true edges by (node, relation), which filtered evaluation leaves out and filtered negatives avoid.
 *
 * Edges are sorted once by (node, relation, other end), each as a stable grouping, so a lookup is a binary search within
 * one node's edges. Memory: 8 bytes per edge and direction.
 */
import type { IdLists } from '../../../gnn/ops/id-lists.js';
import { kernels } from '../../../native/index.js';
import type { EdgeList } from '../../../sample/one-hop-sampler.js';

/** Edges by their first end: those of node n are from offsets[n] on, sorted by relation and second end. */
interface Side {
  readonly offsets: Int32Array;
  readonly relations: Int32Array | null;
  readonly ends: Int32Array;
}

export class FilterIndex {
  readonly #bySrc: Side;
  readonly #byDst: Side;

  constructor(edges: readonly EdgeList[], numNodes: number, numRelations: number) {
    const all = join(edges);
    const sorted = (from: Int32Array, to: Int32Array): Side =>
      sortSide(from, all.relations ?? null, to, numNodes, numRelations);
    this.#bySrc = sorted(all.src, all.dst);
    this.#byDst = sorted(all.dst, all.src);
  }

  /** Returns the true destinations of (nodes[i], relations[i]), or with `src` false the true sources. */
  lists(nodes: Int32Array, relations: Int32Array | null, tails: boolean): IdLists {
    const side = tails ? this.#bySrc : this.#byDst;
    const offsets = new Int32Array(nodes.length + 1);
    const starts = new Int32Array(nodes.length);
    for (let i = 0; i < nodes.length; i++) {
      const [begin, end] = rangeOf(side, nodes[i], relations === null ? 0 : relations[i]);
      starts[i] = begin;
      offsets[i + 1] = offsets[i] + end - begin;
    }
    const ids = new Int32Array(offsets[nodes.length]);
    for (let i = 0; i < nodes.length; i++)
      ids.set(side.ends.subarray(starts[i], starts[i] + offsets[i + 1] - offsets[i]), offsets[i]);
    return { offsets, ids };
  }

  /** Returns the true destinations of (node, relation), or with `tails` false the true sources: a view, ascending. */
  endsOf(node: number, relation: number, tails: boolean): Int32Array {
    const side = tails ? this.#bySrc : this.#byDst;
    const [begin, end] = rangeOf(side, node, relation);
    return side.ends.subarray(begin, end);
  }

  /** Returns the number of true destinations of (nodes[i], relations[i]), or with `tails` false of true sources. */
  counts(nodes: Int32Array, relations: Int32Array | null, tails: boolean): Int32Array {
    const side = tails ? this.#bySrc : this.#byDst;
    return nodes.map((node, i) => {
      const [begin, end] = rangeOf(side, node, relations === null ? 0 : relations[i]);
      return end - begin;
    });
  }

  /** Whether the edge is a true one. */
  has(src: number, relation: number, dst: number): boolean {
    const [begin, end] = rangeOf(this.#bySrc, src, relation);
    const at = lowerBound(this.#bySrc.ends, dst, begin, end);
    return at < end && this.#bySrc.ends[at] === dst;
  }
}

/** Sorts edges by (from, relation, to). */
export function sortSide(
  from: Int32Array,
  relations: Int32Array | null,
  to: Int32Array,
  numNodes: number,
  numRelations: number,
): Side {
  const n = from.length;
  let order = group(to, numNodes, null).order;
  if (relations !== null) order = group(relations, numRelations, order).order;
  const { order: final, offsets } = group(from, numNodes, order);
  const pick = (values: Int32Array) => gatherInts(values, final, n);
  return { offsets, relations: relations === null ? null : pick(relations), ends: pick(to) };
}

/** Sorts the numbers of `before` stably by key. */
function group(keys: Int32Array, count: number, before: Int32Array | null) {
  const n = keys.length;
  const ordered = before === null ? keys : gatherInts(keys, before, n);
  const offsets = new Int32Array(count + 1);
  const order = new Int32Array(n);
  kernels().groupByKey(ordered, offsets, order, n, count);
  return { offsets, order: before === null ? order : gatherInts(before, order, n) };
}

/** Returns the first n values at `ids`. */
export function gatherInts(values: Int32Array, ids: Int32Array, n: number): Int32Array {
  const out = new Int32Array(n);
  kernels().gatherRows(values, ids, out, n, 4);
  return out;
}

function rangeOf(side: Side, node: number, relation: number): [number, number] {
  const begin = side.offsets[node];
  const end = side.offsets[node + 1];
  if (side.relations === null) return [begin, end];
  return [
    lowerBound(side.relations, relation, begin, end),
    lowerBound(side.relations, relation + 1, begin, end),
  ];
}

function lowerBound(values: Int32Array, wanted: number, begin: number, end: number): number {
  let lo = begin;
  let hi = end;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (values[mid] < wanted) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

function join(lists: readonly EdgeList[]): EdgeList {
  if (lists.length === 1) return lists[0];
  const total = lists.reduce((sum, list) => sum + list.src.length, 0);
  const joined = (pick: (list: EdgeList) => Int32Array): Int32Array => {
    const all = new Int32Array(total);
    let at = 0;
    for (const list of lists) {
      all.set(pick(list), at);
      at += list.src.length;
    }
    return all;
  };
  const typed = lists.every((list) => (list.relations ?? null) !== null);
  return {
    src: joined((list) => list.src),
    dst: joined((list) => list.dst),
    relations: typed ? joined((list) => list.relations as Int32Array) : null,
  };
}

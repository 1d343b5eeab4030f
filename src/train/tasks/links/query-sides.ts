/**
 * Training edges grouped by query, once per set of edges: the distinct (source, relation) with their destinations, and the
 * distinct (destination, relation) with their sources. Each epoch draws rows from them: the answers of a query in random
 * order, split into runs of at most `cap`.
 */
import type { QueryRows } from '../../../gnn/decoders/query-rows.js';
import type { IdLists } from '../../../gnn/ops/id-lists.js';
import { kernels } from '../../../native/index.js';
import type { EdgeList } from '../../../sample/one-hop-sampler.js';
import type { Random } from '../../../util/philox.js';
import { gatherInts, sortSide } from './filter-index.js';

type Direction = QueryRows['direction'];

/** The rows of one direction in an epoch: row i has query queries[i] and answers[starts[i]] … answers[starts[i + 1] − 1]. */
export interface DrawnRows {
  readonly side: QuerySide;
  readonly queries: Int32Array;
  readonly starts: Int32Array;
  readonly answers: Int32Array;
}

/** The distinct queries of one direction, in the order of their entities and relations. */
export class QuerySide {
  readonly direction: Direction;
  readonly entities: Int32Array;
  readonly relations: Int32Array | null;
  /** The answers of query i are ends[offsets[i]] … ends[offsets[i + 1] − 1], ascending. */
  readonly offsets: Int32Array;
  readonly ends: Int32Array;
  /** The largest number of answers of a query. */
  readonly mostAnswers: number;
  #edgeQueries: Int32Array | null = null;
  #distinct: IdLists | null = null;

  constructor(edges: EdgeList, direction: Direction, numNodes: number, numRelations: number) {
    const { src, dst, relations = null } = edges;
    const [from, to] = direction === 'rhs' ? [src, dst] : [dst, src];
    const sorted = sortSide(from, relations, to, numNodes, Math.max(1, numRelations));
    const total = from.length;
    const starts = new Int32Array(total + 1);
    const entities = new Int32Array(total);
    let count = 0;
    for (let node = 0; node < numNodes; node++) {
      const end = sorted.offsets[node + 1];
      for (let i = sorted.offsets[node]; i < end; i++) {
        const isFirst = i === sorted.offsets[node];
        if (!isFirst && (sorted.relations === null || sorted.relations[i] === sorted.relations[i - 1]))
          continue;
        entities[count] = node;
        starts[count++] = i;
      }
    }
    starts[count] = total;
    this.direction = direction;
    this.ends = sorted.ends;
    this.offsets = starts.slice(0, count + 1);
    this.entities = entities.slice(0, count);
    const { relations: kinds } = sorted;
    this.relations = kinds === null ? null : gatherInts(kinds, this.offsets.subarray(0, count), count);
    let most = 0;
    for (let q = 0; q < count; q++) most = Math.max(most, starts[q + 1] - starts[q]);
    this.mostAnswers = most;
  }

  get numQueries(): number {
    return this.entities.length;
  }

  /** The distinct answers of each query, ascending. */
  get distinct(): IdLists {
    this.#distinct ??= withoutRepeats(this.offsets, this.ends);
    return this.#distinct;
  }

  /** Returns one row per query, with its distinct answers. */
  wholeQueries(): DrawnRows {
    const { offsets: starts, ids: answers } = this.distinct;
    return { side: this, queries: ascending(this.numQueries), starts, answers };
  }

  /** Returns the rows of an epoch, with at most `cap` answers each (−1: all). Without `random`, answers are ascending. */
  draw(cap: number, random: Random | null): DrawnRows {
    const { numQueries, offsets } = this;
    // A query in one row has all its answers there, in whatever order.
    if (cap <= 0 || this.mostAnswers <= cap)
      return { side: this, queries: ascending(numQueries), starts: offsets, answers: this.ends };
    let count = 0;
    for (let q = 0; q < numQueries; q++) count += Math.ceil((offsets[q + 1] - offsets[q]) / cap);
    const queries = new Int32Array(count);
    const starts = new Int32Array(count + 1);
    let row = 0;
    for (let q = 0; q < numQueries; q++) {
      for (let at = offsets[q]; at < offsets[q + 1]; at += cap) {
        queries[row] = q;
        starts[row++] = at;
      }
    }
    starts[count] = this.ends.length;
    return { side: this, queries, starts, answers: random === null ? this.ends : this.#shuffled(random) };
  }

  /** Returns the answers of each query in random order: a random order of all edges, grouped stably by query. */
  #shuffled(random: Random): Int32Array {
    const n = this.ends.length;
    const order = new Int32Array(n);
    kernels().randomPermutation(order, n, random.key);
    const keys = gatherInts(this.#queryOfEdge(), order, n);
    const grouped = new Int32Array(n);
    const offsets = new Int32Array(this.numQueries + 1);
    kernels().groupByKey(keys, offsets, grouped, n, this.numQueries);
    return gatherInts(this.ends, gatherInts(order, grouped, n), n);
  }

  #queryOfEdge(): Int32Array {
    if (this.#edgeQueries !== null) return this.#edgeQueries;
    const found = new Int32Array(this.ends.length);
    for (let q = 0; q < this.numQueries; q++) found.fill(q, this.offsets[q], this.offsets[q + 1]);
    this.#edgeQueries = found;
    return found;
  }
}

/** Returns the queries of some rows, with their answers in the epoch and, if requested, all their training answers. */
export function pickRows(
  { side, queries, starts, answers }: DrawnRows,
  rows: Int32Array,
  known: boolean,
): QueryRows {
  const picked = gatherInts(queries, rows, rows.length);
  const { direction, entities, relations } = side;
  return {
    direction,
    entities: gatherInts(entities, picked, picked.length),
    relations: relations === null ? null : gatherInts(relations, picked, picked.length),
    answers: pickLists(starts, answers, rows),
    known: known ? pickLists(side.distinct.offsets, side.distinct.ids, picked) : null,
  };
}

function pickLists(offsets: Int32Array, ids: Int32Array, rows: Int32Array): IdLists {
  const found = new Int32Array(rows.length + 1);
  for (let i = 0; i < rows.length; i++) found[i + 1] = found[i] + offsets[rows[i] + 1] - offsets[rows[i]];
  const out = new Int32Array(found[rows.length]);
  for (let i = 0; i < rows.length; i++)
    out.set(ids.subarray(offsets[rows[i]], offsets[rows[i] + 1]), found[i]);
  return { offsets: found, ids: out };
}

/** Returns ascending lists without repeated ids. */
function withoutRepeats(offsets: Int32Array, ids: Int32Array): IdLists {
  const found = new Int32Array(offsets.length);
  const out = new Int32Array(ids.length);
  let count = 0;
  for (let q = 0; q + 1 < offsets.length; q++) {
    for (let i = offsets[q]; i < offsets[q + 1]; i++)
      if (i === offsets[q] || ids[i] !== ids[i - 1]) out[count++] = ids[i];
    found[q + 1] = count;
  }
  return count === ids.length ? { offsets, ids } : { offsets: found, ids: out.slice(0, count) };
}

function ascending(count: number): Int32Array {
  const ids = new Int32Array(count);
  for (let i = 0; i < count; i++) ids[i] = i;
  return ids;
}

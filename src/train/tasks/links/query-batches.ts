/**
 * Batches of one-against-all training (`training.form`): the rows of an epoch in random order, as many per batch as have
 * `batchSize` answers together. Each edge is trained once per epoch and direction. The batches depend on the seed, the epoch
 * and the buffer state alone, and can start at any row.
 */
import type { QueryRows } from '../../../gnn/decoders/query-rows.js';
import { kernels } from '../../../native/index.js';
import type { EdgeList } from '../../../sample/one-hop-sampler.js';
import { checkInteger } from '../../../util/errors.js';
import { checkOptionNames } from '../../../util/option-names.js';
import { Random } from '../../../util/philox.js';
import { streams } from '../graph/batch/samplers.js';
import type { GraphStorage } from '../graph/storage/graph-storage.js';
import { type DrawnRows, pickRows, QuerySide } from './query-sides.js';

export interface QueryBatchesOptions {
  /** Answers of a batch, or with `wholeQueries` queries of a batch (default 1000). */
  readonly batchSize?: number;
  /** The most answers per row (default 16); −1: all. */
  readonly maxAnswers?: number;
  /** Train each query with all its answers, and count queries (default false). */
  readonly wholeQueries?: boolean;
  /** Return all training answers of each query (default false). */
  readonly known?: boolean;
  readonly seed?: number;
  /** false takes rows in the order of their entities (default true). */
  readonly shuffle?: boolean;
}

/** The queries of a batch: those with destinations to predict, then those with sources. */
export interface QueryBatch {
  readonly queries: readonly QueryRows[];
  readonly rows: number;
  readonly answers: number;
}

/** The rows of an epoch and buffer state: those of both directions, in their order of training. */
interface Epoch {
  readonly key: string;
  readonly drawn: readonly DrawnRows[];
  /** Row numbers; those of the second direction follow those of the first. */
  readonly order: Int32Array;
}

/** The edges of a buffer state, grouped in both directions. */
interface GroupedEdges {
  readonly edges: EdgeList;
  readonly sides: readonly QuerySide[];
  /** Local ids of the rows that queries are compared with. */
  readonly rows: Int32Array;
}

export class QueryBatches {
  readonly #storage: GraphStorage;
  readonly #batchSize: number;
  readonly #cap: number;
  readonly #wholeQueries: boolean;
  readonly #known: boolean;
  readonly #random: Random;
  readonly #shuffle: boolean;
  #grouped: GroupedEdges | null = null;
  #epoch: Epoch | null = null;

  constructor(storage: GraphStorage, options: QueryBatchesOptions = {}) {
    const where = 'QueryBatches';
    checkOptionNames(where, options, {
      ...{ batchSize: true, maxAnswers: true, wholeQueries: true, known: true, seed: true, shuffle: true },
    });
    this.#storage = storage;
    this.#wholeQueries = options.wholeQueries ?? false;
    this.#batchSize = checkInteger(where, 'batchSize', options.batchSize ?? 1000, 1);
    this.#cap = checkInteger(where, 'maxAnswers', options.maxAnswers ?? 16, -1);
    this.#known = options.known ?? false;
    this.#random = new Random(options.seed ?? 0, streams.queries);
    this.#shuffle = options.shuffle ?? true;
  }

  /** Identifies the rows of an epoch, which a position counts. */
  get key(): string {
    if (this.#wholeQueries) return 'whole queries';
    return this.#cap < 1 ? 'queries with all answers' : `queries with up to ${this.#cap} answers`;
  }

  /** The local ids of the rows that queries are compared with: all resident ones. */
  get candidates(): Int32Array {
    return this.#group().rows;
  }

  /** Returns the number of rows of an epoch in the resident buffer state. */
  count(epoch: number): number {
    return this.#rowsOf(epoch).order.length;
  }

  /** Returns the batch that starts at row `cursor` of an epoch. */
  draw(epoch: number, cursor: number): QueryBatch {
    const { drawn, order } = this.#rowsOf(epoch);
    const first = drawn[0].queries.length;
    const lists: [number[], number[]] = [[], []];
    let answers = 0;
    let at = cursor;
    const isFull = (): boolean => (this.#wholeQueries ? at - cursor : answers) >= this.#batchSize;
    for (; at < order.length && !isFull(); at++) {
      const side = order[at] < first ? 0 : 1;
      const row = order[at] - side * first;
      lists[side].push(row);
      answers += drawn[side].starts[row + 1] - drawn[side].starts[row];
    }
    const queries = drawn.flatMap((rows, side) =>
      lists[side].length === 0 ? [] : pickRows(rows, Int32Array.from(lists[side]), this.#known),
    );
    return { queries, rows: at - cursor, answers };
  }

  #rowsOf(epoch: number): Epoch {
    const { sides } = this.#group();
    const { state } = this.#storage;
    const key = `${epoch}.${state}`;
    if (this.#epoch?.key === key && this.#epoch.drawn[0].side === sides[0]) return this.#epoch;
    const random = this.#random.split(epoch).split(state);
    const drawn = sides.map((side, i) =>
      this.#wholeQueries
        ? side.wholeQueries()
        : side.draw(this.#cap, this.#shuffle ? random.split(1 + i) : null),
    );
    const total = drawn.reduce((sum, { queries }) => sum + queries.length, 0);
    const order = new Int32Array(total);
    if (this.#shuffle) kernels().randomPermutation(order, total, random.split(0).key);
    else for (let i = 0; i < total; i++) order[i] = i;
    this.#epoch = { key, drawn, order };
    return this.#epoch;
  }

  /** Groups the edges of the buffer state; those of a graph in memory are grouped once. */
  #group(): GroupedEdges {
    const storage = this.#storage;
    const edges = storage.activeEdges;
    if (this.#grouped?.edges === edges) return this.#grouped;
    const { rows, rowOf } = tableRows(storage);
    const moved = rowOf === null ? edges : moveEnds(edges, rowOf);
    const sides = (['rhs', 'lhs'] as const).map(
      (direction) => new QuerySide(moved, direction, rows.length, storage.numRelations),
    );
    this.#grouped = { edges, sides, rows };
    return this.#grouped;
  }
}

/**
 * Returns the local ids of all resident rows, and the position of each among them; null where position and id are equal. A
 * short partition leaves a gap after its rows in the buffer.
 */
function tableRows({ residency }: GraphStorage): {
  readonly rows: Int32Array;
  readonly rowOf: Int32Array | null;
} {
  const ranges = [...residency.residentRanges()].sort((a, b) => a.localStart - b.localStart);
  const rows = new Int32Array(ranges.reduce((sum, range) => sum + range.rows, 0));
  let at = 0;
  for (const { localStart, rows: count } of ranges)
    for (let i = 0; i < count; i++) rows[at++] = localStart + i;
  if (at === 0 || rows[at - 1] === at - 1) return { rows, rowOf: null };
  const rowOf = new Int32Array(residency.numLocalRows).fill(-1);
  for (let i = 0; i < at; i++) rowOf[rows[i]] = i;
  return { rows, rowOf };
}

function moveEnds({ src, dst, relations = null }: EdgeList, rowOf: Int32Array): EdgeList {
  return { src: src.map((id) => rowOf[id]), dst: dst.map((id) => rowOf[id]), relations };
}

/**
 * The highest scores of many queries over blocks of nodes: a bounded heap per query. A kernel finds the maximum of each group
 * of rows; groups whose maximum does not exceed a query's lowest kept score are not read, so that searching a table costs
 * little more than the product that scores it.
 */
import { type FloatArray, kernels, reduceCode } from '../../native/index.js';

export interface ScoredNode {
  readonly id: number;
  readonly score: number;
}

/** The nodes that a query keeps. */
export interface BestOptions {
  /** Maximum number of nodes. */
  readonly count: number;
  /** Nodes to leave out. */
  readonly exclude?: ReadonlySet<number> | undefined;
}

/** Scores of a block: that of row i for query q is scores[i · rowStride + q · queryStride]. */
export interface BlockScores {
  readonly scores: FloatArray;
  readonly rowStride: number;
  readonly queryStride: number;
}

/** Nodes of a block that take part, ascending and after those of the blocks before. */
export interface BlockNodes {
  readonly first: number;
  readonly count: number;
  /** Null for first … first + count − 1. */
  readonly ids: Int32Array | null;
  /** Whether row i is that of ids[i]; otherwise it is that of node first + i. */
  readonly isGathered: boolean;
}

/** Rows whose maximum decides whether they are read. */
const groupRows = 128;

export class BestScores {
  readonly #heaps: Heap[];
  /** The lowest score of each full heap; NaN, which no score is at most, before. */
  readonly #limits: Float64Array;

  constructor(queries: readonly BestOptions[]) {
    this.#heaps = queries.map((query) => new Heap(query));
    this.#limits = new Float64Array(queries.length).fill(Number.NaN);
  }

  /** Takes the scores of a block. NaN is never kept; among equal scores the lower node is. */
  offer(block: BlockScores, nodes: BlockNodes): void {
    const limits = this.#limits;
    const { ids, first, count, isGathered } = nodes;
    const isMasked = ids !== null && !isGathered;
    const rows = isMasked ? ids[count - 1] - first + 1 : count;
    const maxima = this.#maximaOf(block, rows);
    for (let group = 0, from = 0; group * groupRows < rows; group++) {
      const last = Math.min((group + 1) * groupRows, rows);
      // The nodes of the group: as many as its rows, or some of them.
      let to = last;
      if (isMasked) for (to = from; to < count && ids[to] - first < last; ) to++;
      for (let q = 0; q < limits.length; q++)
        if (maxima === null || !(maxima[group * limits.length + q] <= limits[q]))
          this.#scan(block, nodes, q, from, to);
      from = to;
    }
  }

  /** Offers the nodes from … to − 1 of a block to a query. */
  #scan(
    { scores, rowStride, queryStride }: BlockScores,
    { first, ids, isGathered }: BlockNodes,
    q: number,
    from: number,
    to: number,
  ): void {
    let limit = this.#limits[q];
    for (let i = from; i < to; i++) {
      const id = ids === null ? first + i : ids[i];
      const score = scores[(isGathered ? i : id - first) * rowStride + q * queryStride];
      if (!(score <= limit)) limit = this.#heaps[q].offer(id, score);
    }
    this.#limits[q] = limit;
  }

  /** Returns the highest score of each group and query; null for scores that are not stored by rows. */
  #maximaOf({ scores, rowStride, queryStride }: BlockScores, rows: number): Float32Array | null {
    const queries = this.#limits.length;
    if (queryStride !== 1 || rowStride !== queries || !(scores instanceof Float32Array)) return null;
    const whole = Math.floor(rows / groupRows);
    const maxima = new Float32Array((whole + 1) * queries);
    const [max, rest] = [reduceCode.max, rows - whole * groupRows];
    kernels().reduce(max, scores, maxima, whole, groupRows, queries);
    if (rest > 0) {
      const last = scores.subarray(whole * groupRows * queries, rows * queries);
      kernels().reduce(max, last, maxima.subarray(whole * queries), 1, rest, queries);
    }
    return maxima;
  }

  /** Returns the nodes of each query, best first. */
  results(): ScoredNode[][] {
    return this.#heaps.map((heap) => heap.sorted());
  }
}

/** A heap with the worst node on top: the lowest score, and among equals the highest id. */
class Heap {
  readonly #count: number;
  readonly #exclude: ReadonlySet<number> | undefined;
  readonly #ids: number[] = [];
  readonly #scores: number[] = [];

  constructor({ count, exclude }: BestOptions) {
    this.#count = count;
    this.#exclude = exclude;
  }

  /** Adds a node that is later than all before; returns the score that the next one must exceed, NaN for any. */
  offer(id: number, score: number): number {
    const scores = this.#scores;
    if (!Number.isNaN(score) && this.#exclude?.has(id) !== true) {
      if (scores.length < this.#count) this.#rise(id, score);
      else if (score > scores[0]) this.#sink(id, score);
    }
    return scores.length < this.#count ? Number.NaN : scores[0];
  }

  sorted(): ScoredNode[] {
    return this.#ids
      .map((id, i) => ({ id, score: this.#scores[i] }))
      .sort((a, b) => (a.score === b.score ? a.id - b.id : a.score < b.score ? 1 : -1));
  }

  /** Adds a node at the end. */
  #rise(id: number, score: number): void {
    let at = this.#ids.length;
    this.#ids.push(id);
    this.#scores.push(score);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isWorse(id, score, parent)) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#ids[at] = id;
    this.#scores[at] = score;
  }

  /** Replaces the worst node. */
  #sink(id: number, score: number): void {
    const size = this.#ids.length;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const other = child + 1;
      if (other < size && this.#isWorse(this.#ids[other], this.#scores[other], child)) child = other;
      if (!this.#isWorse(this.#ids[child], this.#scores[child], -1, id, score)) break;
      this.#move(child, at);
      at = child;
    }
    this.#ids[at] = id;
    this.#scores[at] = score;
  }

  #move(from: number, to: number): void {
    this.#ids[to] = this.#ids[from];
    this.#scores[to] = this.#scores[from];
  }

  /** Returns whether a node is worse than that at a position, or than the given one. */
  #isWorse(
    id: number,
    score: number,
    position: number,
    otherId = this.#ids[position],
    other = this.#scores[position],
  ): boolean {
    return score < other || (score === other && id > otherId);
  }
}

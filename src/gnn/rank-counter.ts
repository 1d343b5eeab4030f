/**
 * Ranks of true nodes among all others, without a matrix of all scores: tiles of nodes are streamed, and for each query
 * two counters grow: nodes that scored higher than its positive, and nodes that scored the same. The positive itself
 * and filtered nodes are never counted, exactly, because a node's score has the same bits in every tile.
 */
import { type FloatArray, kernels, type ScoreOp, scoreCode } from '../native/index.js';
import { fromTypedArray, noGrad, scope, slice, type Tensor } from '../tensor/index.js';
import { checkIds, pack } from '../tensor/ops/common.js';
import { formatShape } from '../tensor/shape.js';
import { checkInteger, expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type { Comparator } from './decoders/comparator.js';
import { normalizeRows } from './ops/index.js';

/** Nodes to exclude: for query q those at offsets[q] … offsets[q+1]−1, ascending. */
export interface FilterLists {
  readonly offsets: Int32Array;
  readonly ids: Int32Array;
}

/** Per query: candidates that scored higher than the positive, candidates that scored the same, and all candidates. */
export interface RankCounts {
  readonly greater: Int32Array;
  readonly equal: Int32Array;
  readonly candidates: Int32Array;
}

export interface RankCounterOptions {
  /** Rows of the true nodes, [Q, d]. */
  readonly target: Tensor;
  readonly targetIds: Int32Array;
  readonly filter?: FilterLists | null;
}

/** Queries per block with custom comparators, to bound the scores in memory. */
const blockQueries = 256;

/**
 * @example
 * const counter = new RankCounter(decoder.comparator, query, { target, targetIds, filter });
 * for (const { first, rows } of tiles) counter.add(rows, first);
 * const { greater, equal } = counter.counts(); // rank 1 + greater, and those of equal score
 */
export class RankCounter {
  readonly #comparator: Comparator;
  readonly #query: FloatArray;
  readonly #positive: FloatArray;
  readonly #targetIds: Int32Array;
  readonly #filter: FilterLists | null;
  readonly #greater: Int32Array;
  readonly #equal: Int32Array;
  readonly #width: number;
  /** Node ranges that have been counted: [from, to). */
  readonly #seen: [number, number][] = [];

  constructor(comparator: Comparator, query: Tensor, options: RankCounterOptions) {
    checkOptionNames('RankCounter', options, { target: true, targetIds: true, filter: true });
    const { target, targetIds, filter = null } = options;
    if (
      query.rank !== 2 ||
      target.shape.join() !== query.shape.join() ||
      targetIds.length !== query.shape[0]
    ) {
      const got = `${formatShape(query.shape)}, ${formatShape(target.shape)} and ${targetIds.length} ids`;
      throw new ShapeError(
        expected('RankCounter', '[Q, d], [Q, d] and Q ids', 'query, target, targetIds', got),
      );
    }
    const [queries, width] = query.shape;
    checkFilter(filter, queries);
    this.#comparator = comparator;
    this.#targetIds = targetIds.slice();
    this.#filter = filter;
    this.#width = width;
    this.#greater = new Int32Array(queries);
    this.#equal = new Int32Array(queries);
    [this.#query, this.#positive] = this.#detach(query, target);
  }

  /** Counts one tile of nodes: rows [T, d] of the nodes first, first + 1, …; each node is counted once. */
  add(rows: Tensor, first: number): void {
    checkInteger('RankCounter.add', 'first', first);
    if (rows.rank !== 2 || rows.shape[1] !== this.#width)
      throw new ShapeError(
        expected('RankCounter.add', `rows of ${this.#width} numbers`, 'rows', formatShape(rows.shape)),
      );
    const count = rows.shape[0];
    if (this.#seen.some(([from, to]) => first < to && from < first + count))
      throw new ValueError(expected('RankCounter.add', 'nodes that have not been counted', 'first', first));
    scope(() => noGrad(() => this.#count(rows, first, count)));
    const last = this.#seen[this.#seen.length - 1];
    if (last !== undefined && last[1] === first) last[1] += count;
    else this.#seen.push([first, first + count]);
  }

  /** Returns the counts so far. */
  counts(): RankCounts {
    const candidates = new Int32Array(this.#targetIds.length);
    for (const [from, to] of this.#seen) this.#countCandidates(candidates, from, to);
    return { greater: this.#greater.slice(), equal: this.#equal.slice(), candidates };
  }

  /**
   * Adds the number of candidates among the nodes from … to − 1 for each query: not its target, not those of its filter
   * list.
   */
  #countCandidates(candidates: Int32Array, from: number, to: number): void {
    const offsets = this.#filter?.offsets ?? null;
    const ids = this.#filter?.ids ?? null;
    for (let q = 0; q < candidates.length; q++) {
      const own = this.#targetIds[q];
      let left = own >= from && own < to ? to - from - 1 : to - from;
      if (offsets !== null && ids !== null) {
        let before = -1;
        for (let k = offsets[q]; k < offsets[q + 1]; k++) {
          const id = ids[k];
          if (id !== before && id !== own && id >= from && id < to) left--;
          before = id;
        }
      }
      candidates[q] += left;
    }
  }

  /** Copies queries and positive scores, so that no scope disposes them. */
  #detach(query: Tensor, target: Tensor): [FloatArray, FloatArray] {
    return scope(() =>
      noGrad(() => {
        const cosine = this.#comparator.comparison === 'cosine';
        const [a, b] = cosine ? [normalizeRows(query), normalizeRows(target)] : [query, target];
        const op = this.#op;
        if (op === null) return [pack(a).slice(), pack(this.#comparator.pairs(a, b)).slice()];
        const data = pack(a).slice();
        const positive =
          data instanceof Float32Array ? new Float32Array(query.shape[0]) : new Float64Array(query.shape[0]);
        kernels().pairScores(op, data, pack(b), positive, query.shape[0], this.#width);
        return [data, positive];
      }),
    ) as [FloatArray, FloatArray];
  }

  /** The kernel's code of the comparator; null for a custom one. */
  get #op(): number | null {
    const { comparison } = this.#comparator;
    if (comparison === null) return null;
    return scoreCode[comparison === 'cosine' ? 'dot' : (comparison as ScoreOp)];
  }

  #count(rows: Tensor, first: number, count: number): void {
    if (count === 0) return;
    const op = this.#op;
    if (op === null) {
      this.#countScores(rows, first, count);
      return;
    }
    const tile = pack(this.#comparator.comparison === 'cosine' ? normalizeRows(rows) : rows);
    if (tile instanceof Float32Array !== this.#query instanceof Float32Array)
      throw new ValueError(expected('RankCounter.add', 'the dtype of the queries', 'rows', rows.dtype));
    kernels().rankTile({
      op,
      query: this.#query,
      positive: this.#positive,
      positiveIds: this.#targetIds,
      tile,
      first,
      filterOffsets: this.#filter?.offsets ?? null,
      filterIds: this.#filter?.ids ?? null,
      greater: this.#greater,
      equal: this.#equal,
      queries: this.#targetIds.length,
      width: this.#width,
      count,
    });
  }

  #countScores(rows: Tensor, first: number, count: number): void {
    const all = fromTypedArray(this.#query, [this.#targetIds.length, this.#width]);
    const ids = Int32Array.from({ length: count }, (_, i) => i);
    for (let from = 0; from < this.#targetIds.length; from += blockQueries) {
      const to = Math.min(from + blockQueries, this.#targetIds.length);
      const scores = scope(() => pack(this.#comparator.chunks(slice(all, from, to), rows, ids, 1)).slice());
      for (let q = from; q < to; q++) this.#countRow(scores.subarray((q - from) * count), q, first, count);
    }
  }

  #countRow(scores: FloatArray, q: number, first: number, count: number): void {
    const skip = new Set([this.#targetIds[q] - first]);
    if (this.#filter !== null) {
      const { offsets, ids } = this.#filter;
      for (let k = offsets[q]; k < offsets[q + 1]; k++) skip.add(ids[k] - first);
    }
    for (let j = 0; j < count; j++) {
      if (skip.has(j)) continue;
      if (!(scores[j] <= this.#positive[q])) this.#greater[q]++;
      else if (scores[j] === this.#positive[q]) this.#equal[q]++;
    }
  }
}

function checkFilter(filter: FilterLists | null, queries: number): void {
  if (filter === null) return;
  const { offsets, ids } = filter;
  if (offsets.length !== queries + 1 || offsets[0] !== 0 || offsets[queries] !== ids.length)
    throw new ShapeError(
      expected('RankCounter', `${queries + 1} offsets from 0 to ${ids.length}`, 'filter', offsets.length),
    );
  checkIds('RankCounter', 'filter.ids', ids, 2 ** 31 - 1);
  for (let q = 0; q < queries; q++) {
    if (offsets[q + 1] < offsets[q])
      throw new ValueError(
        expected('RankCounter', 'ascending offsets', 'filter', `${offsets[q + 1]} after ${offsets[q]}`),
      );
    for (let k = offsets[q] + 1; k < offsets[q + 1]; k++)
      if (ids[k] < ids[k - 1])
        throw new ValueError(
          expected('RankCounter', 'ascending ids for each query', 'filter', `${ids[k]} after ${ids[k - 1]}`),
        );
  }
}

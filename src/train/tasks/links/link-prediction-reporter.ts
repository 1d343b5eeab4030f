/**
 * Ranks of true edges among negative ones, and their metrics: over all, by relation, by direction.
 *
 * The rank of an edge is 1 + the negatives that score higher + a fraction of those that score the same: none (OPTIMISTIC),
 * half (REALISTIC) or all (PESSIMISTIC, as Marius counts).
 */
import type { WorkerGroup } from '../../../dist/index.js';
import type { Tensor } from '../../../tensor/index.js';
import { describe, expected, ShapeError, ValueError } from '../../../util/errors.js';
import { checkOptionNames } from '../../../util/option-names.js';
import type { TieRule } from '../../config/types.js';
import { metricByName, metricValue, RankingMetric, standardMetrics } from '../../run/metric.js';
import { type MetricValues, Reporter } from '../../run/reporter.js';

/** Scores of negatives at or below this are masked: they form a known edge and are ignored. */
const masked = -1e9;

/** Details of the edges of one call. */
export interface RankDetails {
  /** The relation of each edge. */
  readonly relations?: ArrayLike<number>;
  /** The end that was replaced: the destination (tail) or the source (head). */
  readonly direction?: 'tail' | 'head';
  /** The position of the first of them among the results of all workers; default: after those so far. */
  readonly position?: number;
}

export interface LinkPredictionReporterOptions {
  /** Default REALISTIC. */
  readonly ties?: TieRule;
  /** Names as in `evaluation.metrics`, or custom metrics. Default MRR, MR and Hits@1, 3, 5, 10, 50, 100. */
  readonly metrics?: readonly (string | RankingMetric)[];
}

const standard = standardMetrics('LINK_PREDICTION');
const tieShare: Readonly<Record<TieRule, number>> = { OPTIMISTIC: 0, REALISTIC: 0.5, PESSIMISTIC: 1 };

export class LinkPredictionReporter extends Reporter<RankingMetric> {
  readonly ties: TieRule;
  #ranks = new Float64Array(1024);
  #candidates = new Float64Array(1024);
  /** Relation of each result, -1 unknown. */
  #relations = new Int32Array(1024);
  /** 0 unknown, 1 tail, 2 head. */
  #directions = new Uint8Array(1024);
  /** Ascending in the order that one worker has. */
  #positions = new Float64Array(1024);
  #size = 0;

  constructor(options: LinkPredictionReporterOptions = {}) {
    super();
    checkOptionNames('LinkPredictionReporter', options, { ties: true, metrics: true });
    const { ties = 'REALISTIC', metrics = standard } = options;
    this.ties = ties;
    for (const given of metrics) {
      const metric = typeof given === 'string' ? metricByName(given) : given;
      if (!(metric instanceof RankingMetric))
        throw new ValueError(expected('LinkPredictionReporter', 'metrics of ranks', 'metrics', metric.name));
      this.addMetric(metric);
    }
  }

  override get size(): number {
    return this.#size;
  }

  /** Ranks so far, in the order of the calls. */
  get ranks(): Float64Array {
    return this.ranksFrom(0);
  }

  /** Returns the ranks from `first` on. */
  ranksFrom(first: number): Float64Array {
    return this.#ranks.slice(first, this.#size);
  }

  /**
   * Adds the scores of true edges [B] and of the negatives that each is compared with [B, n]. Scores of negatives of -1e9
   * and less are masked.
   */
  addResult(
    positive: Tensor | ArrayLike<number>,
    negative: Tensor | ArrayLike<number>,
    details: RankDetails = {},
  ): void {
    const pos = scores(positive);
    const neg = scores(negative);
    const count = pos.length;
    const n = count === 0 ? 0 : neg.length / count;
    if (!Number.isInteger(n))
      throw new ShapeError(
        expected(
          'addResult',
          `a multiple of ${count} scores`,
          'negative',
          neg.length,
          'Each right edge needs as many.',
        ),
      );
    const greater = new Float64Array(count);
    const equal = new Float64Array(count);
    const candidates = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      const score = pos[i];
      if (Number.isNaN(score))
        throw new ValueError(`addResult: expected numbers for positive, got NaN at row ${i}.`);
      for (let j = i * n; j < (i + 1) * n; j++) {
        const other = neg[j];
        if (Number.isNaN(other))
          throw new ValueError(`addResult: expected numbers for negative, got NaN at row ${i}.`);
        if (other <= masked) continue;
        candidates[i]++;
        if (other > score) greater[i]++;
        else if (other === score) equal[i]++;
      }
    }
    this.addCounts(greater, equal, candidates, details);
  }

  /** Adds edges whose higher and equal candidates were counted by the caller. `candidates`: per edge, or the same for all. */
  addCounts(
    greater: ArrayLike<number>,
    equal: ArrayLike<number>,
    candidates: ArrayLike<number> | number,
    { relations, direction, position = this.#size }: RankDetails = {},
  ): void {
    const count = greater.length;
    for (const [name, values] of Object.entries({ equal, candidates, relations }))
      if (typeof values === 'object' && values.length !== count)
        throw new ShapeError(expected('addCounts', `${count} numbers`, name, values.length));
    this.#reserve(this.#size + count);
    const share = tieShare[this.ties];
    for (let i = 0; i < count; i++) {
      const at = this.#size + i;
      this.#ranks[at] = 1 + greater[i] + share * equal[i];
      this.#candidates[at] = typeof candidates === 'number' ? candidates : candidates[i];
      this.#relations[at] = relations === undefined ? -1 : relations[i];
      this.#directions[at] = direction === undefined ? 0 : direction === 'tail' ? 1 : 2;
      this.#positions[at] = position + i;
    }
    this.#size += count;
  }

  /** Gives every worker the results of all, in the order of a single worker, so that metrics have the same bits. Collective. */
  shareResults(group: WorkerGroup): void {
    const own = (values: Float64Array | Int32Array | Uint8Array) => values.slice(0, this.#size);
    const parts = group.gather([
      own(this.#positions),
      own(this.#ranks),
      own(this.#candidates),
      own(this.#relations),
      own(this.#directions),
    ]);
    const [positions, ranks, candidates, relations, directions] = [0, 1, 2, 3, 4].map((k) =>
      parts.flatMap((part) => Array.from(part[k])),
    );
    this.#reserve(positions.length);
    this.#size = positions.length;
    const order = Float64Array.from(positions.keys()).sort((a, b) => positions[a] - positions[b]);
    for (const [at, i] of order.entries()) {
      this.#positions[at] = positions[i];
      this.#ranks[at] = ranks[i];
      this.#candidates[at] = candidates[i];
      this.#relations[at] = relations[i];
      this.#directions[at] = directions[i];
    }
  }

  override results(): MetricValues {
    return this.#compute(this.#ranks.subarray(0, this.#size), this.#candidates.subarray(0, this.#size));
  }

  /** Metrics of the edges of each relation, by relation. */
  resultsByRelation(): Map<number, MetricValues & { readonly count: number }> {
    return this.#grouped(this.#relations, (relation) => (relation < 0 ? undefined : relation));
  }

  /** Metrics by the end that was replaced. */
  resultsByDirection(): Map<'tail' | 'head', MetricValues & { readonly count: number }> {
    const names = [undefined, 'tail', 'head'] as const;
    return this.#grouped(this.#directions, (direction) => names[direction]);
  }

  override clear(): void {
    this.#size = 0;
  }

  #compute(ranks: Float64Array, candidates: Float64Array): MetricValues {
    const value = (metric: RankingMetric): number =>
      metricValue(metric, [ranks, candidates], (of, among) => metric.compute(of, among));
    return Object.fromEntries(this.metrics.map((metric) => [metric.name, value(metric)]));
  }

  #grouped<K extends string | number>(
    keys: ArrayLike<number>,
    nameOf: (key: number) => K | undefined,
  ): Map<K, MetricValues & { readonly count: number }> {
    const members = new Map<number, number[]>();
    for (let i = 0; i < this.#size; i++) {
      const list = members.get(keys[i]);
      if (list === undefined) members.set(keys[i], [i]);
      else list.push(i);
    }
    const grouped = new Map<K, MetricValues & { readonly count: number }>();
    for (const [key, rows] of [...members].sort(([a], [b]) => a - b)) {
      const name = nameOf(key);
      if (name === undefined) continue;
      const pick = (values: Float64Array): Float64Array => Float64Array.from(rows, (i) => values[i]);
      grouped.set(name, { ...this.#compute(pick(this.#ranks), pick(this.#candidates)), count: rows.length });
    }
    return grouped;
  }

  #reserve(size: number): void {
    if (size <= this.#ranks.length) return;
    const length = Math.max(size, 2 * this.#ranks.length);
    const grown = <T extends Float64Array | Int32Array | Uint8Array>(old: T, bigger: T): T => {
      bigger.set(old);
      return bigger;
    };
    this.#ranks = grown(this.#ranks, new Float64Array(length));
    this.#candidates = grown(this.#candidates, new Float64Array(length));
    this.#relations = grown(this.#relations, new Int32Array(length));
    this.#directions = grown(this.#directions, new Uint8Array(length));
    this.#positions = grown(this.#positions, new Float64Array(length));
  }
}

function scores(given: Tensor | ArrayLike<number>): ArrayLike<number> {
  if ('dataSync' in given) return given.dataSync() as ArrayLike<number>;
  if (typeof given.length !== 'number')
    throw new ValueError(`addResult: expected a tensor or a list of scores, got ${describe(given)}.`);
  return given;
}

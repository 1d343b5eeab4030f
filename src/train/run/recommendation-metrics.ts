/**
 * Metrics of recommendations: for each user, the k best items that the user has not seen, compared with the items that were
 * held out. Means are over users with held-out items.
 */
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { Metric } from './base-metric.js';

/** Recommended items of some users. A user is a head and a relation; items are tails. */
export interface RecommendedLists {
  /** Length of a list; at least the k of every metric. */
  readonly length: number;
  /** The items of each user, best first, [users, length]; −1 after the last if there are fewer. */
  readonly items: Int32Array;
  /** 1 where an item is one of the user's held-out items, [users, length]. */
  readonly hits: Uint8Array;
  /** The number of held-out items of each user, at least 1. */
  readonly relevant: Int32Array;
  /** The number of different items that can be recommended. */
  readonly numCandidates: number;
}

/** A metric computed from recommended lists, of which it reads the first k items. */
export abstract class RecommendationMetric extends Metric {
  override readonly name: string;
  readonly k: number;

  /** @param stem the name before `@k` */
  constructor(stem: string, k: number) {
    super();
    this.k = checkInteger(stem, 'k', k, 1);
    this.name = `${stem}@${k}`;
  }

  abstract compute(lists: RecommendedLists): number;
}

/** A mean over users of a number that the hits of a user decide. */
abstract class UserMean extends RecommendationMetric {
  override compute({ length, hits, relevant }: RecommendedLists): number {
    let sum = 0;
    for (let user = 0; user < relevant.length; user++) {
      const first = user * length;
      sum += this.ofUser(hits.subarray(first, first + this.k), relevant[user]);
    }
    return sum / relevant.length;
  }

  /** @param hits of the first k items */
  protected abstract ofUser(hits: Uint8Array, relevant: number): number;
}

function countHits(hits: Uint8Array): number {
  let count = 0;
  for (const hit of hits) count += hit;
  return count;
}

/** The fraction of a user's held-out items among the first k. */
export class RecallAtK extends UserMean {
  constructor(k: number) {
    super('recall', k);
  }

  protected override ofUser(hits: Uint8Array, relevant: number): number {
    return countHits(hits) / relevant;
  }
}

/** The fraction of held-out items among the first k. */
export class PrecisionAtK extends UserMean {
  constructor(k: number) {
    super('precision', k);
  }

  protected override ofUser(hits: Uint8Array): number {
    return countHits(hits) / this.k;
  }
}

/** Normalised discounted cumulative gain: Σ hit / log₂(1 + rank), divided by its highest possible value. */
export class NdcgAtK extends UserMean {
  constructor(k: number) {
    super('ndcg', k);
  }

  protected override ofUser(hits: Uint8Array, relevant: number): number {
    let [gain, ideal] = [0, 0];
    for (let i = 0; i < hits.length; i++) if (hits[i] === 1) gain += 1 / Math.log2(i + 2);
    for (let i = 0; i < Math.min(this.k, relevant); i++) ideal += 1 / Math.log2(i + 2);
    return gain / ideal;
  }
}

/** Mean average precision: the precision at each hit, summed and divided by the number of hits that are possible. */
export class MeanAveragePrecisionAtK extends UserMean {
  constructor(k: number) {
    super('map', k);
  }

  protected override ofUser(hits: Uint8Array, relevant: number): number {
    let [found, sum] = [0, 0];
    for (let i = 0; i < hits.length; i++) {
      if (hits[i] === 0) continue;
      found++;
      sum += found / (i + 1);
    }
    return sum / Math.min(this.k, relevant);
  }
}

/** The fraction of users with at least one held-out item among the first k. */
export class HitRateAtK extends UserMean {
  constructor(k: number) {
    super('hit_rate', k);
  }

  protected override ofUser(hits: Uint8Array): number {
    return hits.includes(1) ? 1 : 0;
  }
}

/** The fraction of all items that are among the first k of some user. */
export class CoverageAtK extends RecommendationMetric {
  constructor(k: number) {
    super('coverage', k);
  }

  override compute({ length, items, relevant, numCandidates }: RecommendedLists): number {
    const seen = new Set<number>();
    for (let user = 0; user < relevant.length; user++)
      for (const item of items.subarray(user * length, user * length + this.k)) if (item >= 0) seen.add(item);
    return relevant.length === 0 ? Number.NaN : seen.size / numCandidates;
  }
}

export interface RecommendationMetricsOptions {
  /** Lengths of lists (default 10 and 20). */
  readonly k?: readonly number[];
  /** The number of items that can be recommended, for coverage; without it there is no coverage. */
  readonly numItems?: number;
}

/**
 * Returns recall, precision, ndcg, map, hit_rate and coverage at each k for lists of any recommender, by the definitions of
 * `evaluation.metrics`. Users without held-out items are left out; NaN without any user.
 *
 * @param recommended the items of each user, best first, without those that the user has seen
 * @param heldOut the held-out items of each user, each once
 * @example
 * recommendationMetrics([['tea', 'mug']], [['mug']], { k: [2] })['recall@2']; // 1
 */
export function recommendationMetrics<T extends string | number>(
  recommended: readonly (readonly T[])[],
  heldOut: readonly (readonly T[])[],
  options: RecommendationMetricsOptions = {},
): Readonly<Record<string, number>> {
  const where = 'recommendationMetrics';
  checkOptionNames(where, options, { k: true, numItems: true });
  const { k: lengths = [10, 20], numItems } = options;
  if (lengths.length === 0) throw new ValueError(expected(where, 'at least one number', 'k', lengths));
  for (const k of lengths) checkInteger(where, 'k', k, 1);
  if (numItems !== undefined) checkInteger(where, 'numItems', numItems, 1);
  if (recommended.length !== heldOut.length)
    throw new ShapeError(expected(where, `${recommended.length} lists`, 'heldOut', heldOut.length));
  const length = Math.max(...lengths);
  const users = [...heldOut.keys()].filter((user) => heldOut[user].length > 0);
  const numbers = new Map<T, number>();
  const items = new Int32Array(users.length * length).fill(-1);
  const hits = new Uint8Array(users.length * length);
  for (const [row, user] of users.entries()) {
    const held = new Set(heldOut[user]);
    for (const [i, item] of recommended[user].slice(0, length).entries()) {
      if (!numbers.has(item)) numbers.set(item, numbers.size);
      items[row * length + i] = numbers.get(item) as number;
      hits[row * length + i] = held.has(item) ? 1 : 0;
    }
  }
  const relevant = Int32Array.from(users, (user) => heldOut[user].length);
  const lists = { length, items, hits, relevant, numCandidates: numItems ?? 1 };
  const kinds = [RecallAtK, PrecisionAtK, NdcgAtK, MeanAveragePrecisionAtK, HitRateAtK];
  const metrics = lengths.flatMap((k) => [
    ...kinds.map((Kind) => new Kind(k)),
    ...(numItems === undefined ? [] : [new CoverageAtK(k)]),
  ]);
  return Object.fromEntries(metrics.map((metric) => [metric.name, metric.compute(lists)]));
}

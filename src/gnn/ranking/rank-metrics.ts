/**
 * What ranks say about a model: mean reciprocal rank, mean rank, hits@k, AUC; over all queries, by direction and by
 * relation.
 */
import { checkInteger, expected, ShapeError } from '../../util/errors.js';
import type { Direction } from '../decoders/edge-decoder.js';
import { type RankCounts, ranksOf, type TieRule } from './ranks.js';

export const defaultHits = [1, 3, 5, 10, 50, 100] as const;

/** `hits@k` is there for every k asked for; auc only where the numbers of candidates are known. */
export interface RankingMetrics {
  readonly count: number;
  readonly mrr: number;
  readonly mr: number;
  readonly auc?: number;
  readonly [hits: `hits@${number}`]: number;
}

export interface RankingOptions {
  /** k of hits@k: 1, 3, 5, 10, 50, 100 by default. */
  readonly hits?: readonly number[];
}

/** The metrics of ranks; NaN when there are none. */
export function rankingMetrics(ranks: ArrayLike<number>, options: RankingOptions = {}): RankingMetrics {
  const sums = new Sums(options.hits ?? defaultHits);
  for (let i = 0; i < ranks.length; i++) sums.add(ranks[i], Number.NaN);
  return sums.metrics();
}

class Sums {
  readonly #hits: readonly number[];
  readonly #found: number[];
  #count = 0;
  #reciprocal = 0;
  #rank = 0;
  #auc = 0;

  constructor(hits: readonly number[]) {
    for (const k of hits) checkInteger('rankingMetrics', 'hits', k, 1);
    this.#hits = hits;
    this.#found = hits.map(() => 0);
  }

  add(rank: number, auc: number): void {
    this.#count++;
    this.#reciprocal += 1 / rank;
    this.#rank += rank;
    this.#auc += auc;
    for (let i = 0; i < this.#hits.length; i++) if (rank <= this.#hits[i]) this.#found[i]++;
  }

  metrics(): RankingMetrics {
    const n = this.#count;
    const hits = Object.fromEntries(this.#hits.map((k, i) => [`hits@${k}`, this.#found[i] / n]));
    const auc = Number.isNaN(this.#auc) ? {} : { auc: this.#auc / n };
    return { count: n, mrr: this.#reciprocal / n, mr: this.#rank / n, ...auc, ...hits };
  }
}

export interface RankReport extends RankingMetrics {
  readonly byDirection: Readonly<Partial<Record<Direction, RankingMetrics>>>;
  readonly byRelation: ReadonlyMap<number, RankingMetrics>;
}

export interface RankAccumulatorOptions extends RankingOptions {
  /** realistic by default. */
  readonly ties?: TieRule;
}

/**
 * Gathers counts batch by batch.
 *
 * AUC is the mean over queries of the chance that the positive scores above a random candidate, ties counting half.
 */
export class RankAccumulator {
  readonly ties: TieRule;
  readonly #hits: readonly number[];
  readonly #directions = new Map<Direction, Sums>();
  readonly #relations = new Map<number, Sums>();
  readonly #ranks: Float64Array[] = [];
  #all: Sums;

  constructor(options: RankAccumulatorOptions = {}) {
    this.ties = options.ties ?? 'realistic';
    this.#hits = options.hits ?? defaultHits;
    this.#all = new Sums(this.#hits);
  }

  /** Gives the ranks of these queries. */
  add(
    counts: RankCounts,
    of: { readonly direction?: Direction; readonly relations?: Int32Array | null } = {},
  ): Float64Array {
    const ranks = ranksOf(counts, this.ties);
    const relations = of.relations ?? null;
    if (relations !== null && relations.length !== ranks.length)
      throw new ShapeError(
        expected('RankAccumulator', `${ranks.length} relations`, 'relations', relations.length),
      );
    const direction = of.direction === undefined ? null : this.#sums(this.#directions, of.direction);
    for (let q = 0; q < ranks.length; q++) {
      const n = counts.candidates[q];
      const auc = n === 0 ? 1 : (n - counts.greater[q] - counts.equal[q] / 2) / n;
      this.#all.add(ranks[q], auc);
      direction?.add(ranks[q], auc);
      if (relations !== null) this.#sums(this.#relations, relations[q]).add(ranks[q], auc);
    }
    this.#ranks.push(ranks);
    return ranks;
  }

  /** All ranks, in the order they came. */
  ranks(): Float64Array {
    const all = new Float64Array(this.#ranks.reduce((total, part) => total + part.length, 0));
    let at = 0;
    for (const part of this.#ranks) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  report(): RankReport {
    const byDirection = Object.fromEntries([...this.#directions].map(([key, sums]) => [key, sums.metrics()]));
    const relations = [...this.#relations].sort(([a], [b]) => a - b);
    const byRelation = new Map(relations.map(([relation, sums]) => [relation, sums.metrics()] as const));
    return { ...this.#all.metrics(), byDirection, byRelation };
  }

  clear(): void {
    this.#all = new Sums(this.#hits);
    this.#directions.clear();
    this.#relations.clear();
    this.#ranks.length = 0;
  }

  #sums<K>(map: Map<K, Sums>, key: K): Sums {
    let sums = map.get(key);
    if (sums === undefined) {
      sums = new Sums(this.#hits);
      map.set(key, sums);
    }
    return sums;
  }
}

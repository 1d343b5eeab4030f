/**
 * Metrics of link prediction over a split, accumulated batch by batch: pooled over all events, and as the mean over batches that TGN
 * and its successors report (the two differ, so they have different names). Events with a node that is not in training can be marked:
 * they give the `new_node_…` metrics.
 */
import { checkInteger, expected, ShapeError, StateError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import {
  hitsAtK,
  meanReciprocalRank,
  negativesPerPositive,
  ranksOf,
  type Scores,
  separation,
} from './ranking.js';

export interface LinkMetricsOptions {
  /** The k of hits@k (default 1, 3, 10). */
  readonly hits?: readonly number[];
  /** Keep all scores for pooled average precision and area (default). Off: memory stays small with many negatives. */
  readonly pooled?: boolean;
  /** Compute average precision and area (default). Off: ranks alone, which need no sorting. */
  readonly curves?: boolean;
}

/** Values by name: events, ap, auc, ap_batch, auc_batch, mrr, hits@k; the same with new_node_ where such events came. */
export type LinkMetricValues = Readonly<Record<string, number>>;

const defaultHits = [1, 3, 10] as const;

/**
 * @example
 * const metrics = new LinkMetrics();
 * for (const batch of batches) metrics.add(positive, negative, isNew);
 * const { ap, auc, mrr } = metrics.result();
 */
export class LinkMetrics {
  readonly #curves: boolean;
  readonly #all: Gatherer;
  readonly #fresh: Gatherer;

  constructor(options: LinkMetricsOptions = {}) {
    checkOptionNames('LinkMetrics', options, { hits: true, pooled: true, curves: true });
    const { hits = defaultHits, pooled = true, curves = true } = options;
    for (const k of hits) checkInteger('LinkMetrics', 'hits', k, 1);
    this.#curves = curves;
    this.#all = new Gatherer(hits, pooled && curves);
    this.#fresh = new Gatherer(hits, pooled && curves);
  }

  /** Adds the scores of a batch: positives [B], their negatives [B·q], and which events have a new node [B]. */
  add(positive: Scores, negative: Scores, isNew?: ArrayLike<number | boolean>): void {
    const amount = negativesPerPositive('LinkMetrics.add', positive, negative);
    if (isNew !== undefined && isNew.length !== positive.length)
      throw new ShapeError(expected('LinkMetrics.add', `${positive.length} flags`, 'isNew', isNew.length));
    if (positive.length === 0) return;
    const ranks = ranksOf(positive, negative);
    this.#all.addRanks(ranks);
    if (this.#curves) this.#all.addScores(positive, negative);
    if (isNew === undefined) return;
    const rows = Array.from(positive, (_, i) => i).filter((i) => Boolean(isNew[i]));
    if (rows.length === 0) return;
    this.#fresh.addRanks(Float64Array.from(rows, (i) => ranks[i]));
    if (!this.#curves) return;
    const own = Float64Array.from(rows, (i) => positive[i]);
    const others = new Float64Array(rows.length * amount);
    for (let i = 0; i < others.length; i++)
      others[i] = negative[rows[Math.floor(i / amount)] * amount + (i % amount)];
    this.#fresh.addScores(own, others);
  }

  /**
   * Adds the ranks of a batch [B], for models that rank without listing scores, and which events have a new node [B]. Only
   * with `curves` off, because curves need scores.
   */
  addRanks(ranks: Float64Array, isNew?: ArrayLike<number | boolean>): void {
    if (this.#curves)
      throw new StateError('LinkMetrics.addRanks: expected curves: false, got metrics that need scores.');
    if (ranks.length === 0) return;
    this.#all.addRanks(ranks);
    const fresh = isNew === undefined ? ranks.subarray(0, 0) : ranks.filter((_, i) => Boolean(isNew[i]));
    if (fresh.length > 0) this.#fresh.addRanks(fresh);
  }

  /** Returns the metrics so far. Without events only `events` is present. */
  result(): LinkMetricValues {
    const values = this.#all.result();
    if (this.#fresh.events === 0) return values;
    for (const [key, value] of Object.entries(this.#fresh.result())) values[`new_node_${key}`] = value;
    return values;
  }
}

/** Sums and scores of one group of events. */
class Gatherer {
  events = 0;
  readonly #hits: readonly number[];
  readonly #positive: ScoreList | null;
  readonly #negative: ScoreList | null;
  readonly #ranks = new ScoreList();
  #batches = 0;
  #ap = 0;
  #auc = 0;

  constructor(hits: readonly number[], pooled: boolean) {
    this.#hits = hits;
    this.#positive = pooled ? new ScoreList() : null;
    this.#negative = pooled ? new ScoreList() : null;
  }

  addRanks(ranks: Float64Array): void {
    this.events += ranks.length;
    this.#ranks.push(ranks);
  }

  addScores(positive: Scores, negative: Scores): void {
    const { ap, auc } = separation(positive, negative);
    this.#batches++;
    this.#ap += ap;
    this.#auc += auc;
    this.#positive?.push(positive);
    this.#negative?.push(negative);
  }

  result(): Record<string, number> {
    const { events } = this;
    const values: Record<string, number> = { events };
    if (events === 0) return values;
    if (this.#positive !== null && this.#negative !== null)
      Object.assign(values, separation(this.#positive.values(), this.#negative.values()));
    if (this.#batches > 0) {
      values['ap_batch'] = this.#ap / this.#batches;
      values['auc_batch'] = this.#auc / this.#batches;
    }
    const ranks = this.#ranks.values();
    values['mrr'] = meanReciprocalRank(ranks);
    for (const k of this.#hits) values[`hits@${k}`] = hitsAtK(ranks, k);
    return values;
  }
}

/** Scores of all batches in one array that doubles as it fills. */
class ScoreList {
  #array = new Float64Array(1024);
  #length = 0;

  push(scores: Scores): void {
    if (this.#length + scores.length > this.#array.length) {
      const larger = new Float64Array(Math.max(2 * this.#array.length, this.#length + scores.length));
      larger.set(this.#array.subarray(0, this.#length));
      this.#array = larger;
    }
    this.#array.set(scores, this.#length);
    this.#length += scores.length;
  }

  values(): Float64Array {
    return this.#array.subarray(0, this.#length);
  }
}

/**
 * Metrics of link prediction over a split, accumulated batch by batch: pooled over all events, and as the mean over batches that TGN
 * and its successors report (the two differ, so they have different names). Events with a node that is not in training can be marked:
 * they give the `new_node_…` metrics.
 */
import { checkInteger, expected, ShapeError } from '../../util/errors.js';
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
  readonly #all: Gatherer;
  readonly #fresh: Gatherer;

  constructor(options: LinkMetricsOptions = {}) {
    checkOptionNames('LinkMetrics', options, { hits: true, pooled: true });
    const { hits = defaultHits, pooled = true } = options;
    for (const k of hits) checkInteger('LinkMetrics', 'hits', k, 1);
    this.#all = new Gatherer(hits, pooled);
    this.#fresh = new Gatherer(hits, pooled);
  }

  /** Adds the scores of a batch: positives [B], their negatives [B·q], and which events have a new node [B]. */
  add(positive: Scores, negative: Scores, isNew?: ArrayLike<number | boolean>): void {
    const amount = negativesPerPositive('LinkMetrics.add', positive, negative);
    if (isNew !== undefined && isNew.length !== positive.length)
      throw new ShapeError(expected('LinkMetrics.add', `${positive.length} flags`, 'isNew', isNew.length));
    if (positive.length === 0) return;
    this.#all.add(positive, negative);
    if (isNew === undefined) return;
    const rows = Array.from(positive, (_, i) => i).filter((i) => Boolean(isNew[i]));
    if (rows.length === 0) return;
    const own = Float64Array.from(rows, (i) => positive[i]);
    const others = new Float64Array(rows.length * amount);
    for (let i = 0; i < others.length; i++)
      others[i] = negative[rows[Math.floor(i / amount)] * amount + (i % amount)];
    this.#fresh.add(own, others);
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

  add(positive: Scores, negative: Scores): void {
    const { ap, auc } = separation(positive, negative);
    this.events += positive.length;
    this.#batches++;
    this.#ap += ap;
    this.#auc += auc;
    this.#ranks.push(ranksOf(positive, negative));
    this.#positive?.push(positive);
    this.#negative?.push(negative);
  }

  result(): Record<string, number> {
    const { events } = this;
    const values: Record<string, number> = { events };
    if (events === 0) return values;
    if (this.#positive !== null && this.#negative !== null)
      Object.assign(values, separation(this.#positive.values(), this.#negative.values()));
    values['ap_batch'] = this.#ap / this.#batches;
    values['auc_batch'] = this.#auc / this.#batches;
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

/**
 * How well scores separate positives from negatives: average precision, area under the ROC curve, reciprocal ranks.
 *
 * Equal scores are one group everywhere: no order inside a group is invented, so the result never depends on the order of
 * the input. Average precision is Σ (R_n − R_{n−1}) P_n over the thresholds (no interpolation), the area counts a tie as
 * half a win, a rank is 1 + ½ (negatives above + negatives not below).
 */
import { expected, ShapeError, ValueError } from '../../util/errors.js';

/** Scores in a typed array or a plain one. */
export type Scores = Float32Array | Float64Array | readonly number[];

/** Both curves of one separation of positives from negatives. */
export interface Separation {
  /** NaN without positives. */
  readonly ap: number;
  /** NaN unless there are positives and negatives. */
  readonly auc: number;
}

/**
 * Average precision of scores against labels (1 positive, 0 negative); NaN without positives.
 *
 * @example averagePrecision([0.9, 0.8, 0.7], [1, 0, 1]) // 0.8333…
 */
export function averagePrecision(scores: Scores, labels: ArrayLike<number>): number {
  const { positive, negative } = divide('averagePrecision', scores, labels);
  return separation(positive, negative).ap;
}

/** The probability that a positive scores above a negative, ties counted half; NaN unless both are there. */
export function rocAuc(scores: Scores, labels: ArrayLike<number>): number {
  const { positive, negative } = divide('rocAuc', scores, labels);
  return separation(positive, negative).auc;
}

/** Computes both from one sort. Does not modify its arguments. */
export function separation(positive: Scores, negative: Scores): Separation {
  const p = sorted('positive', positive);
  const n = sorted('negative', negative);
  let [i, j] = [p.length - 1, n.length - 1];
  let [hits, wrong, wins, sum] = [0, 0, 0, 0];
  // Thresholds from the highest score down; each takes in all that is equal to it.
  while (i >= 0) {
    const threshold = p[i];
    while (j >= 0 && n[j] > threshold) {
      j--;
      wrong++;
    }
    let group = 0;
    for (; i >= 0 && p[i] === threshold; i--) group++;
    let ties = 0;
    for (; j >= 0 && n[j] === threshold; j--) ties++;
    hits += group;
    wrong += ties;
    wins += group * (n.length - wrong + ties / 2);
    sum += (group * hits) / (hits + wrong);
  }
  return {
    ap: p.length === 0 ? Number.NaN : sum / p.length,
    auc: p.length === 0 || n.length === 0 ? Number.NaN : wins / (p.length * n.length),
  };
}

/** Sorts ascending; throws for NaN, which has no order. */
function sorted(name: string, scores: Scores): Float64Array {
  const values = Float64Array.from(scores).sort();
  if (Number.isNaN(values.at(-1)))
    throw new ValueError(expected('separation', 'scores without NaN', name, Number.NaN));
  return values;
}

/** Returns the mean of 1 / rank; NaN without ranks. */
export function meanReciprocalRank(ranks: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < ranks.length; i++) sum += 1 / ranks[i];
  return sum / ranks.length;
}

/** Returns the fraction of ranks up to k; NaN without ranks. */
export function hitsAtK(ranks: Float64Array, k: number): number {
  let hits = 0;
  for (let i = 0; i < ranks.length; i++) if (ranks[i] <= k) hits++;
  return hits / ranks.length;
}

/** Returns 1 / rank of each positive [B] among its own negatives [B·q]. */
export function reciprocalRanks(positive: Scores, negatives: Scores): Float64Array {
  return ranksOf(positive, negatives).map((rank) => 1 / rank);
}

/** Returns the rank of each positive [B] among its own negatives [B·q]. */
export function ranksOf(positive: Scores, negatives: Scores): Float64Array {
  const amount = negativesPerPositive('reciprocalRanks', positive, negatives);
  const out = new Float64Array(positive.length);
  for (let i = 0; i < out.length; i++) {
    let doubled = 2;
    for (let k = i * amount; k < (i + 1) * amount; k++) {
      if (negatives[k] > positive[i]) doubled += 2;
      else if (negatives[k] === positive[i]) doubled++;
    }
    out[i] = doubled / 2;
  }
  return out;
}

/** Returns the number of negatives per positive; throws if the lengths do not divide, or for a score that is NaN. */
export function negativesPerPositive(where: string, positive: Scores, negatives: Scores): number {
  checkScores(where, 'positive scores', positive);
  checkScores(where, 'negative scores', negatives);
  if (positive.length === 0 ? negatives.length > 0 : negatives.length % positive.length !== 0) {
    const got = `${negatives.length} for ${positive.length} positives`;
    throw new ShapeError(expected(where, 'as many for each positive', 'negatives', got));
  }
  return positive.length === 0 ? 0 : negatives.length / positive.length;
}

function checkScores(where: string, what: string, scores: Scores): void {
  for (let i = 0; i < scores.length; i++) {
    // NaN has no order; infinities have.
    if (Number.isNaN(scores[i])) {
      const advice = 'The model diverged: lower the learning rate or look at its input.';
      throw new ValueError(expected(where, 'numbers', what, `NaN at position ${i}`, advice));
    }
  }
}

function divide(
  where: string,
  scores: Scores,
  labels: ArrayLike<number>,
): { positive: number[]; negative: number[] } {
  if (scores.length !== labels.length)
    throw new ShapeError(expected(where, `${scores.length} numbers`, 'labels', `${labels.length}`));
  checkScores(where, 'scores', scores);
  const positive: number[] = [];
  const negative: number[] = [];
  for (let i = 0; i < scores.length; i++) {
    if (labels[i] !== 0 && labels[i] !== 1)
      throw new ValueError(expected(where, '0 or 1', `labels[${i}]`, labels[i]));
    (labels[i] === 1 ? positive : negative).push(scores[i]);
  }
  return { positive, negative };
}

/** Spearman's rank correlation: how alike two lists of weights order the same things. */
import type { Sanity } from './explanation.js';

/**
 * Compares the weights of the same things by two models.
 *
 * @param groups the group of each; only things of one group are compared with each other. Default: all are one group.
 */
export function compareWeights(
  a: readonly number[],
  b: readonly number[],
  groups: ArrayLike<number> = new Int32Array(a.length),
): Sanity {
  return { correlation: rankCorrelation(a, b, groups), compared: a.length };
}

/** Returns the correlation of ranks within groups, those of equal values averaged; null where it is not defined. */
function rankCorrelation(
  a: readonly number[],
  b: readonly number[],
  groups: ArrayLike<number>,
): number | null {
  if (a.length < 3) return null;
  const [x, y] = [new Float64Array(a.length), new Float64Array(a.length)];
  for (const group of new Set(Array.from(groups))) {
    const members = Array.from(a.keys()).filter((i) => groups[i] === group);
    for (const [values, ranks] of [
      [a, x],
      [b, y],
    ] as const) {
      const own = centered(ranksOf(members.map((i) => values[i])));
      // Groups of all sizes have ranks of one scale.
      for (const [at, i] of members.entries()) ranks[i] = own[at] / members.length;
    }
  }
  let [xy, xx, yy] = [0, 0, 0];
  for (let i = 0; i < x.length; i++) {
    xy += x[i] * y[i];
    xx += x[i] * x[i];
    yy += y[i] * y[i];
  }
  return xx === 0 || yy === 0 ? null : xy / Math.sqrt(xx * yy);
}

function centered(values: Float64Array): Float64Array {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.map((value) => value - mean);
}

function ranksOf(values: readonly number[]): Float64Array {
  const order = Array.from(values.keys()).sort((i, j) => values[i] - values[j]);
  const ranks = new Float64Array(values.length);
  for (let from = 0; from < order.length; ) {
    let to = from + 1;
    while (to < order.length && values[order[to]] === values[order[from]]) to++;
    for (let at = from; at < to; at++) ranks[order[at]] = (from + to - 1) / 2;
    from = to;
  }
  return ranks;
}

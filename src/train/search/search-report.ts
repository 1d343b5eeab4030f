/** The report of a search: the trials as a table, and how much each key matters. */

import { duration } from '../run/durations.js';
import { formatMetric } from '../run/reporter.js';
import { describeValues, type SearchResult, shortKey, varyingKeys } from './search.js';

/** The influence of a key on the metric. */
export interface KeyImportance {
  readonly key: string;
  /**
   * Numbers: Spearman's rank correlation of the value with the metric, −1 to 1. Other values: the root of the fraction of
   * the variance of ranks that the value explains, 0 to 1.
   */
  readonly correlation: number;
  readonly isOrdered: boolean;
  /** Trials that have the key. */
  readonly trials: number;
}

/** Returns the importance of every key that varies, the largest first. Trials of the first round are compared. */
export function keyImportance({
  firstRound,
  lowerIsBetter,
}: Pick<SearchResult, 'firstRound' | 'lowerIsBetter'>): KeyImportance[] {
  const columns = new Map<string, string>();
  for (const key of firstRound.flatMap(({ values }) => Object.keys(values))) {
    const column = JSON.stringify(firstRound.map(({ values }) => values[key] ?? null));
    // Keys with the same values in all trials are one dimension.
    if (!columns.has(column)) columns.set(column, key);
  }
  const keys = [...columns.values()];
  const found = keys.flatMap((key): KeyImportance[] => {
    const own = firstRound.filter(({ values }) => Object.hasOwn(values, key));
    const given = own.map(({ values }) => values[key]);
    if (own.length < 3 || new Set(given.map((value) => JSON.stringify(value))).size < 2) return [];
    const goodness = ranksOf(own.map(({ value }) => (lowerIsBetter ? -value : value)));
    const isOrdered = given.every((value) => typeof value === 'number');
    const correlation = isOrdered
      ? pearson(ranksOf(given as number[]), goodness)
      : explained(
          given.map((value) => JSON.stringify(value)),
          goodness,
        );
    return [{ key, correlation, isOrdered, trials: own.length }];
  });
  return found.sort((a, b) => Math.abs(b.correlation) - Math.abs(a.correlation));
}

/** Returns ranks from 1; equal values share their mean rank. */
function ranksOf(values: readonly number[]): number[] {
  return values.map((value) => {
    const below = values.filter((other) => other < value).length;
    const equal = values.filter((other) => other === value).length;
    return below + (equal + 1) / 2;
  });
}

const mean = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0) / values.length;

function pearson(a: readonly number[], b: readonly number[]): number {
  const [ma, mb] = [mean(a), mean(b)];
  let [ab, aa, bb] = [0, 0, 0];
  for (const [i, x] of a.entries()) {
    ab += (x - ma) * (b[i] - mb);
    aa += (x - ma) ** 2;
    bb += (b[i] - mb) ** 2;
  }
  return aa === 0 || bb === 0 ? 0 : ab / Math.sqrt(aa * bb);
}

/** Returns the root of the fraction of the variance of `ranks` between groups of equal names. */
function explained(names: readonly string[], ranks: readonly number[]): number {
  const all = mean(ranks);
  const total = ranks.reduce((sum, rank) => sum + (rank - all) ** 2, 0);
  let between = 0;
  for (const name of new Set(names)) {
    const own = ranks.filter((_, i) => names[i] === name);
    between += own.length * (mean(own) - all) ** 2;
  }
  return total === 0 ? 0 : Math.sqrt(between / total);
}

/** Returns the lines of the report: the best trials, those that failed, and the importance of keys. */
export function searchReport(result: SearchResult, most = 20): string[] {
  const { trials, failed, metric, best, directory } = result;
  const keys = varyingKeys(trials.map(({ values }) => values));
  const lines = [
    `trial  ${metric.padEnd(8)}  epochs  time      values`,
    ...trials
      .slice(0, most)
      .map(
        ({ trial, value, epochs, seconds, values }) =>
          `${String(trial).padStart(5)}  ${formatMetric(value).padEnd(8)}  ${String(epochs).padStart(6)}  ${duration(seconds).padEnd(8)}  ${describeValues(values, keys)}`,
      ),
  ];
  if (trials.length > most) lines.push(`… and ${trials.length - most} more in ${directory}/trials.jsonl`);
  if (failed.length > 0)
    lines.push(`${failed.length} failed, the first (trial ${failed[0].trial}): ${failed[0].reason}`);
  const importance = keyImportance(result);
  if (importance.length > 0) {
    lines.push('', `rank correlation with ${metric}`);
    for (const { key, correlation, isOrdered } of importance)
      lines.push(
        `  ${shortKey(key).padEnd(28)} ${isOrdered ? signed(correlation) : ` ${correlation.toFixed(2)}`}`,
      );
  }
  if (best !== null) lines.push('', `best configuration: ${best}`);
  return lines;
}

const signed = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;

/** The summary of repeated runs: mean and standard deviation of each metric, as numbers and as a table. */
import { formatMetric } from '../train/run/reporter.js';
import type { Metrics } from '../train/task.js';
import { isCount } from '../util/metric-names.js';

export interface RepeatedRun {
  readonly seed: number;
  readonly directory: string;
  /** The best evaluation and its metric, where one was kept. */
  readonly best?: { readonly metric?: string };
  readonly validation: Metrics;
  readonly test: Metrics;
}

export interface Spread {
  readonly mean: number;
  /** The standard deviation of a sample (n − 1); null for a single run. */
  readonly sd: number | null;
}

export interface RepeatSummary {
  readonly validation: Readonly<Record<string, Spread>>;
  readonly test: Readonly<Record<string, Spread>>;
}

export function summarize(runs: readonly RepeatedRun[]): RepeatSummary {
  return {
    validation: spreads(runs.map(({ validation }) => validation)),
    test: spreads(runs.map(({ test }) => test)),
  };
}

function spreads(all: readonly Metrics[]): Record<string, Spread> {
  const names = Object.keys(all[0] ?? {}).filter((name) => all.every((metrics) => name in metrics));
  return Object.fromEntries(names.map((name) => [name, spread(all.map((metrics) => metrics[name]))]));
}

export function spread(values: readonly number[]): Spread {
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  if (n < 2) return { mean, sd: null };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, sd: Math.sqrt(squares / (n - 1)) };
}

/** Returns the lines of the table: the deciding metric by seed, then all metrics. Counts of items are left out. */
export function repeatTable(runs: readonly RepeatedRun[], { validation, test }: RepeatSummary): string[] {
  const names = [...new Set([...Object.keys(test), ...Object.keys(validation)])];
  const shown = names.filter((name) => !isCount(name));
  const chosen = runs[0]?.best?.metric;
  const decisive = chosen !== undefined && shown.includes(chosen) ? chosen : shown[0];
  const cell = (metrics: Metrics): string =>
    metrics[decisive] === undefined ? '–' : formatMetric(metrics[decisive]);
  const pair = (all: Readonly<Record<string, Spread>>, name: string): string => {
    const found = all[name];
    if (found === undefined) return '–';
    return `${formatMetric(found.mean)} ± ${found.sd === null ? '–' : formatMetric(found.sd)}`;
  };
  return [
    ...aligned([
      [`seed`, `validation ${decisive}`, `test ${decisive}`],
      ...runs.map((run) => [String(run.seed), cell(run.validation), cell(run.test)]),
    ]),
    '',
    ...aligned([
      [`${runs.length} runs`, 'validation', 'test'],
      ...shown.map((name) => [name, pair(validation, name), pair(test, name)]),
    ]),
  ];
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  );
}

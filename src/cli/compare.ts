/** The work of `skein compare`: results of runs side by side, and the keys in which their configurations differ. */
import { bar, sparkline } from '../plot/index.js';
import { runPath } from '../predict/open-model.js';
import { describeRun, type RunDescription } from '../train/describe-run.js';
import { isRunDirectory } from '../train/find-run.js';
import { Output } from '../train/index.js';
import { readCurves } from '../train/run/run-curves.js';
import { readRunSettings } from '../train/run/run-settings.js';
import { StateError, ValueError } from '../util/errors.js';
import { isCount } from '../util/metric-names.js';

interface ComparedRun {
  readonly name: string;
  readonly description: RunDescription;
  /** Values of the resolved configuration by dotted key. */
  readonly settings: ReadonlyMap<string, string>;
  readonly losses: readonly number[];
}

/** A line of the table: a name and one cell per run. */
interface Row {
  readonly name: string;
  readonly cells: readonly string[];
}

export async function compareCommand(
  paths: readonly string[],
  { json }: { readonly json: boolean },
): Promise<void> {
  const output = new Output({ json });
  if (paths.length < 2)
    throw new ValueError(
      `compare: expected at least two runs, got ${paths.length}. "skein info" describes one.`,
    );
  const runs: ComparedRun[] = [];
  for (const path of paths) runs.push(await readRun(path));
  const differences = settingRows(runs);
  const metrics = metricRows(runs);
  const rows = [
    { name: 'task', cells: runs.map(({ description }) => description.task) },
    { name: 'model', cells: runs.map(({ description }) => description.model) },
    { name: 'epochs', cells: runs.map(({ description }) => `${description.epochs}`) },
    { name: 'loss', cells: runs.map(({ losses }) => sparkline(losses, 20)) },
    ...metrics.map(({ name, values }) => ({ name, cells: withBars(name, values) })),
  ];
  printTable(output, ['', ...runs.map(({ name }) => name)], rows);
  output.text();
  output.text(differences.length === 0 ? 'The configurations are the same.' : 'The configurations differ in');
  printTable(output, null, differences);
  output.event('done', {
    runs: runs.map(({ name, description }) => ({
      run: name,
      epochs: description.epochs,
      metrics: description.metrics,
    })),
    differences: Object.fromEntries(differences.map(({ name, cells }) => [name, cells])),
  });
}

async function readRun(path: string): Promise<ComparedRun> {
  const directory = runPath(path);
  if (!isRunDirectory(directory))
    throw new StateError(
      `compare: expected directories of runs, got ${path}. "skein train" creates them; "skein info" describes other paths.`,
    );
  return {
    name: path,
    description: await describeRun(directory),
    settings: readRunSettings(directory),
    losses: readCurves(directory).epochs.map(({ loss }) => loss),
  };
}

function settingRows(runs: readonly ComparedRun[]): Row[] {
  const keys = [...new Set(runs.flatMap(({ settings }) => [...settings.keys()]))];
  return keys.flatMap((name) => {
    const cells = runs.map(({ settings }) => settings.get(name) ?? '–');
    return new Set(cells).size > 1 ? [{ name, cells }] : [];
  });
}

interface MetricRow {
  readonly name: string;
  /** NaN for runs without it. */
  readonly values: readonly number[];
}

function metricRows(runs: readonly ComparedRun[]): MetricRow[] {
  return ['validation', 'test'].flatMap((split) => {
    const names = new Set(runs.flatMap(({ description }) => Object.keys(description.metrics[split] ?? {})));
    return [...names]
      .map((metric) => ({
        name: `${split} ${metric}`,
        values: runs.map(({ description }) => description.metrics[split]?.[metric] ?? Number.NaN),
      }))
      .filter(({ values }) => values.some((value) => !Number.isNaN(value)));
  });
}

/** Returns numbers, with bars for metrics between 0 and 1. A mean rank (mr) begins at 1 and has no end. Counts are whole. */
function withBars(name: string, values: readonly number[]): string[] {
  if (isCount(name.split(' ').at(-1) ?? ''))
    return values.map((value) => (Number.isNaN(value) ? '–' : value.toLocaleString('en')));
  const isShare =
    !/ mr$/.test(name) && values.every((value) => Number.isNaN(value) || (value >= 0 && value <= 1));
  return values.map((value) => {
    if (Number.isNaN(value)) return '–';
    return isShare ? `${value.toFixed(4)} ${bar(value, 10)}` : value.toFixed(4);
  });
}

function printTable(output: Output, header: readonly string[] | null, rows: readonly Row[]): void {
  const lines = [...(header === null ? [] : [header]), ...rows.map(({ name, cells }) => [name, ...cells])];
  const widths = lines.reduce<number[]>(
    (most, line) => line.map((cell, i) => Math.max(most[i] ?? 0, cell.length)),
    [],
  );
  for (const line of lines)
    output.text(
      line
        .map((cell, i) => cell.padEnd(widths[i]))
        .join('  ')
        .trimEnd(),
    );
}

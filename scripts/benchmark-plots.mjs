/**
 * Draws the plots of docs/benchmarks.md from its tables, into docs/images/benchmarks. `--check` writes nothing and fails if
 * a plot is out of date. With files of `npm run bench -- <suite> --save` as arguments, it draws those instead:
 *
 *     npm run docs:plots -- bench/results/kg.jsonl -o mine.svg
 *
 * Runs under tsx.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { barChart, lineChart, picture } from '../src/plot/index.js';
import { main, root, StepError } from './steps.mjs';

const page = join(root, 'docs', 'benchmarks.md');
const folder = join(root, 'docs', 'images', 'benchmarks');
const width = 700;

/** Cells of a row without the outer bars. */
const cells = (line) =>
  line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());

/**
 * Returns the tables of the page that a comment `<!-- plot: name; source: page -->` stands above.
 * @returns {Map<string, { source: string, head: string[], rows: string[][] }>}
 */
function plottedTables(text) {
  const found = text.matchAll(/<!-- plot: ([a-z]+); source: (\S+) -->\n\n((?:\|.*\|\n)+)/g);
  return new Map(
    [...found].map(([, name, source, table]) => {
      const [head, , ...rows] = table.trim().split('\n').map(cells);
      return [name, { source, head, rows }];
    }),
  );
}

const numbers = (rows, column) => rows.map((row) => Number(row[column]));

/** Bars of one or several columns of a table, by the first column. */
function bars({ head, rows }, columns, options) {
  const series = columns.map((column) => ({ name: head[column], values: numbers(rows, column) }));
  return barChart({ title: '', ...options, names: rows.map(([name]) => name), series, width });
}

const titles = {
  speed: 'Time of PyTorch over time of Skein',
  accuracy: 'Accuracy of classified nodes',
  links: 'Filtered mean reciprocal rank of links',
  events: 'Mean reciprocal rank of events, tgbl-wiki',
  shop: 'Ten items for every user',
  memory: 'Memory of a worker, whole-graph training',
};

const drawings = {
  speed: (table) => bars(table, [4], { x: 'case', y: 'times faster' }),
  accuracy: (table) => bars(table, [2, 3], { x: 'dataset, model', y: '%' }),
  links: (table) => bars(table, [2, 3], { x: 'dataset, model', y: 'filtered MRR' }),
  events: (table) => bars(table, [1, 2], { x: 'model', y: 'MRR' }),
  shop: (table) => bars(table, [1, 2], { x: 'recommender', y: 'metric' }),
  memory: ({ head, rows }) =>
    lineChart({
      ...{ title: '', x: 'workers', y: 'MB', logX: true, logY: true, width },
      curves: [1, 2].map((column) => ({
        name: head[column].replace(', MB', ''),
        x: numbers(rows, 0),
        y: numbers(rows, column),
      })),
    }),
};

/** Returns the SVG file of each plot, by name. */
function benchmarkPlots(text) {
  const tables = plottedTables(text);
  const plots = Object.entries(drawings).map(([name, draw]) => {
    const table = tables.get(name);
    if (table === undefined)
      throw new StepError(`expected a table below <!-- plot: ${name}; … --> in docs/benchmarks.md, got none`);
    const rows = table.rows.map((row) => row.join(', ')).join('; ');
    return [name, picture([draw(table)], { title: titles[name], description: rows, columns: 1 })];
  });
  return new Map(plots);
}

/** Draws the ratios of saved results; the last result of a case counts. */
function plotResults(files) {
  const results = new Map();
  for (const file of files) {
    if (!existsSync(file))
      throw new StepError(`expected a file of results, got ${file}, which does not exist`);
    for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
      const { bench, ratio } = JSON.parse(line);
      if (typeof ratio === 'number') results.set(bench, ratio);
    }
  }
  if (results.size === 0)
    throw new StepError(
      'expected results with a ratio, got none. Run npm run bench with the peer and --save',
    );
  const series = [{ name: 'ratio', values: [...results.values()] }];
  const chart = { title: 'Time of the peer over time of Skein', x: 'case', y: 'times faster' };
  const panel = barChart({ ...chart, names: [...results.keys()], series, width: 140 + 90 * results.size });
  return picture([panel], { title: 'Skein', description: 'ratios of npm run bench', columns: 1 });
}

function writePlots(check) {
  mkdirSync(folder, { recursive: true });
  for (const [name, svg] of benchmarkPlots(readFileSync(page, 'utf8'))) {
    const path = join(folder, `${name}.svg`);
    if (!check) writeFileSync(path, svg);
    else if (!existsSync(path) || readFileSync(path, 'utf8') !== svg)
      throw new StepError(`docs/images/benchmarks/${name}.svg is out of date. Try: npm run docs:plots`);
  }
}

await main('benchmark-plots', () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { check: { type: 'boolean' }, output: { type: 'string', short: 'o' } },
  });
  if (positionals.length === 0) return writePlots(values.check === true);
  if (values.output === undefined) throw new StepError('expected a file for -o, got none', 2);
  writeFileSync(values.output, plotResults(positionals));
});

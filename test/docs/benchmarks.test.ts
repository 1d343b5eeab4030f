/** docs/benchmarks.md: its figures are those of the pages that its tables name, and its plots are drawn from its tables. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { root } from '../programs.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-plots-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const page = readFileSync(join(root, 'docs/benchmarks.md'), 'utf8');
const tables = [...page.matchAll(/<!-- plot: (\w+); source: (\S+) -->\n\n((?:\|.*\|\n)+)/g)];

const plots = (...args: readonly string[]) =>
  spawnSync(join(root, 'node_modules', '.bin', 'tsx'), ['scripts/benchmark-plots.mjs', ...args], {
    cwd: root,
    encoding: 'utf8',
  });

test('there are tables', () => {
  expect(tables.length).toBeGreaterThanOrEqual(6);
});

test.each(tables.map(([, name, source, table]) => [name, source, table] as const))(
  '%s has the figures of %s',
  (_name, source, table) => {
    const figures = new Set(readFileSync(join(root, source), 'utf8').match(/(?<![\w.])\.?\d+(?:\.\d+)?/g));
    const [, , ...rows] = table.trim().split('\n');
    const cells = rows.flatMap((row) => row.slice(1, -1).split('|')).map((cell) => cell.trim());
    const numbers = cells.filter((cell) => /^\.?\d+(\.\d+)?$/.test(cell));
    expect(numbers.length).toBeGreaterThan(rows.length);
    expect(numbers.filter((figure) => !figures.has(figure))).toEqual([]);
  },
);

test('the plots are up to date', () => {
  const { status, stderr } = plots('--check');
  expect([status, stderr]).toEqual([0, '']);
});

test('saved results can be drawn, and files without results are an error', () => {
  const results = join(folder, 'kg.jsonl');
  const picture = join(folder, 'mine.svg');
  const lines = [
    { bench: 'step', ratio: 2 },
    { bench: 'step', ratio: 2.5 },
    { bench: 'rank', ratio: null },
  ];
  writeFileSync(results, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
  expect(plots(results, '-o', picture).status).toBe(0);
  const svg = readFileSync(picture, 'utf8');
  expect(svg).toContain('<title>2.5</title>');
  expect(svg).toContain('step');
  expect(svg).not.toContain('rank');
  writeFileSync(results, '{"bench":"step","ratio":null}\n');
  const { status, stderr } = plots(results, '-o', picture);
  expect([status, stderr]).toEqual([1, expect.stringContaining('expected results with a ratio, got none')]);
});

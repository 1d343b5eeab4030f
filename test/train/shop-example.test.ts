/** The example of recommenders runs, on a smaller shop, and every model is above popularity and below the best possible. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { scratch } from './tiny.js';

const folder = scratch();

test('examples/shop runs', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const directory = folder();
  const sizes = ['--users', '300', '--items', '150', '--epochs', '12'];
  const args = [join(root, 'scripts/example.mjs'), 'shop', '--json', '--directory', directory, ...sizes];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: root });
  expect(status, stderr).toBe(0);
  const { results } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as {
    results: { model: string; metrics: Record<string, number> }[];
  };
  expect(results.map(({ model }) => model)).toEqual([
    ...['popularity', 'fitLinks', 'LightGCN', 'BPR', 'best possible'],
  ]);
  const recall = results.map(({ metrics }) => metrics['recall@10']);
  for (const own of recall.slice(1, 3)) expect(own).toBeGreaterThan(1.2 * recall[0]);
  expect(Math.max(...recall)).toBe(recall[4]);
  expect(existsSync(join(directory, 'dataset.yaml'))).toBe(true);
}, 240_000);

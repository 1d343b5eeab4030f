/** Typical user tables, from one command to answers: customers with a segment, users and items with ids from 0. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from 'skein/util';
import { afterAll, expect, test } from 'vitest';
import { skein as main } from '../programs.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-tables-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const start = (args: readonly string[]) =>
  spawnSync(process.execPath, [...main, ...args], { cwd: folder, encoding: 'utf8' });

/** Runs `skein` in the folder; returns what it printed. */
function skein(...args: string[]): string {
  const done = start(args);
  expect(done.status, done.stderr).toBe(0);
  return done.stdout;
}

/** Returns the error of a rejected command. */
function expectFailure(...args: string[]): string {
  const done = start(args);
  expect(done.status, done.stderr).toBe(2);
  return done.stderr;
}

const put = (name: string, lines: readonly (readonly unknown[])[]): void =>
  writeFileSync(join(folder, name), `${lines.map((line) => line.join(',')).join('\n')}\n`);
const read = (name: string): string[] => readFileSync(join(folder, name), 'utf8').trim().split('\n');

test('customers: categories, missing values, missing classes, new customers', () => {
  const random = new Random(1);
  const pick = <T>(list: readonly T[]): T => list[random.nextInt(list.length)];
  const segments = ['gold', 'silver', 'basic'];
  const plans = ['team', 'pro', 'free'];
  const kinds = Array.from({ length: 1200 }, () => random.nextInt(3));
  put('nodes.csv', [
    ['id', 'age', 'spend', 'country', 'plan', 'segment'],
    ...kinds.map((kind, id) => [
      ...[id, 20 + random.nextInt(40) + 5 * kind],
      random.nextInt(100) < 3 ? '' : 40 * kind + random.nextInt(50),
      ...[pick(['US', 'DE', 'FR', 'JP']), random.nextInt(4) === 0 ? pick(plans) : plans[kind]],
      random.nextInt(100) < 70 ? '' : segments[kind],
    ]),
  ]);
  const customer = (): number => random.nextInt(1200);
  put('edges.csv', [['source', 'target'], ...Array.from({ length: 5000 }, () => [customer(), customer()])]);
  const out = skein(
    ...['preprocess', '--edges', 'edges.csv', '--node-table', 'nodes.csv', '--label-column', 'segment'],
    ...['--output-directory', 'g'],
  );
  expect(out).toContain('nodes 1200, relations 1, edges 5000');
  expect(out).toContain('classes 3, features 10');
  writeFileSync(join(folder, 'g.yaml'), skein('config', 'g'));
  const trained = skein('train', 'g.yaml', '--storage.model_dir=run', '--json');
  const done = JSON.parse(trained.trim().split('\n').at(-1) as string);
  expect(done['test.accuracy']).toBeGreaterThan(0.7);
  put('new.csv', [
    ['plan', 'id', 'country', 'age', 'spend'],
    ['team', 'n1', 'US', 30, 10],
    ['free', 'n2', 'XX', 50, ''],
  ]);
  put('new-edges.csv', [
    ['source', 'target'],
    ['n1', 5],
    [7, 'n2'],
  ]);
  const unlabelled = read('nodes.csv').filter((line) => line.endsWith(','));
  put('unknown.csv', [['id'], ...unlabelled.map((line) => [line.split(',')[0]])]);
  const unknown = skein(
    'predict',
    'run',
    '--input-file',
    'unknown.csv',
    '--save-labels',
    '--output-dir',
    'u',
  );
  expect(unknown).toMatch(/^\d+ nodes without a known class: no metrics\nwrote u\/labels\.csv\n$/);
  skein('predict', 'run', '--new-nodes', 'new.csv', '--new-edges', 'new-edges.csv', '--output-dir', '.');
  expect(read('new_labels.csv').map((line) => line.split(',')[0])).toEqual(['id', 'n1', 'n2']);
  for (const line of read('new_labels.csv').slice(1)) expect(segments).toContain(line.split(',')[1]);
}, 240_000);

test('classes -1 and 1 without features: both are learned, by their names', () => {
  put('signs.csv', [
    ['id', 'note', 'y'],
    ...Array.from({ length: 40 }, (_, i) => [`s${i}`, `n${i}`, i % 2 === 0 ? -1 : 1]),
  ]);
  put('ring.csv', [
    ['source', 'target'],
    ...Array.from({ length: 40 }, (_, i) => [`s${i}`, `s${(i + 2) % 40}`]),
  ]);
  const out = skein(
    ...['preprocess', '--edges', 'ring.csv', '--node-table', 'signs.csv', '--label-column', 'y'],
    ...['--ignore-columns', 'note', '--output-directory', 'signs'],
  );
  expect(out).toContain('classes 2, features none');
  expect(read('signs/nodes/label_mapping.txt')).toEqual(['-1,0', '1,1']);
}, 60_000);

test('users and items: queried, scored and exported by their types', () => {
  const random = new Random(2);
  put('shop.csv', [
    ['user', 'item'],
    ...Array.from({ length: 600 }, () => [random.nextInt(20), random.nextInt(15)]),
  ]);
  const out = skein(
    'preprocess',
    '--edges',
    'shop.csv',
    '--src-column',
    'user',
    '--dst-column',
    'item',
    '--output-directory',
    'shop',
  );
  expect(out).toContain('nodes 35,');
  expect(out).toMatch(/^no validation and no test set: .*--dataset-split/m);
  writeFileSync(join(folder, 'shop.yaml'), skein('config', 'shop'));
  skein('train', 'shop.yaml', '--storage.model_dir=shop-run', '--training.num_epochs=1');
  const answers = skein('query', 'shop-run', '--head', '7', '--include-known', '--top', '35');
  expect(answers).toMatch(/item:7 /);
  // Users are recommended items: all of them are candidates, and no user is.
  expect(answers.match(/item:/g)).toHaveLength(15);
  expect(answers).not.toMatch(/user:/);
  expect(skein('query', 'shop-run', '--head', '7', '--all-candidates', '--top', '35')).toMatch(/user:/);
  expect(skein('query', 'shop-run', '--tail', 'item:7', '--top', '1')).toMatch(/^\?.*item:7\n/);
  expect(expectFailure('query', 'shop-run', '--neighbors', '7')).toMatch(
    /got "7"\. Did you mean user:7 or item:7\?/,
  );
  expect(skein('info', 'shop')).toMatch(/^nodes +35\nnode types +user \(20\), item \(15\)\nedges +600\n/m);
  put('pairs.csv', [
    ['user', 'item'],
    [7, 7],
    [3, 4],
  ]);
  skein('predict', 'shop-run', '--input-file', 'pairs.csv', '--save-scores', '--output-dir', '.');
  expect(read('scores.csv')[1]).toMatch(/^user:7,item:7,/);
  skein('export', 'shop-run', '--format', 'csv', '--output-dir', 'vectors');
  expect(
    read('vectors/embeddings.csv')
      .slice(1)
      .map((line) => line.split(',')[0]),
  ).toContain('item:7');
}, 240_000);

test('a table of customers with an id column, and orders with two node types', () => {
  const orders = Array.from({ length: 40 }, (_, i) => [i % 10, i % 7]);
  put('orders.csv', [['customer', 'product'], ...orders]);
  put('people.csv', [['id', 'age', 'segment'], ...Array.from({ length: 10 }, (_, i) => [i, 20 + i, i % 2])]);
  const prepare = [
    'preprocess',
    '--edges',
    'orders.csv',
    '--label-column',
    'segment',
    '--output-directory',
    'o',
  ];
  expect(expectFailure(...prepare, '--node-table', 'people.csv')).toMatch(
    /people\.csv:2: .*--node-table customer=people\.csv, name the id column/,
  );
  expect(skein(...prepare, '--node-table', 'customer=people.csv')).toContain('nodes 17,');
});

test('tables of both types of nodes are rejected one by one, and read as one file', () => {
  put('sales.csv', [['customer', 'product'], ...Array.from({ length: 40 }, (_, i) => [i % 10, i % 7])]);
  const prepare = ['preprocess', '--edges', 'sales.csv', '--output-directory', 'sales'];
  const both = ['--node-table', 'customer=people.csv', '--node-table', 'product=products.csv'];
  expect(expectFailure(...prepare, ...both)).toMatch(
    /^skein: preprocess: expected one --node-table, got customer=people\.csv and product=products\.csv\. Join them into one file: .*customer:7\.\n$/,
  );
  put('everything.csv', [
    ['id', 'age', 'price'],
    ...Array.from({ length: 10 }, (_, i) => [`customer:${i}`, 20 + i, '']),
    ...Array.from({ length: 7 }, (_, i) => [`product:${i}`, '', 3 * i]),
  ]);
  skein(...prepare, '--node-table', 'everything.csv');
  // Each column is a number and whether it is missing.
  expect(skein('info', 'sales')).toMatch(/^nodes +17\n[\s\S]*^features +4 per node$/m);
});

test('existing data is replaced on request; all edges are counted, whatever their split', () => {
  put('pairs-of-two.csv', [['user', 'item'], ...Array.from({ length: 100 }, (_, i) => [i % 9, i % 11])]);
  const prepare = ['preprocess', '--edges', 'pairs-of-two.csv', '--output-directory', 'two'];
  skein(...prepare);
  expect(expectFailure(...prepare)).toContain('or replace it with --overwrite');
  const split = skein(...prepare, '--overwrite', '--dataset-split', '0.9', '0.05', '0.05');
  expect(split).toMatch(/relations 1, edges 100, .*\ntraining 90, validation 5, test 5\nnext: /);
  expect(skein('info', 'two')).toMatch(
    /^edges +100\ntraining +90 edges\nvalidation +5 edges\ntest +5 edges$/m,
  );
});

test('a single relation need not be given by name', () => {
  put('rel.csv', [
    ['customer', 'rel', 'product'],
    ...Array.from({ length: 60 }, (_, i) => [i % 12, 'bought', i % 7]),
  ]);
  const prepared = skein('preprocess', '--edges', 'rel.csv', '--output-directory', 'rel');
  expect(prepared).toContain('relations 1, edges 60');
  const config = skein('config', 'rel', '--training.num_epochs=1');
  expect(config).toMatch(/type: DOT\n/);
  writeFileSync(join(folder, 'rel.yaml'), config);
  skein('train', 'rel.yaml', '--storage.model_dir=rel-run');
  const answers = skein('query', 'rel-run', '--head', '7', '--top', '2', '--include-known');
  expect(answers).toMatch(/^7 {2}bought {2}\?\n +1 {2}\S+/);
});

test('the error names unknown columns', () => {
  put('wide.csv', [
    ['CustomerID', 'a', 'b', 'ArticleID', 'c'],
    [1, 2, 3, 4, 5],
  ]);
  expect(expectFailure('preprocess', '--edges', 'wide.csv', '--output-directory', 'wide')).toMatch(
    /wide\.csv: expected a column for the source and one for the target of an edge, got the columns CustomerID, a, b, .* --src-column and --dst-column\.\n$/,
  );
});

/** `predict --nodes` on a graph some of whose nodes have no class. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { fitNodes, openModel } from '../../predict/index.js';
import { run } from '../program.js';
import { captureOutput } from '../testing/capture-output.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-unlabelled-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const printed = captureOutput();

it('classifies the nodes without a class, without metrics', async () => {
  const nodes = Array.from({ length: 40 }, (_, i) => ({
    ...{ id: `n${i}`, x: i % 2 },
    kind: i < 30 ? ['even', 'odd'][i % 2] : null,
  }));
  const edges = nodes.map(({ id }, i): [string, string] => [id, `n${(i + 2) % 40}`]);
  const directory = join(folder, 'fit');
  await (await fitNodes({ nodes, edges }, { label: 'kind', epochs: 10, directory })).close();
  expect(await run(['predict', directory, '--nodes', 'unlabelled', '--output-dir', folder])).toBe(0);
  expect(printed.out).toMatch(/10 nodes without a known class: no metrics\n/);
  expect(printed.out).not.toMatch(/NaN/);
  const rows = readFileSync(join(folder, 'labels.csv'), 'utf8').trim().split('\n').slice(1);
  const model = await openModel(directory);
  const classes = await model.classify(rows.map((row) => row.split(',')[0]));
  expect(rows.map((row) => row.split(',').slice(0, 3))).toEqual(
    classes.map((one) => [one.name, one.class, '']),
  );
  expect(rows.map((row) => Number(row.split(',')[3]))).toEqual(
    classes.map((one) => expect.closeTo(Math.max(...one.probabilities), 5)),
  );
  await model.close();
});

/** Keys of the dataset section that change a stream: types and random numbers as features, prescribed splits. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveTemporalConfig } from 'skein/train';
import { afterAll, describe, expect, test } from 'vitest';
import { openStream } from '#internal/train/tasks/events/open-stream.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-temporal-options-'));
afterAll(() => rmSync(folder, { recursive: true }));

const model = {
  sampling: { layer: 1, neighbor: [2] },
  memory: { type: 'none' },
  gnn: { arch: 'transformer_attention', layer: 1, att_head: 1, dim_time: 4, dim_out: 4 },
};
const open = (dataset: object) => openStream(resolveTemporalConfig({ dataset, ...model }).config);

describe('dataset', () => {
  const typed = join(folder, 'typed.txt');
  writeFileSync(typed, '1 2 10 a\n2 3 20 b\n1 3 30 a\n3 1 40 b\n');

  test('types_as_features puts the type of an event, one-hot, before its features', async () => {
    const { graph } = await open({ path: typed, types_as_features: true, new_node_share: 0 });
    expect(graph.featureWidth).toBe(2);
    expect([...graph.features!]).toEqual([1, 0, 0, 1, 1, 0, 0, 1]);
    const plain = join(folder, 'plain.txt');
    writeFileSync(plain, '1 2 10\n2 3 20\n');
    await expect(open({ path: plain, types_as_features: true })).rejects.toThrow(
      'dataset.types_as_features: expected events with types',
    );
  });

  test('random_node_features gives nodes the same numbers for the same seed', async () => {
    const once = await open({ path: typed, random_node_features: 5, new_node_share: 0 });
    const again = await open({ path: typed, random_node_features: 5, new_node_share: 0 });
    expect(once.graph.nodeFeatures?.shape).toEqual([3, 5]);
    expect([...once.graph.nodeFeatures!.dataSync()]).toEqual([...again.graph.nodeFeatures!.dataSync()]);
  });

  test('header and node_types override what the first line says', async () => {
    const path = join(folder, 'own.csv');
    writeFileSync(path, 'user,item,time\n1,1,1\n2,1,2\n3,2,3\n');
    const nodes = async (dataset: object) =>
      (await open({ path, new_node_share: 0, ...dataset })).graph.numNodes;
    expect(await nodes({})).toBe(5);
    expect(await nodes({ node_types: ['node'] })).toBe(3);
    expect(await nodes({ header: true })).toBe(5);
    await expect(nodes({ header: false, format: 'csv' })).rejects.toThrow(
      'own.csv:1: expected a number or an ISO 8601 date',
    );
  });

  test('the split of a TGL folder is the split of the run', async () => {
    const tgl = join(folder, 'tgl');
    mkdirSync(tgl);
    const rolls = [0, 0, 1, 2, 2, 2];
    const lines = rolls.map((roll, i) => `${i},${i % 2},${2 + (i % 2)},${i * 10},0,${roll}`);
    writeFileSync(join(tgl, 'edges.csv'), `,src,dst,time,int_roll,ext_roll\n${lines.join('\n')}\n`);
    const { rows } = await open({ path: tgl, new_node_share: 0 });
    expect([rows.train.length, rows.validation.length, rows.test.length]).toEqual([2, 1, 3]);
  });
});

test('overrides reach a dataset that the file gives by its name alone', () => {
  const resolve = (overrides: string[]) =>
    resolveTemporalConfig({ dataset: 'wikipedia', ...model }, overrides).config.dataset;
  expect(resolve([])).toMatchObject({ name: 'wikipedia', train_share: 0.7 });
  expect(resolve(['--dataset.train_share=0.5', '--dataset.new_node_share=0'])).toMatchObject({
    name: 'wikipedia',
    train_share: 0.5,
    new_node_share: 0,
  });
  expect(resolve(["dataset.name=''", 'dataset.path=e.csv'])).toMatchObject({ name: '', path: 'e.csv' });
});

/** Marius's commands as processes, with Marius's arguments: prepare, train, evaluate, predict, export. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { program, root } from '../programs.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-marius-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

/** Runs an alias; gives its last event. */
function alias(name: string, ...args: string[]): Record<string, unknown> {
  const script = program(`src/cli/bin/${name.replaceAll('_', '-')}.ts`);
  const done = spawnSync(process.execPath, [script, ...args, '--json'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect({ code: done.status, err: done.status === 0 ? '' : done.stderr }).toEqual({ code: 0, err: '' });
  return JSON.parse(done.stdout.trim().split('\n').at(-1) as string);
}

const edges = Array.from({ length: 1000 }, (_, i) => {
  const from = i % 100;
  const kind = Math.floor(i / 100);
  return `e${from}\tr${kind}\te${(from + 1 + 3 * kind + (i % 7)) % 100}\n`;
});

const config = `model:
  learning_task: LINK_PREDICTION
  encoder:
    layers:
      - - type: EMBEDDING
          output_dim: 10
  decoder:
    type: DISTMULT
  loss:
    type: SOFTMAX_CE
storage:
  device_type: cpu
  dataset:
    dataset_dir: ${at('graph')}
  edges:
    type: DEVICE_MEMORY
  embeddings:
    type: DEVICE_MEMORY
  model_dir: ${at('model')}
training:
  batch_size: 100
  negative_sampling:
    num_chunks: 2
    negatives_per_positive: 10
  num_epochs: 2
evaluation:
  batch_size: 100
  negative_sampling:
    filtered: true
`;

it('supports the whole workflow of a Marius user', () => {
  writeFileSync(at('edges.tsv'), edges.join(''));
  writeFileSync(at('config.yaml'), config);
  const columns = ['--src_column', '0', '--edge_type_column', '1', '--dst_column', '2', '--delim', '\t'];
  const split = ['--dataset_split', '0.9', '0.05', '0.05', '--num_partitions', '1'];
  const prepared = alias(
    'marius_preprocess',
    ...['--output_directory', at('graph'), '--edges', at('edges.tsv')],
    ...columns,
    ...split,
  );
  expect(prepared).toMatchObject({ num_nodes: 100, num_relations: 10, num_train: 900, num_test: 50 });
  const trained = alias('marius_train', at('config.yaml'));
  expect(alias('marius_eval', at('config.yaml'))['test']).toEqual(trained['test']);
  const predicted = alias(
    'marius_predict',
    ...['--config', at('config.yaml'), '--metrics', 'mrr', 'mean_rank', 'hits1', 'hits@k10'],
    ...['--save_scores', '--save_ranks', '--output_dir', at('predicted'), '--batch_size=30'],
  );
  expect(predicted).toMatchObject({
    items: 100,
    'test.mrr': expect.closeTo(Number(trained['test.mrr']), 10),
  });
  expect(readFileSync(at('predicted/metrics.txt'), 'utf8')).toMatch(
    /^mrr: .*\nmr: .*\nhits@1: .*\nhits@10: /,
  );
  expect(readFileSync(at('predicted/scores.csv'), 'utf8').trim().split('\n').length).toBe(101);
  alias('marius_postprocess', '--model_dir', at('model'), '--format', 'CSV', '--output_dir', at('tables'));
  const lines = readFileSync(at('tables/embeddings.csv'), 'utf8').trim().split('\n');
  expect([lines.length, lines[1].split(',').length]).toEqual([101, 11]);
}, 240_000);

/** `skein preprocess` and `skein export` as processes: Marius's options, ours, events, errors. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PreparedDataset } from 'skein/data';
import { afterAll, expect, test } from 'vitest';
import { skein as main, root } from '../programs.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function skein(...args: string[]): { code: number | null; events: Record<string, unknown>[]; err: string } {
  const done = spawnSync(process.execPath, [...main, ...args, '--json'], {
    cwd: root,
    encoding: 'utf8',
  });
  const lines = done.stdout.split('\n').filter((line) => line !== '');
  return { code: done.status, events: lines.map((line) => JSON.parse(line)), err: done.stderr };
}

const edges = join(folder, 'edges.csv');
writeFileSync(edges, 'from,to,kind,w\na,b,likes,1\nb,c,likes,2\nc,a,knows,3\nd,a,knows,4\n');

test("Marius's options, then an export of the same names", async () => {
  const out = join(folder, 'out');
  const columns = ['--src_column', 'from', '--dst_column', 'to', '--edge_type_column', 'kind'];
  const parts = ['--num_partitions', '2', '-ds', '0.5', '0.25', '0.25', '--edge_weight_column=w', '--spark'];
  const { code, events, err } = skein(
    'preprocess',
    '--edges',
    edges,
    '--output_directory',
    out,
    ...columns,
    ...parts,
  );
  expect({ code, err: /warning: --spark/.test(err) }).toEqual({ code: 0, err: true });
  expect(events.at(-1)).toMatchObject({
    event: 'done',
    num_nodes: 4,
    num_relations: 2,
    num_train: 2,
    num_test: 1,
  });
  expect(events.at(-1)?.['peak_rss_mb']).toBeGreaterThan(10);
  const data = await PreparedDataset.open(out, { verify: true });
  expect(data.bucketSizes('train')?.length).toBe(4);
  // A model directory as Marius leaves it.
  const model = mkdtempSync(join(folder, 'model-'));
  writeFileSync(
    join(model, 'embeddings.bin'),
    new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8).buffer),
  );
  writeFileSync(join(model, 'node_mapping.txt'), readFileSync(join(out, 'nodes/node_mapping.txt')));
  expect(skein('export', model).code).toBe(0);
  const names = await data.nodeNames();
  const text = readFileSync(join(model, 'embeddings.csv'), 'utf8');
  expect(text).toBe(
    `id,d0,d1\n${[0, 1, 2, 3].map((i) => `${names.nameOf(i)},${2 * i + 1},${2 * i + 2}\n`).join('')}`,
  );
  expect(skein('export', model)).toMatchObject({
    code: 2,
    events: [{ event: 'error', code: 'SKEIN_STORAGE' }],
  });
  expect(skein('export', model, '--format', 'BINARY', '--tables', 'embeddings').code).toBe(0);
}, 240_000);

test('what a run learned, by raw ids', () => {
  const data = join(folder, 'trained');
  const columns = ['--src-column', 'from', '--dst-column', 'to', '--edge-type-column', 'kind'];
  expect(
    skein('preprocess', '--edges', edges, '--output-directory', data, '--num-partitions', '2', ...columns)
      .code,
  ).toBe(0);
  const config = join(folder, 'run.yaml');
  writeFileSync(
    config,
    `model:
  learning_task: LINK_PREDICTION
  encoder: { layers: [[{ type: EMBEDDING, output_dim: 6 }]] }
  decoder: { type: DISTMULT }
  loss: { type: SOFTMAX_CE }
storage:
  model_dir: ${join(folder, 'run')}
  dataset: { dataset_dir: ${data} }
  embeddings: { type: PARTITION_BUFFER, options: { num_partitions: 2, buffer_capacity: 2 } }
training: { batch_size: 4, num_epochs: 1, negative_sampling: { negatives_per_positive: 2 } }
`,
  );
  expect(skein('train', config).code).toBe(0);
  const { code, events } = skein('export', join(folder, 'run'), '--output-dir', join(folder, 'exported'));
  expect({ code, event: events.at(-1)?.['event'] }).toEqual({ code: 0, event: 'done' });
  const lines = (name: string): string[] =>
    readFileSync(join(folder, 'exported', name), 'utf8')
      .trim()
      .split('\n');
  expect(lines('embeddings.csv').map((line) => line.split(',').length)).toEqual([7, 7, 7, 7, 7]);
  expect(
    lines('embeddings.csv')
      .slice(1)
      .map((line) => line[0])
      .sort(),
  ).toEqual(['a', 'b', 'c', 'd']);
  expect(
    lines('relation_embeddings.csv')
      .slice(1)
      .map((line) => line.split(',')[0])
      .sort(),
  ).toEqual(['knows', 'likes']);
}, 240_000);

test('wrong input has code 2 and says what is wrong', () => {
  const cases: [string[], RegExp][] = [
    [['preprocess', '--edges', edges], /--output-directory/],
    [
      ['preprocess', '--edges', edges, '--output-directory', join(folder, 'x'), '--src-column', 'from'],
      /the columns from, to, kind, w/,
    ],
    [
      ['preprocess', '--edges', edges, '--output-directory', join(folder, 'x'), '--src-column', 'from'],
      /expected a column for --dst-column too, got none/,
    ],
    [
      ['preprocess', '--edges', edges, '--output-directory', join(folder, 'x'), '--num-nodes', '9'],
      /expected --no-remap-ids too .* for --num-nodes, got 9/,
    ],
    [
      ['preprocess', '--edges', edges, '--output-directory', join(folder, 'x'), '--header', '--no-header'],
      /expected --header or --no-header, got both/,
    ],
    [['preprocess', '--dataset', 'FB15'], /Did you mean fb15k-237\?.*--edges FILE/],
    [['export', folder], /expected a model/],
  ];
  for (const [args, message] of cases) {
    const { code, events } = skein(...args);
    expect(code, args.join(' ')).toBe(2);
    expect(String(events.at(-1)?.['message'])).toMatch(message);
  }
}, 240_000);

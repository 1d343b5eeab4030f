/** A dataset that is prepared again under a trained run: every command that opens both fails, until the dataset is restored. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type PreprocessOptions, preprocess } from '../data/index.js';
import { loadTensors, saveTensors } from '../storage/index.js';
import { Random } from '../util/philox.js';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-again-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

const printed = captureOutput();

/** Runs a command line; gives its exit code and what it printed. */
async function skein(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  printed.clear();
  const code = await run(args);
  return { code, out: printed.out, err: printed.err };
}

async function done(...args: string[]): Promise<string> {
  const { code, err: said, out: text } = await skein(...args);
  expect({ code, said: code === 0 ? '' : said }).toEqual({ code: 0, said: '' });
  return text;
}

const graph = (more: Partial<PreprocessOptions> = {}): PreprocessOptions => ({
  ...{ edges: at('edges.tsv'), outputDir: at('graph'), split: [0.8, 0.1, 0.1] },
  ...{ overwrite: true, inProcess: true, ...more },
});
const table = (file: string): PreprocessOptions => ({
  ...{ edges: at('links.csv'), nodeTable: at(file), labelColumn: 'colour', outputDir: at('nodes') },
  ...{ overwrite: true, inProcess: true },
});

const linkConfig = (run: string, dataset: string): string => `model:
  random_seed: 3
  learning_task: LINK_PREDICTION
  encoder: { layers: [[{ type: EMBEDDING, output_dim: 8 }]] }
  decoder: { type: DISTMULT }
  loss: { type: SOFTMAX_CE }
storage: { model_dir: ${at(run)}, dataset: { dataset_dir: ${at(dataset)} } }
training: { batch_size: 100, num_epochs: 2, negative_sampling: { negatives_per_positive: 10 } }
evaluation: { negative_sampling: { filtered: true } }
`;

const nodeConfig = (run: string, dataset: string, width: number): string => `model:
  random_seed: 5
  learning_task: NODE_CLASSIFICATION
  encoder:
    train_neighbor_sampling: [{ type: ALL }]
    layers:
      - [{ type: FEATURE, output_dim: ${width} }]
      - [{ type: GNN, options: { type: GRAPH_SAGE, aggregator: MEAN }, input_dim: ${width}, output_dim: 2 }]
  decoder: { type: NODE }
  loss: { type: CROSS_ENTROPY }
storage: { model_dir: ${at(run)}, dataset: { dataset_dir: ${at(dataset)} } }
training: { batch_size: 20, num_epochs: 2 }
`;

/** A table of 60 nodes, red or blue; `first` says whose row is at the top, and so which class is 0. */
function writeTable(path: string, first: 'red' | 'blue', size = (i: number): number => i % 7): void {
  const ids = Array.from({ length: 60 }, (_, i) => i);
  const colour = (i: number): string => (i % 2 === 0 ? 'red' : 'blue');
  const rows = [...ids.filter((i) => colour(i) === first), ...ids.filter((i) => colour(i) !== first)];
  const lines = rows.map((i) => `n${i},${size(i)},${i % 2},${colour(i)}\n`);
  writeFileSync(path, `id,size,side,colour\n${lines.join('')}`);
}

beforeAll(async () => {
  const random = new Random(7);
  const edges = new Set<string>();
  while (edges.size < 500)
    edges.add(`e${random.nextInt(60)}\tr${random.nextInt(3)}\te${random.nextInt(60)}\n`);
  writeFileSync(at('edges.tsv'), [...edges].join(''));
  await preprocess(graph());
  writeFileSync(at('links.yaml'), linkConfig('run', 'graph'));
  await done('train', at('links.yaml'));
  // The edges name all nodes first, so that the order of the table does not number them.
  const pairs = Array.from({ length: 60 }, (_, i) => `n${i},n${(i + 2) % 60}\n`);
  writeFileSync(at('links.csv'), `source,target\n${pairs.join('')}`);
  writeTable(at('red.csv'), 'red');
  writeTable(at('blue.csv'), 'blue');
  await preprocess(table('red.csv'));
  writeFileSync(at('nodes.yaml'), nodeConfig('classes', 'nodes', 2));
  await done('train', at('nodes.yaml'));
}, 240_000);

const resume = ['--training.resume_training=true', '--training.num_epochs=3'];
const linkCommands: Readonly<Record<string, readonly string[]>> = {
  eval: ['eval', at('run')],
  query: ['query', at('run'), '--neighbors', 'e1'],
  predict: ['predict', at('run'), '--save-scores', '--output-dir', at('scores')],
  export: ['export', at('run'), '--output-dir', at('tables'), '--overwrite'],
  'export of relations': ['export', at('run'), '--what', 'relations', '--output-dir', at('tables')],
  'export as onnx': ['export', at('run'), '--format', 'onnx', '--output-dir', at('onnx')],
  resuming: ['train', at('run'), ...resume],
  'a run from its checkpoint': [
    ...['train', at('links.yaml'), `--storage.model_dir=${at('next')}`, '--training.num_epochs=1'],
    `--training.resume_from_checkpoint=${at('run')}`,
  ],
};

async function refusedAll(commands: typeof linkCommands, ...files: string[]): Promise<void> {
  for (const [name, args] of Object.entries(commands)) {
    const { code, err: said } = await skein(...args);
    expect({ name, code, said }).toMatchObject({ name, code: 2 });
    expect(said).toContain('expected the dataset that it was trained on, got');
    for (const file of files) expect(said).toContain(file);
    expect(said).toMatch(/Prepare it as before .*, or give the dataset that the run was trained on/);
    rmSync(at('next'), { recursive: true, force: true });
  }
}

const splits = ['train', 'validation', 'test'].map((split) => `edges/${split}_edges.bin`);

describe('edges prepared again', () => {
  afterEach(() => rmSync(at('tables'), { recursive: true, force: true }));

  it('with another seed, so that numbers mean other names', async () => {
    await preprocess(graph({ seed: 2 }));
    await refusedAll(linkCommands, 'nodes/node_mapping.txt', ...splits);
  });

  it('with another split, which has training edges among the test edges', async () => {
    await preprocess(graph({ split: [0.3, 0.1, 0.6] }));
    await refusedAll(linkCommands, ...splits);
    expect((await skein('eval', at('run'))).err).not.toContain('mapping');
  });

  it('as they were: everything opens again', async () => {
    await preprocess(graph({ seed: 2 }));
    await preprocess(graph());
    for (const args of Object.values(linkCommands).slice(0, 4)) await done(...args);
  });

  it('with ids that stay and another seed, or without a part', async () => {
    const lines = Array.from({ length: 200 }, (_, i) => `${i % 40},${(i * 7 + 3) % 40}\n`);
    writeFileSync(at('ids.csv'), lines.join(''));
    const ids = (more: Partial<PreprocessOptions>): PreprocessOptions =>
      graph({ edges: at('ids.csv'), outputDir: at('ids'), noRemapIds: true, ...more });
    await preprocess(ids({}));
    writeFileSync(at('ids.yaml'), linkConfig('ids-run', 'ids').replace('DISTMULT', 'DOT'));
    await done('train', at('ids.yaml'));
    await preprocess(ids({ seed: 2 }));
    await refusedAll({ eval: ['eval', at('ids-run')], on: ['train', at('ids-run'), ...resume] }, ...splits);
    await preprocess(ids({ split: [0.8, 0.2] }));
    await refusedAll({ eval: ['eval', at('ids-run')] }, 'edges/validation_edges.bin');
  });

  it('under a run whose record has no checksums: names are compared as before, nothing else', async () => {
    const path = join(at('run'), 'model.safetensors');
    const { tensors, metadata } = await loadTensors(path);
    const saved = JSON.parse(metadata['skein.checkpoint']);
    expect(Object.keys(saved.extra.identity.files)).toEqual(expect.arrayContaining(splits));
    delete saved.extra.identity.files;
    const older = { ...metadata, 'skein.checkpoint': JSON.stringify(saved) };
    await saveTensors(path, tensors, older);
    await preprocess(graph({ split: [0.3, 0.1, 0.6] }));
    await done('eval', at('run'));
    await preprocess(graph({ seed: 2 }));
    expect((await skein('eval', at('run'))).err).toContain('expected the dataset that it was trained on (');
    expect((await skein('export', at('run'), '--output-dir', at('tables'))).code).toBe(2);
  });
});

describe('nodes prepared again', () => {
  const commands = {
    eval: ['eval', at('classes')],
    predict: ['predict', at('classes'), '--save-labels', '--output-dir', at('labels')],
    resuming: ['train', at('classes'), ...resume],
  };

  it('from a table in another order, so that classes swap', async () => {
    await preprocess(table('blue.csv'));
    await refusedAll(commands, 'nodes/label_mapping.txt', 'nodes/labels.bin');
    expect((await skein('eval', at('classes'))).err).not.toContain('node_mapping');
  });

  it('from a table with other values', async () => {
    writeTable(at('sizes.csv'), 'red', (i) => i % 5);
    await preprocess(table('sizes.csv'));
    await refusedAll(commands, 'nodes/features.bin', 'nodes/encoding.json');
  });

  it('from a table with more columns, which is not a matter of the configuration', async () => {
    writeFileSync(
      at('wide.csv'),
      readFileSync(at('red.csv'), 'utf8').replaceAll(',', ',1,').replace(',1,', ',more,'),
    );
    await preprocess(table('wide.csv'));
    const { eval: one, predict: other } = commands;
    await refusedAll({ eval: one, predict: other }, 'nodes/features.bin', 'nodes/encoding.json');
  });

  it('with another split of the nodes', async () => {
    await preprocess({ ...table('red.csv'), nodeSplit: [0.2, 0.2, 0.6] });
    await refusedAll(commands, 'nodes/train_nodes.bin', 'nodes/test_nodes.bin');
  });

  it('as they were: everything opens again', async () => {
    await preprocess(table('red.csv'));
    for (const args of Object.values(commands)) await done(...args);
  });

  it('a run on edges alone does not mind features and classes', async () => {
    writeFileSync(at('pairs.yaml'), linkConfig('pairs-run', 'nodes').replace('DISTMULT', 'DOT'));
    await done('train', at('pairs.yaml'));
    await preprocess(table('sizes.csv'));
    await done('query', at('pairs-run'), '--neighbors', 'n1');
  });
});

describe('nothing to train on', () => {
  const few = (more: Partial<PreprocessOptions>): PreprocessOptions =>
    graph({ edges: at('few.csv'), outputDir: at('few'), ...more });

  it('edges: preprocess fails and leaves nothing behind', async () => {
    writeFileSync(at('few.csv'), 'a,b\nb,c\nc,a\nd,a\n');
    const refusal = await skein(
      ...['preprocess', '--edges', at('few.csv'), '--output-directory', at('few')],
      ...['--dataset-split', '0.1', '0.1', '0.8'],
    );
    expect(refusal).toMatchObject({ code: 2, out: '' });
    expect(refusal.err).toMatch(
      /^skein: preprocess: expected at least one training edge for --dataset-split, got 0 of 4\. .*fraction\.$/m,
    );
    expect(readdirSync(folder)).not.toContain('few');
    writeFileSync(at('few.yaml'), linkConfig('few-run', 'few').replace('DISTMULT', 'DOT'));
    await preprocess(few({ split: [0.5, 0.25, 0.25] }));
    await done('train', at('few.yaml'));
  }, 60_000);

  it('nodes: the same', async () => {
    await preprocess({ ...table('red.csv'), outputDir: at('no-nodes'), nodeSplit: [0, 0.5, 0.5] });
    writeFileSync(at('no-nodes.yaml'), nodeConfig('no-nodes-run', 'no-nodes', 2));
    const refusal = await skein('train', at('no-nodes.yaml'));
    expect(refusal).toMatchObject({ code: 2, out: '' });
    expect(refusal.err).toContain(`train: expected nodes to train on, got none in ${at('no-nodes')}`);
    expect(refusal.err).toMatch(/Prepare it again .*--node-split 0\.6 0\.2 0\.2/);
    expect(readdirSync(folder)).not.toContain('no-nodes-run');
  });

  it('events: the same', async () => {
    writeFileSync(at('few-events.csv'), 'src,dst,time\n1,2,5\n2,3,6\n3,1,7\n');
    writeFileSync(at('events.yaml'), await done('config', at('few-events.csv')));
    const keys = [`--storage.model_dir=${at('events-run')}`, '--dataset.new_node_share=0.99'];
    const refusal = await skein('train', at('events.yaml'), ...keys);
    expect(refusal).toMatchObject({ code: 2, out: '' });
    expect(refusal.err).toContain('train: expected events to train on, got none of 3');
    expect(refusal.err).toContain('Raise dataset.train_share');
    expect(readdirSync(folder)).not.toContain('events-run');
  });
});

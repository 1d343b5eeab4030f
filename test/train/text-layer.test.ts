/** Text of nodes: read from a table, trained as words, explained, and what it makes possible: nodes without any edge. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PreparedDataset, preprocess } from 'skein/data';
import { SparseMatrix } from 'skein/graph';
import { fromTypedArray, matmul, mul, reshape, sum } from 'skein/tensor';
import { openRun } from 'skein/train';
import { beforeAll, describe, expect, test } from 'vitest';
import { wordContributions } from '#internal/predict/explain/words.js';
import { scoreEdges } from '#internal/predict/top-nodes.js';
import { textBags } from '#internal/train/tasks/graph/model/text-bags.js';
import { learned, run, scratch, tinyConfig } from './tiny.js';

const folder = scratch();
const kinds = 8;
const items = 160;

/** Items whose text names their kind; the edges of every fifth are held out, so that training never sees these items. */
async function prepare(partitions = 1): Promise<string> {
  const files = folder();
  mkdirSync(files);
  const edge = (i: number): string => `item${i}\tis a\tkind${i % kinds}\n`;
  const all = Array.from({ length: items }, (_, i) => i);
  const put = (name: string, text: string): string => {
    writeFileSync(join(files, name), text);
    return join(files, name);
  };
  const edges = [
    put(
      'train.tsv',
      all
        .filter((i) => i % 5 !== 0)
        .map(edge)
        .join(''),
    ),
    put(
      'valid.tsv',
      all
        .filter((i) => i % 10 === 0)
        .map(edge)
        .join(''),
    ),
    put(
      'test.tsv',
      all
        .filter((i) => i % 10 === 5)
        .map(edge)
        .join(''),
    ),
  ];
  const rows = [
    'id,description,code',
    ...Array.from({ length: kinds }, (_, k) => `kind${k},"Colour-${k}, a kind",k`),
    ...all.map((i) => `item${i},"a thing of colour ${i % kinds} with number x${i % 3}",i`),
  ];
  const nodeTable = put('nodes.csv', `${rows.join('\n')}\n`);
  const outputDir = join(files, 'prepared');
  const text = { textColumns: ['description'], ignoreColumns: ['code'] };
  await preprocess({ inProcess: true, edges, nodeTable, ...text, partitions, outputDir });
  return outputDir;
}

let dataset: string;
beforeAll(async () => {
  dataset = await prepare();
});

const textLayer = { type: 'TEXT', output_dim: 8, options: { word_dim: 6 } };
const embedding = { type: 'EMBEDDING', output_dim: 8 };
const reduction = { type: 'REDUCTION', options: { type: 'SUM' } };

const configOf = (layers: readonly object[][], more: object = {}, directory = dataset) =>
  tinyConfig(directory, {
    ...{ model: { encoder: { layers }, decoder: { type: 'COMPLEX' } } },
    training: { num_epochs: 15, negative_sampling: { degree_fraction: 0, known_ends: true } },
    storage: { model_dir: folder(), ...more },
  });

describe('a prepared directory', () => {
  test('has the words of each node', async () => {
    const data = await PreparedDataset.open(dataset, { verify: true });
    expect(data.textColumns).toEqual(['description']);
    const text = await data.readText();
    const names = await data.nodeNames();
    const id = names.idOf('item9') as number;
    const words = text?.words.subarray(text.offsets[id], text.offsets[id + 1]) ?? [];
    expect([...words].map((word) => text?.vocabulary.words[word])).toEqual(
      'a thing of colour 1 with number x0'.split(' '),
    );
    expect(data.textSizes).toEqual({ columns: 1, words: text?.vocabulary.words.length });
    // All nodes have "a" and "colour": such words have no weight.
    const { values, adjacency } = (text as NonNullable<typeof text>).matrix();
    const row = [...values.subarray(adjacency.offsets[id], adjacency.offsets[id + 1])];
    expect(row[0]).toBe(0);
    expect(row[4]).toBeGreaterThan(row[1]);
    expect(row.reduce((total, value) => total + value ** 2, 0)).toBeCloseTo(1, 5);
  });

  test('is needed by a TEXT layer', async () => {
    const files = folder();
    mkdirSync(files);
    writeFileSync(join(files, 'edges.tsv'), 'a\tr\tb\nb\tr\tc\n');
    const outputDir = join(files, 'out');
    await preprocess({ inProcess: true, edges: join(files, 'edges.tsv'), outputDir });
    await expect(run(configOf([[textLayer]], {}, outputDir))).rejects.toThrow(
      /a layer that needs no text.*got "?TEXT"?.*--text-columns/,
    );
  });
});

test('sums of word vectors and their gradient are those of the dense product', () => {
  const offsets = Int32Array.of(0, 2, 2, 3, 5);
  const matrix = SparseMatrix.fromCsr(
    offsets,
    Int32Array.of(1, 4, 1, 0, 4),
    Float32Array.of(1, 2, 3, 4, 5),
    [4, 6],
  );
  const values = Float32Array.from({ length: 18 }, (_, i) => Math.sin(i));
  const [table, dense] = [values, values].map((v) => fromTypedArray(v.slice(), [6, 3]).setRequiresGrad());
  const weight = fromTypedArray(
    Float32Array.from({ length: 12 }, (_, i) => Math.cos(i)),
    [2, 6],
  );
  const bags = textBags({ matrix, columns: 2 }, table);
  const expected = reshape(matmul(matrix.toDense(), dense), [2, 6]);
  expect([...bags.dataSync()]).toEqual([...expected.dataSync()].map((x) => expect.closeTo(x, 5)));
  sum(mul(bags, weight)).backward();
  sum(mul(expected, weight)).backward();
  const rows = table.sparseGrad?.coalesce();
  expect([...(rows?.ids ?? [])]).toEqual([0, 1, 4]);
  const gradient = new Float32Array(18);
  rows?.addTo(gradient);
  expect([...gradient]).toEqual([...(dense.grad?.dataSync() ?? [])].map((x) => expect.closeTo(x, 5)));
});

describe('a run', () => {
  test('with text ranks the kind of items without training edges first; one without text cannot', async () => {
    const text = await run(configOf([[embedding, textLayer], [reduction]]));
    expect(text.test?.['hits@1'], 'both directions').toBeGreaterThan(0.45);
    expect(text.test?.mrr).toBeGreaterThan(0.5);
    const without = await run(configOf([[embedding]]));
    expect(without.test?.mrr).toBeLessThan(0.25);
  });

  test('with a partition buffer reads the words of resident nodes', async () => {
    const buffer = { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } };
    const partitioned = await prepare(4);
    const found = await run(
      configOf([[embedding, textLayer], [reduction]], { embeddings: buffer }, partitioned),
    );
    expect(found.test?.mrr).toBeGreaterThan(0.45);
  });

  test('drops words, repeats bit for bit, and resumes', async () => {
    const dropping = { ...textLayer, options: { word_dim: 6, word_dropout: 0.3 } };
    const layers = [[embedding, dropping], [reduction]];
    const [first, second] = [configOf(layers), configOf(layers)];
    const whole = await run(first);
    const stop = new Error('stop');
    const checkpoint = { checkpoint: { interval: 1 } };
    const cut = {
      ...second,
      training: {
        ...second.training,
        checkpoint: { ...second.training.checkpoint, ...checkpoint.checkpoint },
      },
    };
    await expect(
      run(cut, ({ event, epoch }) => {
        if (event === 'epoch' && epoch === 8) throw stop;
      }),
    ).rejects.toBe(stop);
    const resumed = await run({ ...cut, training: { ...cut.training, resume_training: true } });
    expect(resumed.test).toEqual(whole.test);
    const [a, b] = [
      await learned(String(first.storage.model_dir)),
      await learned(String(second.storage.model_dir)),
    ];
    for (const key of Object.keys(a).filter((name) => /words|lin|embeddings/.test(name)))
      expect(b[key]).toBe(a[key]);
  });

  test('explains scores by words: with text alone they add up', async () => {
    const config = configOf([[textLayer]]);
    await run(config);
    const opened = await openRun(String(config.storage.model_dir), { command: 'test', over: 'graph' });
    try {
      const names = await opened.dataset.nodeNames();
      const [node, answer, instead] = ['item5', 'kind5', 'kind2'].map((name) => names.idOf(name) as number);
      const words = await wordContributions(opened, { node, relation: 0, answer, instead });
      const [high, low] = await scoreEdges(opened, {
        src: Int32Array.of(node, node),
        dst: Int32Array.of(answer, instead),
        relations: Int32Array.of(0, 0),
      });
      const total = (words ?? []).reduce((all, { value }) => all + value, 0);
      expect(total).toBeCloseTo(high - low, 3);
      expect(words?.[0]).toMatchObject({ word: '5', column: 'description' });
    } finally {
      await opened.close();
    }
  });
});

describe('wrong settings', () => {
  test('SUM of different widths', () => {
    expect(() => configOf([[embedding, { ...textLayer, output_dim: 6 }], [reduction]])).toThrow(
      /the output_dim 8 of the sum.*layers\[0\]\[1\]\.output_dim.*got 6/,
    );
  });

  test('TEXT on a GPU', () => {
    expect(() => configOf([[textLayer]], { device_type: 'webgpu' })).toThrow(/no TEXT layer.*webgpu/);
  });

  test('text columns that are ids', async () => {
    const files = folder();
    mkdirSync(files);
    writeFileSync(join(files, 'edges.tsv'), 'a\tb\n');
    writeFileSync(join(files, 'nodes.csv'), 'id,text\na,x\n');
    const options = { edges: join(files, 'edges.tsv'), nodeTable: join(files, 'nodes.csv'), inProcess: true };
    await expect(
      preprocess({ ...options, textColumns: ['id'], outputDir: join(files, 'out') }),
    ).rejects.toThrow(/columns other than those of ids and classes.*--text-columns.*got "id"/);
  });
});

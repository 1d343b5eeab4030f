/** Loading of configurations: Marius's forms, overrides, derived keys, warnings, rendering as YAML. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { loadConfig, resolveConfig } from 'skein/train';
import { ConfigError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkAgainstDataset } from '#internal/train/config/check-dataset.js';
import { readConfigFile, renderConfig } from '#internal/train/config/config-file.js';
import { datasetFacts } from '#internal/train/config/dataset-facts.js';
import { learningRateFactor } from '#internal/train/config/schedule.js';
import { configTemplate } from '#internal/train/config/template.js';
import { loadTemporalConfig } from '#internal/train/tasks/events/run-config.js';

const fixtures = fileURLToPath(new URL('../fixtures/config', import.meta.url));
const load = (name: string, ...overrides: string[]) => loadConfig(join(fixtures, `${name}.yaml`), overrides);
const names = [
  'embedding-only',
  'graph-sage-uniform',
  'partition-buffer',
  'node-classification',
  'first-release',
];

/** The least that is a configuration. */
const least = () => ({
  model: { learning_task: 'LP', encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 8 }]] } },
  storage: { dataset: { dataset_dir: 'd' } },
});

describe("Marius's files", () => {
  it.each(names)('%s loads', (name) => {
    expect(() => load(name)).not.toThrow();
  });

  it('give one warning for each thing without effect', () => {
    expect(load('embedding-only').warnings).toEqual([
      'model.decoder.options.input_dim: has no effect, the width follows from the encoder.',
      'storage.save_model: has no effect, training.save_model is used instead.',
      'storage.edges.type: DEVICE_MEMORY is read as HOST_MEMORY.',
    ]);
    const { warnings } = load('graph-sage-uniform');
    expect(warnings).toHaveLength(6);
    expect(warnings.join('\n')).toMatch(/train_neighbor_sampling\[0\]\.use_hashmap_sets/);
    expect(load('partition-buffer').warnings).toEqual([]);
  });

  it('for CUDA run on the cpu where webgpu cannot', () => {
    const buffered = { ...least(), storage: { ...least().storage, device_type: 'gpu' } };
    const embeddings = 'storage.embeddings={type: PARTITION_BUFFER, options: {num_partitions: 8}}';
    const { config, warnings } = resolveConfig(buffered, [embeddings]);
    expect(config.storage.device_type).toBe('cpu');
    expect(warnings.join()).toMatch(/embeddings\.type PARTITION_BUFFER does not run on webgpu.* on the cpu/);
    expect(resolveConfig(buffered).config.storage.device_type).toBe('cuda');
  });

  it('mean what Marius means', () => {
    const { model, storage, training, evaluation } = load('embedding-only').config;
    expect(model.encoder.embedding_dim).toBe(50);
    expect(model.dense_optimizer).toEqual({
      type: 'ADAM',
      options: { learning_rate: 0.1, amsgrad: false, beta_1: 0.9, beta_2: 0.999, eps: 1e-8, weight_decay: 0 },
    });
    expect(storage).toMatchObject({
      device_type: 'cuda',
      embeddings: { type: 'DEVICE_MEMORY', options: { dtype: 'float32' } },
    });
    expect(training.negative_sampling).toMatchObject({ num_chunks: 10, negatives_per_positive: 500 });
    // Filtered evaluation is among all nodes.
    expect(evaluation.negative_sampling).toMatchObject({
      num_chunks: 1,
      negatives_per_positive: -1,
      filtered: true,
    });
  });

  it('fill in what the file leaves to others', () => {
    const { encoder, decoder, loss, sparse_optimizer, random_seed } = load('graph-sage-uniform').config.model;
    expect(random_seed).toBe(456356765463);
    expect(encoder.eval_neighbor_sampling).toEqual(encoder.train_neighbor_sampling);
    expect(encoder.train_neighbor_sampling[2]).toEqual({ type: 'UNIFORM', options: { max_neighbors: 10 } });
    expect(encoder.layers[2][0].options).toEqual({ type: 'GRAPH_SAGE', aggregator: 'GCN' });
    expect(decoder).toMatchObject({
      type: 'COMPLEX',
      options: { edge_decoder_method: 'CORRUPT_NODE', comparator: 'DOT' },
    });
    expect(loss).toEqual({ type: 'RANKING', options: { reduction: 'MEAN', margin: 0.5 } });
    // No sparse optimiser: Adagrad with the rate of the dense one.
    expect(sparse_optimizer).toMatchObject({ type: 'ADAGRAD', options: { learning_rate: 0.01 } });
    expect(load('partition-buffer').config.model.decoder.options).toMatchObject({ comparator: 'L2' });
  });

  it('of the first release become the current form, with notes', () => {
    const { config, warnings } = load('first-release');
    expect(config.model.encoder.layers.map(([layer]) => [layer.type, layer.output_dim])).toEqual([
      ['EMBEDDING', 50],
      ['GNN', 50],
    ]);
    expect(config.model.encoder.train_neighbor_sampling).toEqual([
      { type: 'UNIFORM', options: { max_neighbors: 10 } },
    ]);
    expect(config.model.encoder.eval_neighbor_sampling).toEqual([{ type: 'ALL', options: {} }]);
    expect(config.model.loss.type).toBe('SOFTMAX_CE');
    expect(config.storage.dataset.dataset_dir).toBe('datasets/fb15k237_32/');
    expect(config.storage.embeddings.options).toMatchObject({ edge_bucket_ordering: 'COMET' });
    expect(config.evaluation.negative_sampling.filtered).toBe(true);
    for (const key of [
      'base_directory',
      'layers',
      'encoder.optimizer',
      'filtered_evaluation',
      'use_hashmap_sets',
    ])
      expect(
        warnings.filter((warning) => warning.includes(key)),
        key,
      ).toHaveLength(1);
  });

  it('run with keys that Marius ignores, with one warning each', () => {
    const layers = [
      '[{type: EMBEDDING, output_dim: 6}, {type: FEATURE, output_dim: 4}]',
      '[{type: REDUCTION, input_dim: 100, ouptut_dim: 8, options: {type: LINEAR}}]',
      '[{type: GNN, input_dim: 8, output_dim: 8, options: {type: GAT, aggregator: MEAN}}]',
    ];
    const { config, warnings } = resolveConfig(least(), [
      `model.encoder.layers=[${layers.join(', ')}]`,
      'model.encoder.train_neighbor_sampling=[{use_incoming_nbrs: true, use_outgoing_nbrs: false}]',
    ]);
    expect(config.model.encoder.layers[1][0]).toMatchObject({ input_dim: 10, output_dim: 8 });
    expect(config.model.encoder.layers[2][0].options).not.toHaveProperty('aggregator');
    expect(config.model.encoder.use_outgoing_nbrs).toBe(false);
    expect(warnings).toEqual([
      'model.encoder.layers[1][0].ouptut_dim: read as model.encoder.layers[1][0].output_dim.',
      'model.encoder.train_neighbor_sampling[…].use_incoming_nbrs: read as model.encoder.use_incoming_nbrs.',
      'model.encoder.train_neighbor_sampling[…].use_outgoing_nbrs: read as model.encoder.use_outgoing_nbrs.',
      'model.encoder.layers[2][0].options.aggregator: has no effect, it is an option of GRAPH_SAGE, which GAT, GCN and RGCN do not have.',
      'model.encoder.layers[1][0].input_dim: the previous stage has 10 columns, not 100; 10 is used.',
    ]);
    // A width without a layer that could have meant it is still an error.
    const twice = 'model.encoder.layers[0][0]={type: EMBEDDING, output_dim: 6, ouptut_dim: 7}';
    expect(() => resolveConfig(least(), [twice])).toThrow(/ouptut_dim.*Did you mean .*output_dim/);
  });

  it('take the sampling options of the API document', () => {
    const tree = parse(readFileSync(join(fixtures, 'graph-sage-uniform.yaml'), 'utf8'));
    delete tree.model.encoder.train_neighbor_sampling;
    tree.training_sampling = { neighbor_sampling_strategy: 'uniform', max_neighbors_size: 7 };
    tree.evaluation_sampling = { neighbor_sampling_strategy: 'All' };
    tree.model.num_layers = 3;
    const { config, warnings } = resolveConfig(tree);
    const seven = { type: 'UNIFORM', options: { max_neighbors: 7 } };
    expect(config.model.encoder.train_neighbor_sampling).toEqual([seven, seven, seven]);
    expect(config.model.encoder.eval_neighbor_sampling[2]).toEqual({ type: 'ALL', options: {} });
    expect(warnings.join('\n')).toMatch(
      /training_sampling: read as[\s\S]*evaluation_sampling: read as[\s\S]*num_layers/,
    );
  });
});

it('a file is read once: what is loaded afterwards needs it no more', () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-read-once-'));
  const path = join(folder, 'c.yaml');
  writeFileSync(path, readFileSync(join(fixtures, 'embedding-only.yaml')));
  const file = readConfigFile(path);
  rmSync(folder, { recursive: true });
  expect(loadConfig(file).config.training).toEqual(load('embedding-only').config.training);
  expect(() => loadConfig(file, ['training.x=1'])).toThrow(/expected a known key, got training\.x/);
});

describe('overrides', () => {
  it('replace and add keys, with YAML values', () => {
    const { config, given } = load(
      'embedding-only',
      '--training.num_epochs=3',
      'training.early_stopping={patience: 2}',
      '--model.encoder.layers[0][0].output_dim=16',
      '--evaluation.metrics=[MRR, hits10, hits@k3]',
      '--storage.memory_budget=1.5G',
      '--storage.model_dir=runs/a=b',
    );
    expect(config.training).toMatchObject({ num_epochs: 3, early_stopping: { metric: 'mrr', patience: 2 } });
    expect(config.model.encoder.embedding_dim).toBe(16);
    expect(config.evaluation.metrics).toEqual(['mrr', 'hits@10', 'hits@3']);
    expect(config.storage).toMatchObject({ memory_budget: 1.5 * 2 ** 30, model_dir: 'runs/a=b' });
    expect(given.has('training.num_epochs') && !given.has('training.logs_per_epoch')).toBe(true);
  });
});

it('says when cached inputs cannot help', () => {
  const warningsOf = (options: object, ...between: object[][]): string => {
    const gnn = { type: 'GNN', options, output_dim: 3 };
    const layers = [[{ type: 'FEATURE', output_dim: 6 }], ...between, [gnn], [gnn]];
    const tree = least();
    const model = { ...(tree['model'] as object), learning_task: 'nc', encoder: { layers } };
    const training = { full_batch: true };
    return resolveConfig({ ...tree, model, training, distributed: { cache_inputs: true } }).warnings.join();
  };
  const told = /distributed\.cache_inputs: has no effect/;
  expect(warningsOf({ type: 'GRAPH_SAGE', aggregator: 'MEAN' })).not.toMatch(told);
  expect(warningsOf({ type: 'GCN' })).not.toMatch(told);
  for (const type of ['GAT', 'GATV2', 'TRANSFORMER']) expect(warningsOf({ type })).toMatch(told);
  expect(warningsOf({ type: 'GCN' }, [{ type: 'DENSE', output_dim: 5 }])).toMatch(told);
});

describe('defaults', () => {
  it('need three keys only', () => {
    const { config, warnings } = resolveConfig(least());
    expect(warnings).toEqual([]);
    expect(config.model).toMatchObject({
      learning_task: 'LINK_PREDICTION',
      decoder: { type: 'DISTMULT' },
      loss: { type: 'SOFTMAX_CE' },
    });
    expect(config.training).toMatchObject({ batch_size: 1000, num_epochs: 10, early_stopping: null });
    expect(config.evaluation.ties).toBe('REALISTIC');
  });

  it('follow the task', () => {
    const { model, evaluation } = resolveConfig(least(), ['model.learning_task=nc']).config;
    expect([model.decoder.type, model.loss.type]).toEqual(['NODE', 'CROSS_ENTROPY']);
    expect(evaluation.metrics).toEqual(['accuracy', 'f1_macro']);
  });

  it('shrink the buffer with the partitions', () => {
    const buffer = 'storage.embeddings={type: PARTITION_BUFFER, options: {num_partitions: 4}}';
    const { options } = resolveConfig(least(), [buffer]).config.storage.embeddings;
    expect(options).toMatchObject({ num_partitions: 4, buffer_capacity: 4 });
  });

  it('draw a seed when there is none', () => {
    const seeds = new Set(Array.from({ length: 8 }, () => resolveConfig(least()).config.model.random_seed));
    expect(seeds.size).toBeGreaterThan(1);
  });

  it('say when double, int64 or options of the node table are something else here', () => {
    const { config, warnings } = resolveConfig(least(), [
      'storage.embeddings.options.dtype=double',
      'storage.edges.options.dtype=long',
      'model.sparse_optimizer={type: ADAM, options: {amsgrad: true}}',
    ]);
    expect(config.storage.embeddings.options.dtype).toBe('float32');
    expect(config.model.sparse_optimizer.options).toMatchObject({ amsgrad: false });
    expect(warnings).toHaveLength(3);
  });

  it('chain widths that are left out', () => {
    const { layers } = resolveConfig(least(), [
      'model.encoder.layers=[[{type: EMBEDDING, output_dim: 6}, {type: FEATURE, output_dim: 4}], [{type: REDUCTION}], [{type: DENSE, output_dim: 5}], [{type: GNN, output_dim: 3}]]',
      'model.encoder.train_neighbor_sampling=[{}]',
    ]).config.model.encoder;
    expect(layers.slice(1).map(([layer]) => [layer.input_dim, layer.output_dim])).toEqual([
      [10, 10],
      [10, 5],
      [5, 3],
    ]);
  });
});

it.each(names)('%s comes back from its resolved file the same, without warnings', (name) => {
  const { config } = load(name);
  const again = resolveConfig(parse(renderConfig(config)));
  expect(again.config).toEqual(config);
  expect(again.warnings).toEqual([]);
});

describe('templates', () => {
  it.each(['fb15k-237', 'OGBN_ARXIV', 'karate-club', 'aifb'])('%s', async (dataset) => {
    const facts = await datasetFacts(dataset);
    for (const task of ['LINK_PREDICTION', 'NODE_CLASSIFICATION'] as const) {
      if (task === 'NODE_CLASSIFICATION' && (facts.num_classes ?? 0) < 1) continue;
      const { config, warnings } = resolveConfig(parse(configTemplate({ dataset, task, facts })));
      expect(warnings).toEqual([]);
      expect(checkAgainstDataset(config, facts)).toEqual([]);
    }
  });

  it.each([500, 5_000_000])('a graph of users and items with %i edges', (edges) => {
    const facts = {
      num_nodes: 300,
      num_relations: 1,
      has_relations: false,
      num_train: edges,
      is_bipartite: true,
    };
    const { config, warnings } = resolveConfig(
      parse(configTemplate({ dataset: 'shop', task: 'LINK_PREDICTION', facts })),
    );
    expect(warnings).toEqual([]);
    expect(checkAgainstDataset(config, facts)).toEqual([]);
    expect(config.training.early_stopping?.metric).toBe('ndcg@10');
    expect(config.model.encoder.train_neighbor_sampling[0].type).toBe(edges > 1e6 ? 'UNIFORM' : 'ALL');
  });

  it('work without statistics', () => {
    const text = configTemplate({ dataset: 'my data', task: 'NODE_CLASSIFICATION' });
    expect(resolveConfig(parse(text)).config.storage.dataset.dataset_dir).toBe('my data');
  });

  it('name the nearest dataset', async () => {
    await expect(datasetFacts('fb15k-23')).rejects.toThrow(/Did you mean fb15k-237/);
  });
});

it('learning rates over time', () => {
  const schedule = {
    type: 'LINEAR',
    warmup_epochs: 0,
    final_factor: 0.5,
    gamma: 0.1,
    step_epochs: 2,
  } as const;
  const over = (options: object) =>
    [0, 1, 2, 4].map((epoch) => learningRateFactor({ ...schedule, ...options }, epoch, 4));
  expect(over({})).toEqual([1, 0.875, 0.75, 0.5]);
  expect(over({ type: 'CONSTANT', warmup_epochs: 1 })).toEqual([0.5, 1, 1, 1]);
  expect(over({ type: 'COSINE' })[2]).toBeCloseTo(0.75);
  expect(over({ type: 'STEP', gamma: 0.5 })).toEqual([1, 1, 0.5, 0.25]);
  expect(over({ type: 'EXPONENTIAL', gamma: 0.5 })).toEqual([1, 0.5, 0.25, 0.0625]);
});

it('any one value replaced by anything is accepted and comes back the same, or is a ConfigError', () => {
  const value = fc.oneof(
    fc.constantFrom(null, '', 0, -1, 1e308, Number.NaN, true, 'ALL', 'NODE', [], {}, [[]], [{}], {
      type: 'GNN',
    }),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const trees = names.map((name) => parse(readFileSync(join(fixtures, `${name}.yaml`), 'utf8')));
  const place = fc
    .constantFrom(...trees)
    .chain((tree) => fc.tuple(fc.constant(tree), fc.constantFrom(...paths(tree))));
  fc.assert(
    fc.property(place, value, ([tree, path], replacement) => {
      const changed = structuredClone(tree);
      const holder = path.slice(0, -1).reduce((at, part) => at[part], changed);
      holder[path[path.length - 1]] = replacement;
      let loaded: ReturnType<typeof resolveConfig>;
      try {
        loaded = resolveConfig(changed);
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError);
        return;
      }
      expect(resolveConfig(parse(renderConfig(loaded.config))).config).toEqual(loaded.config);
    }),
    { numRuns: 1500, seed: 11 },
  );
});

it('keys and names that every object has are treated like others', () => {
  const words = ['toString', 'constructor', '__proto__', 'hasOwnProperty', 'valueOf'];
  const awkward: unknown[] = [
    ...[
      'constructor',
      { toString: 1 },
      [{ toString: 1 }],
      { type: 'constructor' },
      { type: { toString: 1 } },
    ],
    JSON.parse('{ "__proto__": 1 }'),
  ];
  for (const name of ['graph-sage-uniform', 'first-release']) {
    const tree = parse(readFileSync(join(fixtures, `${name}.yaml`), 'utf8'));
    for (const path of paths(tree)) {
      for (const replacement of awkward) {
        const changed = structuredClone(tree);
        const holder = path.slice(0, -1).reduce((at, part) => at[part], changed);
        holder[path[path.length - 1]] = replacement;
        try {
          resolveConfig(changed);
        } catch (error) {
          expect(error, `${path.join('.')} = ${JSON.stringify(replacement)}`).toBeInstanceOf(ConfigError);
        }
      }
    }
  }
  for (const word of words)
    for (const key of [word, `model.${word}`, `${word}.x`, `model.${word}.name`])
      expect(() => resolveConfig(least(), [`${key}=1`])).toThrow(ConfigError);
  expect(Object.keys(Object.prototype)).toEqual([]);
});

it.each([
  ['a text', 'training.num_epochs=5', 'got "training.num_epochs=5".'],
  ['an object', { training: {} }, 'got Object.'],
  ['null', null, 'got null.'],
  ['a number in the list', ['training.num_epochs=5', 5], 'got 5 in the list.'],
])('overrides that are not a list of strings: %s', (_, overrides, message) => {
  const path = join(fixtures, 'embedding-only.yaml');
  for (const read of [
    () => resolveConfig(least(), overrides as never),
    () => loadConfig(path, overrides as never),
    () => loadTemporalConfig(path, overrides as never),
  ]) {
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(`for overrides, ${message}`);
  }
});

/** The path of every value in a tree. */
function paths(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [[...path]];
  const inner = Object.entries(value).flatMap(([key, item]) =>
    paths(item, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return path.length === 0 ? inner : [[...path], ...inner];
}

/**
 * Configurations as Marius users write them, run from one end to the other on tiny datasets: no error, finite losses that
 * fall, metrics for the sets that are there, and the files that a run leaves.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig, resolveConfig } from 'skein/train';
import { Random } from 'skein/util';
import { describe, expect, test } from 'vitest';
import {
  type DatasetOptions,
  type FinishedRun,
  learned,
  randomRows,
  run,
  scratch,
  tinyConfig,
  writeDataset,
} from './tiny.js';

const folder = scratch();
/** Relation r leads from nodes of group g to nodes of group g + r, of ten groups: something to find out. */
const rows = randomRows(100, 1000, 10).map((id, i, all) =>
  i % 3 === 2 ? (id - (id % 10) + ((all[i - 2] + all[i - 1]) % 10)) % 100 : id,
);
const split = {
  train: rows.subarray(0, 2700),
  validation: rows.subarray(2700, 2850),
  test: rows.subarray(2850),
};
const noise = (count: number, seed: number): Float32Array => {
  const random = new Random(seed);
  return Float32Array.from({ length: count }, () => random.nextFloat() - 0.5);
};
const features = { width: 6, values: noise(600, 3) };
const links = (more: Partial<DatasetOptions> = {}): string =>
  writeDataset(folder(), { numNodes: 100, numRelations: 10, ...split, ...more });
const plain = links({ features });

/** Nodes of class i % classes whose features show it a little, mostly linked to their like; the first 60 % train. */
function classes(numClasses: number, width: number, partitions = 1): string {
  const random = new Random(7);
  const labels = Int32Array.from({ length: 100 }, (_, i) => i % numClasses);
  const values = noise(100 * width, 8);
  for (let i = 0; i < 100; i++) values[i * width + (labels[i] % width)] += 1;
  const edges = Array.from({ length: 400 }, () => {
    const a = random.nextInt(100);
    return [a, (a + numClasses * random.nextInt(8)) % 100];
  });
  const range = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, i) => from + i);
  return writeDataset(folder(), {
    numNodes: 100,
    train: Int32Array.from(edges.flat()),
    partitions,
    features: { width, values },
    labels,
    numClasses,
    nodes: { train: range(0, 60), validation: range(60, 80), test: range(80, 100) },
  });
}

function expectLearning({ losses, validation, test: metrics, directory }: FinishedRun, main: string): void {
  expect(losses.length).toBeGreaterThan(1);
  expect(losses.every(Number.isFinite)).toBe(true);
  expect(losses[losses.length - 1]).toBeLessThan(losses[0]);
  for (const found of [validation, metrics]) {
    expect(found[main]).toBeGreaterThan(0);
    expect(found[main]).toBeLessThanOrEqual(1);
  }
  const names = [
    'model.safetensors',
    'full_config.yaml',
    'config.yaml',
    'metrics.jsonl',
    'log.txt',
    'done.json',
  ];
  expect(names.filter((name) => !existsSync(join(directory, name)))).toEqual([]);
}

describe('files of Marius', () => {
  const fixture = (name: string) =>
    fileURLToPath(new URL(`../fixtures/config/${name}.yaml`, import.meta.url));
  const counts = ['num_edges', 'num_nodes', 'num_relations', 'num_train', 'num_valid', 'num_test'];
  /** Only where the data is, its counts, and how long to train are other than in the file. */
  const load = (name: string, dataset: string, key = 'dataset_dir') =>
    loadConfig(fixture(name), [
      `--storage.dataset.${key}=${dataset}`,
      `--storage.model_dir=${folder()}`,
      '--training.num_epochs=3',
      '--evaluation.epochs_per_eval=1',
      '--model.random_seed=4',
      ...counts.map((count) => `--storage.dataset.${count}=-1`),
    ]).config;

  test('embedding only', async () => {
    expectLearning(await run(load('embedding-only', plain)), 'mrr');
  });

  test('GraphSAGE and attention, three layers, UNIFORM, in a pipeline', async () => {
    expectLearning(await run(load('graph-sage-uniform', plain)), 'mrr');
  });

  test('partition buffer, 32 partitions in groups of 4', async () => {
    expectLearning(await run(load('partition-buffer', links({ partitions: 32 }))), 'mrr');
  });

  test('node classification', async () => {
    expectLearning(await run(load('node-classification', classes(40, 128))), 'accuracy');
  });

  test('the form of the first release', async () => {
    expectLearning(await run(load('first-release', links({ partitions: 32 }), 'base_directory')), 'mrr');
  });
});

const adam = { type: 'ADAM', options: { learning_rate: 0.01 } };
const embedding = { type: 'EMBEDDING', output_dim: 8, init: { type: 'NORMAL', options: { std: 0.3 } } };
const gnn = (options: object, more: object = {}) => ({
  type: 'GNN',
  output_dim: 8,
  bias: true,
  options,
  ...more,
});
const sage = (aggregator: string) => gnn({ type: 'GRAPH_SAGE', aggregator }, { activation: 'RELU' });
const last = gnn({ type: 'GRAPH_SAGE', aggregator: 'MEAN' });
const all = { type: 'ALL' };
const uniform = { type: 'UNIFORM', options: { max_neighbors: 4 } };

describe('encoders of link prediction', () => {
  type Stages = readonly (readonly object[])[];
  const encoders: Record<string, { layers: Stages; train_neighbor_sampling?: readonly object[] }> = {
    'embedding only': { layers: [[embedding]] },
    'GraphSAGE, 1 layer, ALL': { layers: [[embedding], [last]], train_neighbor_sampling: [all] },
    'GraphSAGE, 1 layer, UNIFORM': { layers: [[embedding], [last]], train_neighbor_sampling: [uniform] },
    'GraphSAGE, 3 layers, ALL': {
      layers: [[embedding], [sage('MEAN')], [sage('GCN')], [last]],
      train_neighbor_sampling: [all, all, all],
    },
    'GraphSAGE, 3 layers, UNIFORM': {
      layers: [[embedding], [sage('MEAN')], [sage('GCN')], [last]],
      train_neighbor_sampling: [uniform, uniform, uniform],
    },
    'GraphSAGE, DROPOUT': {
      layers: [[embedding], [last]],
      train_neighbor_sampling: [{ type: 'DROPOUT', options: { rate: 0.3 } }],
    },
    GAT: {
      layers: [[embedding], [gnn({ type: 'GAT', num_heads: 2, average_heads: true })]],
      train_neighbor_sampling: [all],
    },
    'GAT, heads side by side': {
      layers: [[embedding], [gnn({ type: 'GAT', num_heads: 4, average_heads: false, input_dropout: 0.1 })]],
      train_neighbor_sampling: [uniform],
    },
    GCN: { layers: [[embedding], [gnn({ type: 'GCN' })]], train_neighbor_sampling: [all] },
    RGCN: { layers: [[embedding], [gnn({ type: 'RGCN' })]], train_neighbor_sampling: [all] },
    'RGCN with bases': {
      layers: [[embedding], [gnn({ type: 'RGCN', num_bases: 3 })]],
      train_neighbor_sampling: [uniform],
    },
    'embeddings and features, CONCAT': {
      layers: [
        [embedding, { type: 'FEATURE', output_dim: 6 }],
        [{ type: 'REDUCTION', output_dim: 14, options: { type: 'CONCAT' } }],
      ],
    },
    'embeddings and features, LINEAR, then GraphSAGE': {
      layers: [
        [embedding, { type: 'FEATURE', output_dim: 6 }],
        [{ type: 'REDUCTION', output_dim: 8, bias: true, options: { type: 'LINEAR' } }],
        [last],
      ],
      train_neighbor_sampling: [all],
    },
    'two embeddings of a node, one of them next to the graph layer': {
      layers: [
        [embedding],
        [last, embedding],
        [{ type: 'REDUCTION', output_dim: 16, options: { type: 'CONCAT' } }],
      ],
      train_neighbor_sampling: [all],
    },
    'features next to the second graph layer': {
      layers: [
        [embedding],
        [sage('MEAN')],
        [last, { type: 'FEATURE', output_dim: 6 }],
        [{ type: 'REDUCTION', output_dim: 8, options: { type: 'LINEAR' } }],
      ],
      train_neighbor_sampling: [all, uniform],
    },
    'embeddings and features, DENSE': {
      layers: [
        [embedding, { type: 'FEATURE', output_dim: 6 }],
        [{ type: 'DENSE', output_dim: 8, bias: true, options: { type: 'LINEAR' } }],
      ],
    },
    'two embeddings side by side': {
      layers: [
        [embedding, { ...embedding, bias: true, activation: 'SIGMOID' }],
        [{ type: 'REDUCTION', output_dim: 16, options: { type: 'CONCAT' } }],
      ],
    },
    DENSE: {
      layers: [
        [embedding],
        [{ type: 'DENSE', output_dim: 8, bias: true, activation: 'NONE', options: { type: 'LINEAR' } }],
      ],
    },
    'features only': {
      layers: [
        [{ type: 'FEATURE', output_dim: 6 }],
        [{ type: 'DENSE', output_dim: 8, options: { type: 'LINEAR' } }],
      ],
    },
  };

  test.each(Object.keys(encoders))('%s', async (name) => {
    const config = tinyConfig(plain, {
      model: { encoder: encoders[name], dense_optimizer: adam },
      storage: { model_dir: folder() },
      training: { batch_size: 100, num_epochs: 5, negative_sampling: { negatives_per_positive: 40 } },
    });
    expectLearning(await run(config), 'mrr');
  });

  test('one direction of edges alone', async () => {
    for (const key of ['use_incoming_nbrs', 'use_outgoing_nbrs']) {
      const encoder = {
        layers: [[embedding], [gnn({ type: 'RGCN' })]],
        train_neighbor_sampling: [all],
        [key]: false,
      };
      const model = { encoder, dense_optimizer: adam };
      const training = { batch_size: 300, num_epochs: 3, negative_sampling: { negatives_per_positive: 40 } };
      expectLearning(
        await run(tinyConfig(plain, { model, training, storage: { model_dir: folder() } })),
        'mrr',
      );
    }
  });
});

describe('stores of link prediction', () => {
  const inEight = links({ partitions: 8, features });
  const buffer = (options: object) => ({
    embeddings: {
      type: 'PARTITION_BUFFER',
      options: { num_partitions: 8, buffer_capacity: 4, ...options },
    },
  });
  const training = { batch_size: 200, num_epochs: 3, negative_sampling: { negatives_per_positive: 40 } };

  test.each([
    ['COMET', { fine_to_coarse_ratio: 2 }],
    ['COMET', { num_cache_partitions: 1 }],
    ['OLD_BETA', {}],
    ['NEW_BETA', {}],
    ['SEQUENTIAL', {}],
    ['HILBERT', {}],
  ])('buffer ordered by %s %j', async (edge_bucket_ordering, more) => {
    const storage = { ...buffer({ edge_bucket_ordering, ...more }), model_dir: folder() };
    expectLearning(await run(tinyConfig(inEight, { storage, training })), 'mrr');
  });

  test('neighbours, features and embeddings in one buffer, edges in their file', async () => {
    const encoder = {
      layers: [
        [embedding, { type: 'FEATURE', output_dim: 6 }],
        [{ type: 'REDUCTION', output_dim: 8, options: { type: 'LINEAR' } }],
        [sage('MEAN')],
        [last],
      ],
      train_neighbor_sampling: [uniform, all],
    };
    const { embeddings } = buffer({});
    const storage = { embeddings, features: embeddings, edges: { type: 'FLAT_FILE' }, model_dir: folder() };
    const config = tinyConfig(inEight, { model: { encoder, dense_optimizer: adam }, storage, training });
    expectLearning(await run(config), 'mrr');
  });

  test('no relations: both ends are guessed, twice as many ranks as edges', async () => {
    const pairs = randomRows(100, 500, 0);
    const dataset = writeDataset(folder(), {
      numNodes: 100,
      train: pairs.subarray(0, 900),
      validation: pairs.subarray(900, 950),
      test: pairs.subarray(950),
    });
    const model = { decoder: { type: 'DOT' } };
    const done = await run(tinyConfig(dataset, { model, training, storage: { model_dir: folder() } }));
    expectLearning(done, 'mrr');
    // A decoder of relations compares the ends as they are.
    const plain = await run(tinyConfig(dataset, { training, storage: { model_dir: folder() } }));
    expect(plain.test).toEqual(done.test);
  });

  test.each(['no validation set', 'training edges only'])('%s', async (which) => {
    const dataset = writeDataset(folder(), {
      numNodes: 100,
      numRelations: 10,
      train: split.train,
      ...(which === 'no validation set' ? { test: split.test } : {}),
    });
    const done = await run(tinyConfig(dataset, { training, storage: { model_dir: folder() } }));
    expect(done.validation).toEqual({});
    expect(Object.keys(done.test).length > 0).toBe(which === 'no validation set');
    expect(done.losses[2]).toBeLessThan(done.losses[0]);
  });

  test('degree-based, filtered and all negatives', async () => {
    for (const negative_sampling of [
      { num_chunks: 5, negatives_per_positive: 20, degree_fraction: 1, local_filter_mode: 'ALL' },
      { filtered: true },
      { negatives_per_positive: -1 },
    ]) {
      const more = { training: { ...training, negative_sampling }, storage: { model_dir: folder() } };
      expectLearning(await run(tinyConfig(plain, more)), 'mrr');
    }
  });

  test('a small buffer learns as much as memory', async () => {
    const long = { ...training, num_epochs: 10 };
    const one = await run(tinyConfig(inEight, { training: long, storage: { model_dir: folder() } }));
    const storage = { ...buffer({}), model_dir: folder() };
    const two = await run(tinyConfig(inEight, { training: long, storage }));
    expect(Math.abs(two.losses[9] / one.losses[9] - 1)).toBeLessThan(0.2);
    expect(Object.keys(await learned(two.directory))).toContain('embeddings.sum');
  });
});

const isGnn = (layer: object): boolean => 'type' in layer && layer.type === 'GNN';

describe('node classification', () => {
  const config = (
    dataset: string,
    storage: object,
    layers: readonly (readonly object[])[],
    training: object = {},
  ) =>
    resolveConfig({
      model: {
        random_seed: 3,
        learning_task: 'NODE_CLASSIFICATION',
        encoder: {
          layers,
          train_neighbor_sampling: layers
            .flat()
            .filter(isGnn)
            .map(() => all),
        },
        decoder: { type: 'NODE' },
        loss: { type: 'CROSS_ENTROPY', options: { reduction: 'MEAN' } },
        dense_optimizer: adam,
      },
      storage: { dataset: { dataset_dir: dataset }, model_dir: folder(), ...storage },
      training: { batch_size: 15, num_epochs: 12, ...training },
      evaluation: { batch_size: 50 },
    }).config;
  const featureSage = [
    [{ type: 'FEATURE', output_dim: 6 }],
    [{ ...sage('MEAN'), output_dim: 12 }],
    [{ ...last, output_dim: 5 }],
  ];
  const bothSage = [
    [embedding, { type: 'FEATURE', output_dim: 6 }],
    [{ type: 'REDUCTION', output_dim: 10, options: { type: 'LINEAR' } }],
    [{ ...last, output_dim: 5 }],
  ];

  test('in memory', async () => {
    const done = await run(config(classes(5, 6), {}, featureSage));
    expectLearning(done, 'accuracy');
    expect(done.test['accuracy']).toBeGreaterThan(0.6);
  });

  test('with embeddings', async () => {
    expectLearning(await run(config(classes(5, 6), {}, bothSage)), 'accuracy');
  });

  test.each(['DISPERSED', 'SEQUENTIAL'])('buffered, %s', async (node_partition_ordering) => {
    const options = { num_partitions: 10, buffer_capacity: 7, node_partition_ordering };
    const storage = { features: { type: 'PARTITION_BUFFER', options } };
    const done = await run(config(classes(5, 6, 10), storage, featureSage));
    expectLearning(done, 'accuracy');
    expect(done.test['accuracy']).toBeGreaterThan(0.6);
    const nodes = done.events.filter(({ event }) => event === 'epoch').map(({ items }) => items);
    expect(new Set(nodes)).toEqual(new Set([60]));
  });

  test('the whole graph in one step', async () => {
    const done = await run(config(classes(5, 6), {}, featureSage, { full_batch: true, num_epochs: 30 }));
    expectLearning(done, 'accuracy');
    const batches = done.events.filter(({ event }) => event === 'epoch').map((event) => event['batches']);
    expect(new Set(batches)).toEqual(new Set([1]));
  });
});

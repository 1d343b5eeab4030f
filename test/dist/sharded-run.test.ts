/**
 * Node classification on the whole graph, distributed over workers, learns what one process learns: the same losses at
 * every epoch up to rounding, for every kind of layer and every mode of fetching rows; and a run resumes with any
 * number of workers, or as an ordinary run of one process.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stochasticBlockModel } from 'skein/data';
import { partitionData, writePartitions } from 'skein/dist';
import { resolveConfig, type SkeinConfig } from 'skein/train';
import { describe, expect, it } from 'vitest';
import { learned, randomRows, run, scratch, writeDataset } from '../train/tiny.js';
import { hasMpi, withoutMpi } from './mpi-launch.js';
import { expectClose, trainAlone, train as trainOn } from './train-runs.js';
import { workerCounts } from './worker-counts.js';

const folder = scratch();
const numNodes = 90;
const ids = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, i) => from + i);
const nodeData = {
  numNodes,
  numClasses: 3,
  labels: Int32Array.from({ length: numNodes }, (_, i) => (i * 7) % 3),
  // So few training nodes that some workers have none.
  nodes: { train: ids(4, 9), validation: ids(20, 50), test: ids(50, 90) },
  features: { width: 6, values: Float32Array.from({ length: numNodes * 6 }, (_, i) => Math.sin(i * 1.7)) },
};
// Nodes 84 … 89 have no edges.
const plain = writeDataset(folder(), { ...nodeData, train: randomRows(84, 300, 0) });
const typed = writeDataset(folder(), { ...nodeData, numRelations: 3, train: randomRows(84, 300, 3) });

const gnn = (options: object, output_dim: number) => [
  { type: 'GNN', options, output_dim, activation: output_dim === 3 ? 'NONE' : 'RELU', bias: true },
];
const encoder = (options: object, ...middle: object[][]) => ({
  layers: [[{ type: 'FEATURE', output_dim: 6 }], gnn(options, 8), ...middle, gnn(options, 3)],
});

const adam = { type: 'ADAM', options: { learning_rate: 0.02 } };
/** For comparisons to the last digits: Adam makes full steps of gradients that are nothing but rounding. */
const sgd = { type: 'SGD', options: { learning_rate: 0.5 } };

const task = (layers: object, optimizer: object = adam) => ({
  model: {
    random_seed: 3,
    learning_task: 'NODE_CLASSIFICATION',
    encoder: layers,
    decoder: { type: 'NODE' },
    loss: { type: 'CROSS_ENTROPY', options: { reduction: 'MEAN' } },
    dense_optimizer: optimizer,
  },
});

/** Dataset, encoder, and settings of workers. */
const cases: Readonly<Record<string, readonly [string, object, object]>> = {
  'GCN, sar': [plain, encoder({ type: 'GCN' }), {}],
  'GCN, all edges against their direction': [
    plain,
    { ...encoder({ type: 'GCN' }), use_incoming_nbrs: false },
    { pipeline_depth: 0 },
  ],
  'SAGE, three layers, sa': [
    plain,
    encoder({ type: 'GRAPH_SAGE', aggregator: 'MEAN' }, gnn({ type: 'GRAPH_SAGE', aggregator: 'MEAN' }, 5)),
    { mode: 'sa' },
  ],
  'SAGE with the mean of all, one shot, random cut': [
    plain,
    encoder({ type: 'GRAPH_SAGE', aggregator: 'GCN' }),
    { mode: 'one_shot', partition_algorithm: 'random' },
  ],
  'GAT, sar, deeper pipeline': [
    plain,
    encoder({ type: 'GAT', num_heads: 2, average_heads: true }),
    { pipeline_depth: 3 },
  ],
  'SAGE whose inputs are fetched once': [
    plain,
    encoder({ type: 'GRAPH_SAGE', aggregator: 'MEAN' }),
    { cache_inputs: true },
  ],
  'SAGE whose inputs are fetched once though it narrows them': [
    plain,
    {
      layers: [
        [{ type: 'FEATURE', output_dim: 6 }],
        gnn({ type: 'GRAPH_SAGE', aggregator: 'MEAN' }, 4),
        gnn({ type: 'GCN' }, 3),
      ],
    },
    { cache_inputs: true },
  ],
  'RGCN with relations both ways, sar': [typed, encoder({ type: 'RGCN' }), {}],
  'GCN on message-flow graphs': [plain, encoder({ type: 'GCN' }), { use_mfgs: true }],
  'GAT on message-flow graphs, one shot': [
    plain,
    encoder({ type: 'GAT', num_heads: 2, average_heads: true }),
    { use_mfgs: true, mode: 'one_shot' },
  ],
};
const names = Object.keys(cases);

const dropping = {
  type: 'GAT',
  num_heads: 2,
  average_heads: true,
  input_dropout: 0.2,
  attention_dropout: 0.3,
};
/** Dropout drops the same elements as in one process, however rows are fetched. */
const droppingCases: typeof cases = {
  'GAT with dropout, sar': [plain, encoder(dropping), {}],
  'GAT with dropout, sa': [plain, encoder(dropping), { mode: 'sa', pipeline_depth: 2 }],
  'GAT with dropout, one shot': [plain, encoder(dropping), { mode: 'one_shot' }],
  'GAT with dropout on message-flow graphs': [plain, encoder(dropping), { use_mfgs: true }],
  'GAT with dropout, relations, edges against their direction, random cut': [
    typed,
    { ...encoder(dropping), use_incoming_nbrs: false },
    { partition_algorithm: 'random', mode: 'one_shot' },
  ],
  'dropout after layers of every kind, sa': [
    plain,
    {
      layers: [
        [{ type: 'FEATURE', output_dim: 6, dropout: 0.1 }],
        [{ type: 'DENSE', output_dim: 8, activation: 'RELU', dropout: 0.3 }],
        [{ ...gnn({ type: 'GRAPH_SAGE', aggregator: 'MEAN' }, 8)[0], dropout: 0.4 }],
        [{ type: 'DENSE', output_dim: 7, activation: 'RELU', dropout: 0.2 }],
        gnn({ type: 'GATV2', num_heads: 2, average_heads: true, attention_dropout: 0.3 }, 3),
      ],
    },
    { mode: 'sa' },
  ],
  'TRANSFORMER with dropout, on message-flow graphs, one shot': [
    plain,
    {
      layers: [
        [{ type: 'FEATURE', output_dim: 6 }],
        [{ ...gnn({ type: 'TRANSFORMER', num_heads: 2, attention_dropout: 0.3 }, 8)[0], dropout: 0.4 }],
        gnn({ type: 'GCN' }, 3),
      ],
    },
    { use_mfgs: true, mode: 'one_shot' },
  ],
  'SAGE before GAT with dropout, sar': [
    plain,
    {
      layers: [
        [{ type: 'FEATURE', output_dim: 6 }],
        gnn({ type: 'GRAPH_SAGE', aggregator: 'MEAN' }, 8),
        gnn(dropping, 3),
      ],
    },
    {},
  ],
};

/** Batches of sampled neighbourhoods, which workers share: encoders, and how many nodes a batch has. */
const sampledCases: Readonly<Record<string, readonly [object, number]>> = {
  'SAGE on features': [encoder({ type: 'GRAPH_SAGE', aggregator: 'MEAN' }), 5],
  'fewer nodes in a batch than workers': [encoder({ type: 'GRAPH_SAGE', aggregator: 'MEAN' }), 3],
  'GCN on trained embeddings': [
    { layers: [[{ type: 'EMBEDDING', output_dim: 4 }], gnn({ type: 'GCN' }, 8), gnn({ type: 'GCN' }, 3)] },
    2,
  ],
};

const droppingSamples: typeof sampledCases = {
  'GAT with dropout on features': [encoder(dropping), 5],
  // Batches of 3 and of 2: a worker without nodes draws nothing and must not fall behind.
  'GAT with dropout, fewer nodes in a batch than workers': [encoder(dropping), 3],
  'dropout after layers': [
    {
      layers: [
        [{ type: 'EMBEDDING', output_dim: 4, dropout: 0.2 }],
        [{ ...gnn({ type: 'GRAPH_SAGE', aggregator: 'MEAN' }, 8)[0], dropout: 0.4 }],
        gnn({ type: 'GCN' }, 3),
      ],
    },
    3,
  ],
  'GAT with dropout on trained embeddings': [
    { layers: [[{ type: 'EMBEDDING', output_dim: 4 }], gnn(dropping, 8), gnn(dropping, 3)] },
    2,
  ],
};

function sampled(name: string): SkeinConfig {
  const [layers, batch] = { ...sampledCases, ...droppingSamples }[name];
  const neighbours = { type: 'UNIFORM', options: { max_neighbors: 3 } };
  return resolveConfig({
    ...task(
      { ...layers, train_neighbor_sampling: [neighbours, neighbours] },
      name in droppingSamples ? sgd : adam,
    ),
    storage: { dataset: { dataset_dir: plain }, model_dir: folder() },
    training: { num_epochs: 3, batch_size: batch, save_model: true },
    evaluation: { batch_size: 7 },
  }).config;
}

function config(name: string, more: { workers?: boolean; training?: object } = {}): SkeinConfig {
  const [dataset, layers, workers] = { ...cases, ...droppingCases }[name];
  return resolveConfig({
    ...task(layers, name in droppingCases ? sgd : adam),
    storage: { dataset: { dataset_dir: dataset }, model_dir: folder() },
    training: { num_epochs: 4, full_batch: true, save_model: true, ...more.training },
    ...(more.workers === false ? {} : { distributed: { partitions: 8, ...workers } }),
  }).config;
}

const at = (given: SkeinConfig, directory: string): SkeinConfig => ({
  ...given,
  storage: { ...given.storage, model_dir: directory },
});
const train = (workers: number, configs: readonly SkeinConfig[]) =>
  trainOn(workers, configs, `${folder()}.json`);

describe.skipIf(!hasMpi)(`the whole graph on several workers${withoutMpi}`, () => {
  it.each(workerCounts([2], [1, 4]))(
    'with %i, every case has the losses and metrics of one process',
    async (workers) => {
      const one = await trainAlone(names.map((name) => config(name, { workers: false })));
      const many = await train(
        workers,
        names.map((name) => config(name)),
      );
      for (const [i, name] of names.entries()) {
        expect(one[i].losses.length, name).toBe(4);
        for (const [epoch, loss] of many[i].losses.entries())
          expect(Math.abs(loss - one[i].losses[epoch]), `${name}, epoch ${epoch + 1}`).toBeLessThan(1e-5);
        expect(many[i].test, name).toEqual(one[i].test);
        expect(existsSync(join(many[i].directory, 'run.lock'))).toBe(false);
      }
    },
    300_000,
  );

  it('distributes batches of sampled neighbourhoods: losses and metrics of one process', async () => {
    const all = Object.keys(sampledCases);
    const one = await trainAlone(all.map(sampled));
    const many = await train(4, all.map(sampled));
    for (const [i, name] of all.entries()) {
      expect(one[i].losses.length, name).toBe(3);
      expectClose(many[i].losses, one[i].losses, 2e-5);
      expect(many[i].test, name).toEqual(one[i].test);
    }
  }, 300_000);

  it.each(workerCounts([3], [1, 2, 4]))(
    'with %i, dropout drops what one process drops: on the whole graph, and in sampled batches',
    async (workers) => {
      const whole = Object.keys(droppingCases);
      const samples = Object.keys(droppingSamples);
      const all = (distributed: boolean): SkeinConfig[] => [
        ...whole.map((name) => config(name, { workers: distributed })),
        ...samples.map(sampled),
      ];
      const one = await trainAlone(all(false));
      const many = await train(workers, all(true));
      for (const [i, name] of [...whole, ...samples].entries()) {
        expect(one[i].losses.length, name).toBeGreaterThanOrEqual(3);
        for (const [epoch, loss] of many[i].losses.entries()) {
          const difference = Math.abs(loss / one[i].losses[epoch] - 1);
          expect(difference, `${name}, epoch ${epoch + 1}`).toBeLessThan(1e-6);
        }
        expect(many[i].losses.length, name).toBe(one[i].losses.length);
      }
    },
    300_000,
  );

  it('resumes: the same number to the same bytes, any other number and one process within rounding', async () => {
    const epochs = (num_epochs: number, resume_training = false) => ({
      training: { num_epochs, resume_training },
    });
    const [name] = names;
    const cut = Array.from({ length: 3 }, () => config(name, epochs(2)));
    const [whole] = await train(2, [config(name, epochs(5)), ...cut]);
    const paths = cut.map(({ storage }) => storage.model_dir as string);
    const [same] = await train(2, [at(config(name, epochs(5, true)), paths[0])]);
    expect(same.losses).toEqual(whole.losses.slice(2));
    expect(await learned(paths[0])).toEqual(await learned(whole.directory));
    const [four] = await train(4, [at(config(name, epochs(5, true)), paths[1])]);
    expectClose(four.losses, whole.losses.slice(2), 1e-5);
    const alone = await run(at(config(name, { ...epochs(5, true), workers: false }), paths[2]));
    expectClose(alone.losses, whole.losses.slice(2), 1e-5);
    expect(readFileSync(join(paths[1], 'log.txt'), 'utf8')).toContain('plan: ');
  }, 300_000);

  it('learns with compressed rows', async () => {
    const given = ['f16', 'int8'].map((compression) => {
      const made = config(names[2]);
      return { ...made, distributed: { ...made.distributed, compression } } as SkeinConfig;
    });
    const [exact, half, bytes] = await train(2, [config(names[2]), ...given]);
    // Gradients of four steps with an error of 2^-11 (f16) and 2^-8 (int8) of a row's largest value.
    expectClose(half.losses, exact.losses, 2e-3);
    expectClose(bytes.losses, exact.losses, 2e-2);
    expect(half.losses).not.toEqual(exact.losses);
  }, 300_000);

  it('rejects what it cannot do', async () => {
    const refused = (more: object) => run({ ...config(names[0]), ...more } as SkeinConfig);
    const given = config(names[0]);
    await expect(
      refused({
        storage: { ...given.storage, features: { type: 'FLAT_FILE', options: {} } },
      }),
    ).rejects.toThrow('storage.features.type: expected HOST_MEMORY, got FLAT_FILE');
  });

  it('rejects partitions of another graph, and creates nothing', async () => {
    const dir = folder();
    const other = partitionData(
      stochasticBlockModel([50, 40], {
        probabilities: [
          [0.1, 0.1],
          [0.1, 0.1],
        ],
      }).graph,
      {
        parts: new Int32Array(numNodes),
        numParts: 2,
      },
    );
    await writePartitions(dir, other);
    const given = config(names[0]);
    const distributed = { ...given.distributed, partition_dir: dir } as SkeinConfig['distributed'];
    await expect(run({ ...given, distributed })).rejects.toThrow(
      /distributed\.partition_dir: expected the 600 edges that the encoder follows/,
    );
    expect(existsSync(given.storage.model_dir as string)).toBe(false);
    await expect(
      run({ ...given, distributed: { ...distributed, partition_dir: join(dir, 'none') } } as SkeinConfig),
    ).rejects.toThrow(/none/);
    expect(existsSync(given.storage.model_dir as string)).toBe(false);
  });

  it('rejects partitions of another dataset of the same size', async () => {
    const given = config(names[0], { training: { num_epochs: 1 } });
    // A run keeps the partitions that it creates.
    const cut = async (dataset_dir: string) => {
      const model_dir = folder();
      const storage = { ...given.storage, model_dir, dataset: { ...given.storage.dataset, dataset_dir } };
      await run({ ...given, storage } as SkeinConfig);
      return join(model_dir, 'partitions');
    };
    const using = (partition_dir: string) => {
      const model_dir = join(folder(), 'run');
      const distributed = { ...given.distributed, partition_dir };
      return run({ ...given, distributed, storage: { ...given.storage, model_dir } } as SkeinConfig);
    };
    const [edges, labels] = [randomRows(84, 300, 0), nodeData.labels];
    const otherEdges = writeDataset(folder(), { ...nodeData, train: edges.map((id) => (id + 1) % 84) });
    await expect(using(await cut(otherEdges))).rejects.toThrow(
      /^distributed\.partition_dir: expected partitions of .* as this run reads it, got partitions that differ in edges\/train_edges\.bin/,
    );
    const otherLabels = writeDataset(folder(), {
      ...{ ...nodeData, train: edges },
      labels: labels.map((label, v) => (v === 5 ? (label + 1) % 3 : label)),
    });
    const dir = await cut(otherLabels);
    await expect(using(dir)).rejects.toThrow(/that differ in nodes\/labels\.bin/);
    // Partitions of DGL and of older versions do not state their source.
    const json = join(dir, 'graph.json');
    const { checksum: _, source: __, ...rest } = JSON.parse(readFileSync(json, 'utf8'));
    writeFileSync(json, JSON.stringify(rest));
    await expect(using(dir)).rejects.toThrow(
      /^distributed\.partition_dir: expected \d train nodes of class \d, as in the dataset, got \d/,
    );
    await using(await cut(plain));
  });

  it('keeps the partitions of a run', async () => {
    const given = config(names[0], { training: { num_epochs: 1 } });
    await run(given);
    const training = { ...given.training, num_epochs: 2, resume_training: true };
    const distributed = { ...given.distributed, partitions: 5 } as SkeinConfig['distributed'];
    await expect(run({ ...given, training, distributed })).rejects.toThrow(
      /distributed\.partitions: expected 8, as in .*, got 5/,
    );
  });
});

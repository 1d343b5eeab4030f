/**
 * One small run of every kind, as configuration files. Their results must not change by one bit. All paths are relative,
 * so that a folder of runs can be copied.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jodieText, modelFiles } from '../train/temporal-files.js';
import { randomRows, writeDataset } from '../train/tiny.js';

export interface Kind {
  /** Text of the configuration; `model_dir` is given on the command line. */
  readonly config: string;
  /** Key of the number of epochs. */
  readonly epochs: 'training.num_epochs' | 'train.epoch';
  /** Numbers of workers that it is trained with; results may differ between them in the last bits. */
  readonly workers: readonly number[];
}

const whole = { type: 'GCN' };
const adam = { type: 'ADAM', options: { learning_rate: 0.02 } };

function links(more: { model?: object; storage?: object; training?: object } = {}): object {
  return {
    model: {
      random_seed: 5,
      learning_task: 'LINK_PREDICTION',
      encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 8 }]] },
      decoder: { type: 'DISTMULT' },
      loss: { type: 'SOFTMAX_CE', options: { reduction: 'SUM' } },
      ...more.model,
    },
    storage: { dataset: { dataset_dir: 'links' }, ...more.storage },
    training: {
      batch_size: 20,
      negative_sampling: { num_chunks: 2, negatives_per_positive: 10, degree_fraction: 0.5 },
      ...more.training,
    },
    evaluation: { batch_size: 20, negative_sampling: { filtered: true } },
  };
}

const buffer = {
  embeddings: { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } },
};
const layer = (options: object, output_dim: number, activation = 'NONE') => [
  { type: 'GNN', options, output_dim, activation, bias: true },
];
const attention = { type: 'GAT', num_heads: 2, input_dropout: 0.2, attention_dropout: 0.2 };
const sage = { type: 'GRAPH_SAGE', aggregator: 'MEAN' };

function nodes(
  options: object,
  more: { encoder?: object; training?: object; distributed?: object } = {},
): object {
  const { encoder = {}, training = {}, ...rest } = more;
  return {
    model: {
      random_seed: 3,
      learning_task: 'NODE_CLASSIFICATION',
      encoder: {
        layers: [[{ type: 'FEATURE', output_dim: 6 }], layer(options, 8, 'RELU'), layer(options, 3)],
        ...encoder,
      },
      decoder: { type: 'NODE' },
      loss: { type: 'CROSS_ENTROPY', options: { reduction: 'MEAN' } },
      dense_optimizer: adam,
    },
    storage: { dataset: { dataset_dir: 'nodes' } },
    training: { batch_size: 1000, ...training },
    evaluation: { batch_size: 1000 },
    ...rest,
  };
}

const sampled = (fanout: number) => [
  { type: 'UNIFORM', options: { max_neighbors: fanout } },
  { type: 'UNIFORM', options: { max_neighbors: fanout } },
];

const configs: Readonly<Record<string, readonly [object, readonly number[]]>> = {
  'links-memory': [links(), [1, 2, 4]],
  'links-memory-adam': [links({ model: { dense_optimizer: adam, sparse_optimizer: adam } }), [1]],
  'links-buffer': [links({ storage: buffer }), [1, 2]],
  'links-buffer-pipeline': [
    links({ storage: buffer, training: { pipeline: { sync: false, staleness_bound: 1 } } }),
    [1],
  ],
  'links-encoder': [
    links({
      model: {
        encoder: {
          train_neighbor_sampling: [{ type: 'UNIFORM', options: { max_neighbors: 4 } }],
          layers: [[{ type: 'EMBEDDING', output_dim: 8 }], layer(attention, 8)],
        },
      },
    }),
    [1, 2],
  ],
  'links-encoder-buffer': [
    links({
      storage: buffer,
      model: {
        encoder: {
          train_neighbor_sampling: [{ type: 'ALL' }],
          layers: [[{ type: 'EMBEDDING', output_dim: 8 }], layer(sage, 8)],
        },
      },
    }),
    [1],
  ],
  'nodes-whole': [nodes(whole, { training: { full_batch: true } }), [1]],
  'nodes-sampled': [
    nodes(sage, { encoder: { train_neighbor_sampling: sampled(3) }, training: { batch_size: 8 } }),
    [1, 2, 4],
  ],
  'nodes-sharded': [
    nodes(whole, { training: { full_batch: true }, distributed: { mode: 'sar', partitions: 4 } }),
    [2, 1, 4],
  ],
};

const events: Readonly<Record<keyof typeof modelFiles, readonly number[]>> = {
  tgn: [1, 2, 4],
  apan: [1],
  jodie: [1],
  tgat: [1],
};

const snapshots = 'dim_out: 8, dim_node: 6, snapshot_count: 10';
/** Kinds of temporal models that runs of version 1 could not have, by their section `model`. */
const laterEvents = {
  'evolve-gcn': `{ kind: evolve_gcn, variant: H, backprop: 2, ${snapshots} }`,
  'gconv-lstm': `{ kind: gconv_lstm, ${snapshots} }`,
  'logistic-recency': '{ kind: logistic_recency }',
};

/** Kinds without a run of version 1. */
export const laterKinds: readonly string[] = Object.keys(laterEvents).map((name) => `events-${name}`);

export const kinds: Readonly<Record<string, Kind>> = {
  ...Object.fromEntries(
    Object.entries(configs).map(([name, [config, workers]]) => [
      name,
      { config: JSON.stringify(config, null, 2), epochs: 'training.num_epochs', workers } satisfies Kind,
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(events).map(([model, workers]) => [
      `events-${model}`,
      {
        config: `${modelFiles[model as keyof typeof modelFiles]}dataset: { path: events.csv }\n`,
        epochs: 'train.epoch',
        workers,
      } satisfies Kind,
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(laterEvents).map(([name, model]) => [
      `events-${name}`,
      {
        config: `model: ${model}\ntrain: { batch_size: 20, lr: 0.01 }\ndataset: { path: events.csv }\n`,
        epochs: 'train.epoch',
        workers: [1],
      } satisfies Kind,
    ]),
  ),
};

/** Writes the datasets and all configurations into a folder. */
export function writeKinds(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const rows = randomRows(43, 300, 4);
  const sets = {
    train: rows.subarray(0, 780),
    validation: rows.subarray(780, 840),
    test: rows.subarray(840),
  };
  writeDataset(join(folder, 'links'), { numNodes: 43, numRelations: 4, ...sets, partitions: 4 });
  const ids = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, i) => from + i);
  writeDataset(join(folder, 'nodes'), {
    numNodes: 90,
    numClasses: 3,
    labels: Int32Array.from({ length: 90 }, (_, i) => (i * 7) % 3),
    nodes: { train: ids(0, 30), validation: ids(30, 60), test: ids(60, 90) },
    features: {
      width: 6,
      values: Float32Array.from({ length: 90 * 6 }, (_, i) => ((i * 37) % 101) / 50 - 1),
    },
    train: randomRows(84, 300, 0),
  });
  writeFileSync(join(folder, 'events.csv'), jodieText(200));
  for (const [name, { config }] of Object.entries(kinds)) writeFileSync(join(folder, `${name}.yaml`), config);
}

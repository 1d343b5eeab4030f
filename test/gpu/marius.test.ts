/**
 * Marius's batch life cycle on the GPU: the same losses, batch by batch, and the same rows in the end as on
 * the CPU, with the node table in memory and on the device.
 */
import { PreparedDataset } from 'skein/data';
import {
  type Batch,
  GraphBatcher,
  GraphModelStorage,
  PipelineTrainer,
  SynchronousEvaluator,
  SynchronousTrainer,
} from 'skein/marius';
import { type BufferedEmbeddings, DeviceEmbeddings, type MemoryStore } from 'skein/storage';
import { DeviceFeatures, initializeStorage } from 'skein/train';
import { beforeAll, describe, expect, it } from 'vitest';
import { initializeBatches } from '#internal/train/tasks/graph/initialize-model.js';
import { type Parts, scratch, setUp, tinyConfig } from '../train/tiny.js';
import { writeLinks, writePapers } from './tiny-datasets.js';
import { useWebGpu } from './use-webgpu.js';

const folder = scratch();
const webgpu = useWebGpu();

/** Tolerance relative to max(1, |expected|). */
const tolerance = 1e-4;

const links = writeLinks(folder());
const papers = writePapers(folder());

const gnn = (type: object, output: number, activation = 'NONE') => ({
  type: 'GNN',
  options: type,
  output_dim: output,
  bias: true,
  activation,
});
const sageOptions = { type: 'GRAPH_SAGE', aggregator: 'MEAN' };
const classifier = (type: object) => ({
  model: {
    learning_task: 'NODE_CLASSIFICATION',
    encoder: {
      train_neighbor_sampling: [3, 4].map((n) => ({ type: 'UNIFORM', options: { max_neighbors: n } })),
      layers: [[{ type: 'FEATURE', output_dim: 6 }], [gnn(type, 8, 'RELU')], [gnn(type, 3)]],
    },
    decoder: { type: 'NODE' },
    loss: { type: 'CROSS_ENTROPY', options: { reduction: 'MEAN' } },
    dense_optimizer: { type: 'ADAM', options: { learning_rate: 0.05 } },
  },
  training: { batch_size: 10 },
  evaluation: { negative_sampling: { filtered: false } },
});

const cases: readonly (readonly [string, string, object])[] = [
  ['DistMult', links, {}],
  ['ComplEx', links, { model: { decoder: { type: 'COMPLEX' } } }],
  [
    'ComplEx with Adam, a mean and N3',
    links,
    {
      model: {
        decoder: { type: 'COMPLEX' },
        loss: { options: { reduction: 'MEAN' } },
        dense_optimizer: { type: 'ADAM', options: { learning_rate: 0.05 } },
        sparse_optimizer: { type: 'ADAM', options: { learning_rate: 0.05 } },
        regularizer: { type: 'N3', coef: 0.01 },
      },
    },
  ],
  ['TransE with BCE', links, { model: { decoder: { type: 'TRANSE' }, loss: { type: 'BCE_WITH_LOGITS' } } }],
  [
    'DistMult over sampled GraphSAGE',
    links,
    {
      model: {
        encoder: {
          train_neighbor_sampling: [{ type: 'UNIFORM', options: { max_neighbors: 3 } }],
          layers: [[{ type: 'EMBEDDING', output_dim: 8 }], [gnn(sageOptions, 8)]],
        },
      },
    },
  ],
  ['nodes by GraphSAGE', papers, classifier(sageOptions)],
  ['nodes by GCN', papers, classifier({ type: 'GCN' })],
];

interface Outcome {
  readonly losses: number[];
  readonly rows: Float32Array;
  readonly metrics: Readonly<Record<string, number>>;
}

async function outcome(parts: Parts, losses: number[]): Promise<Outcome> {
  const { storage, batcher, model } = parts;
  const values = (await storage.embeddings?.range(0, storage.numNodes)) ?? new Float32Array(0);
  const metrics = await new SynchronousEvaluator(batcher, model).evaluate(true);
  await storage.residency.unload(false);
  return { losses, rows: values, metrics };
}

/** The training loop of Marius's documentation, with awaits. */
async function byHand(parts: Parts, epochs: number, place: number): Promise<Outcome> {
  const { batcher, model } = parts;
  const losses: number[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    batcher.setTrainSet();
    await batcher.loadStorage();
    while (batcher.hasNextBatch()) {
      const batch: Batch = await batcher.getBatch();
      batch.embeddingsToDevice(place);
      const loss = model.train(batch);
      batch.accumulateGradients();
      await batch.embeddingsToHost();
      losses.push(await loss);
      await batcher.updateEmbeddingsForBatch(batch);
      await batcher.updateEmbeddingsForBatch(batch, true);
      batcher.finishedBatch();
      batch.clear();
    }
    await batcher.nextEpoch();
  }
  return outcome(parts, losses);
}

/** Returns the parts with the trained rows on webgpu.device. */
function onDevice(parts: Parts, config: ReturnType<typeof tinyConfig>): Parts {
  const { storage } = parts;
  const embeddings = new DeviceEmbeddings(storage.embeddings as BufferedEmbeddings, webgpu.device);
  const split = (set: 'train' | 'validation' | 'test') => storage.split(set) ?? undefined;
  const [train, validation, test] = [split('train'), split('validation'), split('test')];
  const edges = { ...(train && { train }), ...(validation && { validation }), ...(test && { test }) };
  const { numNodes, numRelations } = storage;
  const moved = new GraphModelStorage({ numNodes, numRelations, edges, embeddings });
  return { ...parts, storage: moved, batcher: new GraphBatcher(initializeBatches(config, moved)) };
}

function expectClose(got: Outcome, want: Outcome): void {
  const worst = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
    expect(a.length).toBe(b.length);
    return Array.from(a).reduce(
      (most, v, i) => Math.max(most, Math.abs(v - b[i]) / Math.max(1, Math.abs(b[i]))),
      0,
    );
  };
  expect(got.losses.every(Number.isFinite)).toBe(true);
  expect(worst(got.losses, want.losses)).toBeLessThan(tolerance);
  expect(worst(got.rows, want.rows)).toBeLessThan(tolerance);
  expect(Object.keys(got.metrics)).toEqual(Object.keys(want.metrics));
  for (const [name, value] of Object.entries(want.metrics)) expect(got.metrics[name]).toBeCloseTo(value, 1);
}

describe.each(cases)('%s', (_name, dataset, more) => {
  const config = tinyConfig(dataset, more);
  let want: Outcome;
  beforeAll(async () => {
    want = await byHand(await setUp(config, folder()), 2, -1);
  });

  it('trains on webgpu as on the CPU', async () => {
    const parts = await setUp(config, folder());
    parts.model.to('webgpu');
    expectClose(await byHand(parts, 2, 0), want);
  });

  // Without trained rows there is no node table.
  if (config.model.encoder.embedding_dim > 0)
    it('and with the node table on the device', async () => {
      const parts = onDevice(await setUp(config, folder()), config);
      parts.model.to('webgpu');
      expectClose(await byHand(parts, 2, 0), want);
    });
});

it('features come through a cache on the device', async () => {
  const config = tinyConfig(papers, classifier(sageOptions));
  const want = await byHand(await setUp(config, folder()), 2, -1);
  const parts = await setUp(config, folder());
  parts.model.to('webgpu');
  await parts.storage.residency.load();
  // Room for a quarter of the rows.
  const features = await DeviceFeatures.open(parts.storage.features as MemoryStore, webgpu.device, {
    size: (40 / 4) * 6 * 4,
  });
  parts.batcher.source.deviceFeatures = features;
  expectClose(await byHand(parts, 2, 0), want);
  expect(features.cachedRatio).toBe(0.25);
  expect(features.stats.hits).toBeGreaterThan(0);
  expect(features.stats.misses).toBeGreaterThan(0);
  features.release();
});

it('initializeStorage puts DEVICE_MEMORY on the device that it is given', async () => {
  const config = tinyConfig(links, {
    storage: { device_type: 'webgpu', embeddings: { type: 'DEVICE_MEMORY' } },
  });
  const dataset = await PreparedDataset.open(links);
  const given = await initializeStorage(config, dataset, {
    tableDirectory: folder(),
    device: webgpu.device,
  });
  expect(given.table).toBeInstanceOf(DeviceEmbeddings);
  const none = await initializeStorage(config, dataset, { tableDirectory: folder() });
  expect(none.table).not.toBeInstanceOf(DeviceEmbeddings);
});

it('a trainer runs the same cycle, and device memory is released', async () => {
  const config = tinyConfig(links);
  const want = await byHand(await setUp(config, folder()), 2, -1);
  const parts = await setUp(config, folder());
  parts.model.to('webgpu');
  const sums: number[] = [];
  const onBatch = ({ loss }: { readonly loss: number }): void => void sums.push(loss);
  const trainer = new SynchronousTrainer(parts.batcher, parts.model, { onBatch });
  await trainer.train(1);
  const { liveBytes } = webgpu.gpu.stats();
  await trainer.train(1);
  expect(webgpu.gpu.stats().liveBytes).toBeLessThanOrEqual(liveBytes);
  const perEpoch = sums.length / 2;
  const losses = sums.map((sum, i) => (i % perEpoch === 0 ? sum : sum - sums[i - 1]));
  expectClose(await outcome(parts, losses), want);
});

it('a pipeline gives the same results as on the CPU', async () => {
  const config = tinyConfig(links);
  const trained = async (place: 'cpu' | 'webgpu'): Promise<Outcome> => {
    const parts = await setUp(config, folder());
    if (place === 'webgpu') parts.model.to(place);
    const losses: number[] = [];
    const onEpoch = ({ loss }: { readonly loss: number }): void => void losses.push(loss);
    await new PipelineTrainer(parts.batcher, parts.model, { stalenessBound: 4, onEpoch }).train(2);
    return outcome(parts, losses);
  };
  expectClose(await trained('webgpu'), await trained('cpu'));
});

/**
 * Models train on the GPU as on the CPU: the same losses epoch by epoch, the same accuracy, on whole graphs
 * and on sampled blocks, and without holding on to device memory.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue, loadDataset, normalizeFeatures, stochasticBlockModel } from 'skein/data';
import { type Features, GAT, GCN, GCNConv, GraphSAGE, inferLayerwise, type LayeredModel } from 'skein/gnn';
import type { Graph } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import { NeighborSampler } from 'skein/sample';
import { gatherRows, manualSeed, noGrad, scope, Tensor } from 'skein/tensor';
import { type NodeClassifierResult, trainNodeClassifier } from 'skein/train';
import { describe, expect, it } from 'vitest';
import { worstError } from '../ops/check.js';
import { isWide } from '../wide.js';
import { tolerance } from './compare-on-gpu.js';
import { useWebGpu } from './use-webgpu.js';

const webgpu = useWebGpu();
/** Enough steps to show a wrong gradient; differences that grow slowly are for the long suite. */
const epochs = isWide ? 12 : 4;

/** 300 nodes of three kinds, with noisy features. */
const data = stochasticBlockModel([100, 100, 100], {
  probabilities: [
    [0.06, 0.01, 0.01],
    [0.01, 0.06, 0.01],
    [0.01, 0.01, 0.06],
  ],
  numFeatures: 12,
  seed: 4,
});
const mask = Uint8Array.from({ length: 300 }, (_, v) => (v % 3 === 0 ? 1 : 0));

interface Task {
  readonly graph: Graph;
  readonly features: Features;
  readonly labels: Int32Array;
  readonly mask: Uint8Array;
}
const task: Task = { graph: data.graph, features: data.features as Tensor, labels: data.labels, mask };

type Place = 'cpu' | 'webgpu';
const put = (x: Features, place: Place): Features => (x instanceof Tensor ? x.to(place) : x);

const models = {
  GCN: (i: number, o: number) => new GCN([i, 16, o], { dropout: 0.3 }),
  GraphSAGE: (i: number, o: number) => new GraphSAGE([i, 16, o], { dropout: 0.3, norm: 'batch' }),
  'GraphSAGE, pool': (i: number, o: number) =>
    new GraphSAGE([i, 16, o], { aggregator: 'pool', norm: 'layer' }),
  GAT: (i: number, o: number) => new GAT([i, 4, o], { heads: 4, attentionDropout: 0.2, dropout: 0.2 }),
} satisfies Record<string, (i: number, o: number) => LayeredModel>;

interface Trained {
  readonly losses: number[];
  readonly logits: Tensor;
  readonly model: LayeredModel;
}

async function trained(
  { graph, features, labels, mask: counted }: Task,
  make: () => LayeredModel,
  place: Place,
  epochs: number,
): Promise<Trained> {
  manualSeed(3);
  const model = make().to(place);
  const x = put(features, place);
  const optimizer = new Adam(model.parameters(), { lr: 0.01, weightDecay: 5e-4 });
  const losses: number[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    const loss = scope(() => {
      optimizer.zeroGrad();
      const value = crossEntropy(model.forward(graph, x), labels, { mask: counted });
      value.backward();
      optimizer.step();
      return value.detach();
    });
    losses.push((await loss.data())[0]);
    loss.dispose();
  }
  model.eval();
  const logits = noGrad(() => scope(() => model.forward(graph, x)));
  return { losses, logits: await logits.cpu(), model };
}

function accuracy(logits: Tensor, labels: Int32Array): number {
  const guesses = logits.argmax(1).dataSync();
  return labels.filter((label, v) => guesses[v] === label).length / labels.length;
}

async function compare(task: Task, make: () => LayeredModel, epochs: number): Promise<void> {
  const want = await trained(task, make, 'cpu', epochs);
  const got = await trained(task, make, 'webgpu', epochs);
  for (const [epoch, loss] of want.losses.entries())
    expect(Math.abs(got.losses[epoch] - loss), `epoch ${epoch}`).toBeLessThan(tolerance);
  expect(got.losses.at(-1)).toBeLessThan(got.losses[0]);
  expect(accuracy(got.logits, task.labels)).toBe(accuracy(want.logits, task.labels));
}

describe.each(Object.entries(models))('%s on webgpu', (_name, make) => {
  it('trains as on the CPU', () => compare(task, () => make(12, 3), epochs), 240_000);

  it('infers layer by layer as in one pass', async () => {
    manualSeed(5);
    const model = make(12, 3).eval();
    const want = inferLayerwise(model, data.graph, data.features, { batchSize: 128 });
    model.to('webgpu');
    const got = inferLayerwise(model, data.graph, put(data.features, 'webgpu'), { batchSize: 128 });
    expect(worstError(await got.cpu(), want)).toBeLessThan(tolerance);
    got.dispose();
  });
});

describe('trainNodeClassifier', () => {
  const all = Int32Array.from({ length: 300 }, (_, v) => v);
  const part = (k: number): Int32Array => all.filter((v) => v % 3 === k);
  const splits = { train: part(0), valid: part(1), test: part(2) };
  const run = (place: Place, sampled: boolean): Promise<NodeClassifierResult> => {
    manualSeed(8);
    const model = new GraphSAGE([12, 8, 3], { dropout: 0.2, norm: 'batch' }).to(place);
    const sampling = sampled ? { sampling: { fanouts: [5, 5], batchSize: 50, seed: 2 } } : {};
    return trainNodeClassifier({
      model,
      data: { ...data, splits },
      epochs: isWide ? 6 : 3,
      seed: 9,
      clipNorm: 1,
      ...sampling,
    });
  };

  it.each([false, true])(
    'trains where the model is (sampled: %s)',
    async (sampled) => {
      const want = await run('cpu', sampled);
      const live = webgpu.gpu.stats().liveBuffers;
      const got = await run('webgpu', sampled);
      for (const [i, { loss, validLoss }] of want.history.entries()) {
        expect(Math.abs(got.history[i].loss - loss), `epoch ${i}`).toBeLessThan(tolerance);
        expect(Math.abs(got.history[i].validLoss - validLoss), `epoch ${i}`).toBeLessThan(tolerance);
      }
      expect(got.test).toEqual(want.test);
      // Remaining memory: parameters, the optimiser's two moments, gradients, statistics, and structures of graphs.
      if (!sampled) expect(webgpu.gpu.stats().liveBuffers - live).toBeLessThan(60);
    },
    240_000,
  );
});

describe('memory of the device', () => {
  it('stays as it is over the epochs in scopes', async () => {
    manualSeed(3);
    const model = new GCN([12, 16, 3], { dropout: 0.5 }).to('webgpu');
    const x = put(data.features, 'webgpu');
    const optimizer = new Adam(model.parameters(), { lr: 0.01 });
    const live: number[] = [];
    for (let epoch = 0; epoch < (isWide ? 50 : 12); epoch++) {
      scope(() => {
        optimizer.zeroGrad();
        crossEntropy(model.forward(data.graph, x), data.labels, { mask }).backward();
        optimizer.step();
      });
      live.push(webgpu.gpu.stats().liveBuffers);
      if (epoch % 10 === 9) await webgpu.gpu.finish();
    }
    expect(new Set(live.slice(2)).size).toBe(1);
  });

  it('caches the structures of a bounded number of blocks', () => {
    const layer = new GCNConv(12, 4).to('webgpu');
    const x = put(data.features, 'webgpu') as Tensor;
    const sampler = new NeighborSampler(data.graph, { fanouts: [4] });
    const live = Array.from({ length: 100 }, (_, step) => {
      const { blocks, nodeIds } = sampler.sample([step, step + 100, step + 200], { epoch: 0, step });
      scope(() => void layer.forward(blocks[0], gatherRows(x, nodeIds)));
      return webgpu.gpu.stats().liveBuffers;
    });
    expect(new Set(live.slice(80)).size).toBe(1);
  });
});

describe('sampled training', () => {
  async function sampled(place: Place, make: () => LayeredModel): Promise<number[]> {
    manualSeed(3);
    const model = make().to(place);
    const x = put(data.features, place) as Tensor;
    const sampler = new NeighborSampler(data.graph, { fanouts: [8, 5], seed: 2 });
    const seeds = Int32Array.from({ length: 100 }, (_, i) => 3 * i);
    const optimizer = new Adam(model.parameters(), { lr: 0.01 });
    const losses: number[] = [];
    for (let epoch = 0; epoch < epochs; epoch++) {
      for (let step = 0; step < 2; step++) {
        const ids = seeds.subarray(50 * step, 50 * step + 50);
        const batch = sampler.sample(ids, { epoch, step });
        const loss = scope(() => {
          optimizer.zeroGrad();
          const logits = model.forward(batch.blocks, gatherRows(x, batch.nodeIds));
          const value = crossEntropy(
            gatherRows(logits, batch.seedRows),
            ids.map((v) => data.labels[v]),
          );
          value.backward();
          optimizer.step();
          return value.detach();
        });
        losses.push((await loss.data())[0]);
        loss.dispose();
      }
    }
    return losses;
  }

  it.each(Object.entries(models))(
    '%s on blocks as on the CPU',
    async (_name, make) => {
      const want = await sampled('cpu', () => make(12, 3));
      const got = await sampled('webgpu', () => make(12, 3));
      for (const [i, loss] of want.entries())
        expect(Math.abs(got[i] - loss), `step ${i}`).toBeLessThan(tolerance);
    },
    240_000,
  );
});

const root = process.env['SKEIN_DATA'];
const hasCora =
  root !== undefined &&
  catalogue.cora.files.every((names) =>
    names.some((file) => existsSync(join(root, catalogue.cora.folder, file.name))),
  );

if (hasCora)
  it('GCN trains on Cora in $SKEIN_DATA as on the CPU', async () => {
    const cora = await loadDataset('cora', { download: false });
    const features = normalizeFeatures(cora.features);
    const counted = new Uint8Array(cora.graph.numNodes);
    for (const v of cora.splits?.train ?? []) counted[v] = 1;
    const { graph, labels, numClasses } = cora;
    const make = (): LayeredModel => models.GCN(features.shape[1], numClasses);
    await compare({ graph, features, labels, mask: counted }, make, 3);
  }, 240_000);

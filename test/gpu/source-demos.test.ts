/**
 * The three demonstrations of GammaGL's GPU add-on, line by line in TypeScript: training on sampled batches with hot and cold
 * features, hand-over to another library, and several devices.
 */
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import { manualSeed, noGrad, scope } from 'skein';
import { stochasticBlockModel } from 'skein/data';
import { GraphSAGE } from 'skein/gnn';
import {
  CGPUFeature,
  type FeatureBlock,
  GPUSampler,
  type GpuDevice,
  MultiCGPUFeature,
  MultiGPUSampler,
  openGpuDevice,
} from 'skein/gpu';
import { SparseMatrix } from 'skein/graph';
import { toTfjs } from 'skein/interop';
import { Adam, crossEntropy } from 'skein/nn';
import type { Batch } from 'skein/sample';
import { fromTypedArray, mul, type Tensor } from 'skein/tensor';
import { afterAll, beforeAll, expect, it } from 'vitest';

const numFeatures = 16;
const data = stochasticBlockModel([80, 80, 80], {
  probabilities: [0, 1, 2].map((i) => [0, 1, 2].map((j) => (i === j ? 0.12 : 0.006))),
  ...{ numFeatures, seed: 5 },
});
const { labels } = data;
const x = data.features as Tensor;
const numNodes = labels.length;

/** csr = sp.csr_matrix((np.ones(…), edge_index)): the graph is undirected, so rows list neighbours in either sense. */
const { offsets, indices } = data.graph.adjacency;
const csr = SparseMatrix.fromCsr(Int32Array.from(offsets), indices, null, [numNodes, numNodes]);

/** Batches of the nodes that are learnt from. */
const trainLoader: Int32Array[] = [];
for (let start = 0; start < 160; start += 40)
  trainLoader.push(Int32Array.from({ length: 40 }, (_, i) => ((start + i) * 7) % numNodes));

let gpu: GpuDevice;
beforeAll(async () => {
  gpu = await openGpuDevice();
});
afterAll(() => gpu?.destroy());

function makeModel(): { model: GraphSAGE; optimizer: Adam } {
  manualSeed(3);
  const model = new GraphSAGE([numFeatures, 16, 3]);
  return { model, optimizer: new Adam(model.parameters(), { lr: 0.02 }) };
}

async function toTensor(rows: FeatureBlock): Promise<Tensor> {
  const values = fromTypedArray((await rows.toHost()) as Float32Array, rows.shape);
  rows.release();
  return values;
}

function backward(model: GraphSAGE, batch: Batch, features: Tensor, share: number): number {
  const y = Int32Array.from(batch.nodeIds.subarray(0, batch.numSeeds), (node) => labels[node]);
  return scope(() => {
    const loss = crossEntropy(model.forward(batch.blocks, features), y);
    mul(loss, share).backward();
    return loss.item();
  });
}

function accuracy(model: GraphSAGE): number {
  const guesses = noGrad(() => model.forward(data.graph, x))
    .argmax()
    .dataSync();
  return labels.filter((label, node) => label === guesses[node]).length / numNodes;
}

it('trains on sampled batches with hot and cold features', { timeout: 240_000 }, async () => {
  const cgpuFeat = new CGPUFeature(csr, gpu, '0.1G');
  await cgpuFeat.fromCpuTensor(x);
  const sampler = new GPUSampler(gpu, csr);
  sampler.setSize([25, 10]);
  const { model, optimizer } = makeModel();
  for (let epoch = 0; epoch < 8; epoch++) {
    for (const seed of trainLoader) {
      const { allNode, adjs, batchSize, batch } = await sampler.sample(seed);
      const curFeat = await cgpuFeat.get(allNode);
      expect([...allNode.subarray(0, batchSize)]).toEqual([...seed]);
      expect(adjs[1].size[1]).toBe(batchSize);
      optimizer.zeroGrad();
      backward(model, batch, await toTensor(curFeat), 1);
      optimizer.step();
    }
  }
  expect(accuracy(model)).toBeGreaterThan(0.9);
  expect(cgpuFeat.stats.misses).toBe(0);
  sampler.release();
  cgpuFeat.release();
});

it('hands batches over to TensorFlow.js', async () => {
  await tf.setBackend('cpu');
  const cgpuFeat = new CGPUFeature(csr, null, 0);
  await cgpuFeat.fromCpuTensor(x);
  const sampler = new GPUSampler(gpu, csr, { sizes: [5, 5] });
  const before = tf.memory().numTensors;
  for (const seeds of trainLoader) {
    const { allNode, adjs } = await sampler.sample(seeds);
    const curFeat = await cgpuFeat.get(allNode);
    const rows = curFeat.view();
    const features = toTfjs(tf, rows) as tf.Tensor2D;
    const subgs = adjs.map((adj) => adj.toTfjs(tf));
    const [{ edgeIndex, size }] = subgs;
    const sums = tf.tidy(() => {
      const [src, dst] = tf.unstack(edgeIndex) as tf.Tensor1D[];
      return tf.unsortedSegmentSum(tf.gather(features, src), dst, size[1]);
    });
    const expected = new Float64Array(size[1] * numFeatures);
    const all = x.dataSync();
    for (const [e, v] of adjs[0].col.entries())
      for (let k = 0; k < numFeatures; k++)
        expected[v * numFeatures + k] += all[allNode[adjs[0].row[e]] * numFeatures + k];
    const got = sums.dataSync();
    for (let i = 0; i < expected.length; i++) expect(got[i]).toBeCloseTo(expected[i], 4);
    tf.dispose([sums, features, ...subgs.flatMap((adj) => [adj.edgeIndex, adj.eId])]);
    rows.release();
    curFeat.release();
    for (const adj of adjs) adj.release();
  }
  expect(tf.memory().numTensors).toBe(before);
  sampler.release();
});

it('trains on several devices', { timeout: 240_000 }, async () => {
  const second = await openGpuDevice();
  const devices = [gpu, second];
  const mlSp = new MultiGPUSampler(devices, csr);
  const feat = new MultiCGPUFeature(1, devices, '.1G', csr);
  await feat.fromCpuTensor(x);
  mlSp.setSize([25, 10]);
  const { model, optimizer } = makeModel();
  for (let epoch = 1; epoch < 9; epoch++) {
    for (const seed of trainLoader) {
      optimizer.zeroGrad();
      for (const rank of [0, 1]) {
        const own = seed.filter((_, i) => i % 2 === rank);
        const { allNode: dstNode, batch } = await mlSp.sample(own, rank);
        const curFeat = await feat.get(dstNode, rank);
        backward(model, batch, await toTensor(curFeat), 1 / 2);
      }
      optimizer.step();
    }
  }
  expect(accuracy(model)).toBeGreaterThan(0.9);
  mlSp.release();
  feat.release();
  second.destroy();
});

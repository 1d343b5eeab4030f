/**
 * Batches sampled and gathered on a GPU as tensors of TensorFlow.js on the same device and on the host: what it computes from
 * them is what Skein's own arrays say.
 */
import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import { stochasticBlockModel } from 'skein/data';
import { adoptGpuDevice, CGPUFeature, GPUSampler, type GpuDevice, openGpuDevice } from 'skein/gpu';
import { TensorView, toTfjs } from 'skein/interop';
import { NeighborSampler } from 'skein/sample';
import { gatherRows, type Tensor } from 'skein/tensor';
import { StateError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GpuDeviceLike } from '#internal/interop/gpu-like.js';
import { installWebGpu } from './webgpu-globals.js';

const blocks = [0, 1, 2];
const data = stochasticBlockModel([60, 60, 60], {
  probabilities: blocks.map((i) => blocks.map((j) => (i === j ? 0.05 : 0.004))),
  ...{ numFeatures: 12, seed: 5 },
});
const x = data.features as Tensor;
const { graph: csr } = data;
const { numNodes } = csr;
const devices: GpuDevice[] = [];

beforeAll(async () => {
  await installWebGpu();
  await import('@tensorflow/tfjs-backend-webgpu');
  await tf.setBackend('webgpu');
});
afterAll(() => {
  for (const gpu of devices) gpu.raw.destroy();
});

/** All nodes in batches. */
function* trainLoader(batchSize: number): Generator<Int32Array> {
  const order = Int32Array.from({ length: numNodes }, (_, i) => (i * 7) % numNodes);
  for (let start = 0; start < numNodes; start += batchSize) yield order.slice(start, start + batchSize);
}

describe('TensorFlow.js', () => {
  /** The sums over neighbours that TensorFlow.js forms must be those of Skein's arrays. */
  async function checkSums(sums: tf.Tensor, degrees: tf.Tensor, seed: Int32Array): Promise<void> {
    const batch = new NeighborSampler(csr, { fanouts: [25, 10] }).sample(seed, { epoch: 0, step: 0 });
    const h = gatherRows(x, batch.nodeIds).dataSync();
    const [outer] = batch.adjs();
    const expected = new Float32Array(12 * outer.size[1]);
    for (const [e, v] of outer.col.entries())
      for (let f = 0; f < 12; f++) expected[12 * v + f] += h[12 * outer.row[e] + f];
    const got = await sums.data();
    for (const [i, value] of expected.entries()) expect(got[i]).toBeCloseTo(value, 4);
    expect([...(await degrees.data())].reduce((a, b) => a + b, 0)).toBe(outer.row.length);
  }

  test('results of sampler and feature cache as its tensors, on the same device', async () => {
    const gpu = adoptGpuDevice((tf.backend() as unknown as { device: GpuDeviceLike }).device);
    devices.push(gpu);
    const cgpuFeat = new CGPUFeature(csr, gpu, '0.1G');
    await cgpuFeat.fromCpuTensor(x);
    const sampler = new GPUSampler(gpu, csr);
    sampler.setSize([25, 10]);
    const before = tf.memory().numTensors;
    for (const [step, seed] of [...trainLoader(45)].entries()) {
      const sample = await sampler.sampleOnDevice(seed, { epoch: 0, step });
      const curFeat = await cgpuFeat.get(sample);
      // From here on everything is TensorFlow.js's.
      const adjs = sample.adjs.map((adj) => adj.toTfjs(tf));
      const allNode = toTfjs(tf, sample.allNode);
      const h = toTfjs(tf, curFeat.view(), { spare: true }) as tf.Tensor2D;
      expect([allNode.shape, h.shape]).toEqual([[sample.numNodes], [sample.numNodes, 12]]);
      const [sums, degrees] = tf.tidy(() => {
        const { edgeIndex, size } = adjs[0];
        const [row, col] = tf.unstack(edgeIndex) as tf.Tensor1D[];
        const degree = tf.unsortedSegmentSum(tf.ones([row.size]), col, size[1]);
        return [tf.unsortedSegmentSum(tf.gather(h, row), col, size[1]), degree];
      });
      if (step === 0) {
        expect([...(await allNode.data())].slice(0, seed.length)).toEqual([...seed]);
        await checkSums(sums, degrees, seed);
        // TensorFlow.js still uses the memory.
        expect(() => curFeat.release()).toThrow(StateError);
      }
      tf.dispose([sums, degrees, allNode, h, ...adjs.flatMap((adj) => [adj.edgeIndex, adj.eId])]);
      curFeat.release();
      sample.release();
    }
    sampler.release();
    cgpuFeat.release();
    expect([tf.memory().numTensors, gpu.stats().liveBuffers]).toEqual([before, 0]);
  });

  test('the same over host memory', async () => {
    const gpu = await openGpuDevice();
    devices.push(gpu);
    const cgpuFeat = await new CGPUFeature(csr, gpu, '2K').fromCpuTensor(x);
    const sampler = new GPUSampler(gpu, csr, { sizes: [25, 10] });
    await tf.setBackend('cpu');
    const [seed] = trainLoader(45);
    const { allNode, adjs } = await sampler.sample(seed, { epoch: 0, step: 0 });
    using curFeat = await cgpuFeat.get(allNode);
    const h = toTfjs(tf, await curFeat.view().toHost()) as tf.Tensor2D;
    const { edgeIndex, size } = adjs[0].toTfjs(tf);
    expect(toTfjs(tf, TensorView.fromTyped(allNode)).dataSync()).toBe(allNode);
    const [row, col] = tf.unstack(edgeIndex) as tf.Tensor1D[];
    const sums = tf.unsortedSegmentSum(tf.gather(h, row), col, size[1]);
    const degrees = tf.unsortedSegmentSum(tf.ones([row.size]), col, size[1]);
    await checkSums(sums, degrees, seed);
    sampler.release();
    cgpuFeat.release();
  });
});

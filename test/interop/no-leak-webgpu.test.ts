/**
 * A thousand batches sampled on a GPU, handed over to TensorFlow.js on the same device and released: tensors, views,
 * buffers and the memory of the process stay flat. Batches are small, because the software adapter computes on the CPU.
 */
import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import { rmat } from 'skein/data';
import { adoptGpuDevice, GPUSampler, type GpuDevice } from 'skein/gpu';
import { type GpuDeviceLike, liveViews, TensorView, toTfjs } from 'skein/interop';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runFlat } from './memory-use.js';
import { installWebGpu } from './webgpu-globals.js';

const nodes = 2048;
const width = 16;
let gpu: GpuDevice;

beforeAll(async () => {
  await installWebGpu();
  await import('@tensorflow/tfjs-backend-webgpu');
  await tf.setBackend('webgpu');
  gpu = adoptGpuDevice((tf.backend() as unknown as { device: GpuDeviceLike }).device);
});
afterAll(() => void gpu.raw.destroy());

test('memory stays flat over 1,000 batches with hand-over on a GPU', async () => {
  const graph = rmat(nodes, { numEdges: 16384, seed: 1 });
  const sampler = new GPUSampler(gpu, graph, { sizes: [3, 2], seed: 2 });
  const table = Float32Array.from({ length: nodes * width }, (_, i) => i % 97);
  const view = TensorView.fromTyped(table, [nodes, width]).toGpu(gpu.raw);
  const features = toTfjs(tf, view) as tf.Tensor2D;

  async function batch(step: number): Promise<void> {
    const seeds = Int32Array.from({ length: 16 }, (_, i) => (step * 16 + i * 61) % nodes);
    const sample = await sampler.sampleOnDevice(seeds, { epoch: 0, step });
    const ids = toTfjs(tf, sample.allNode, { spare: true }) as tf.Tensor1D;
    const rows = toTfjs(tf, sample.adjs[0].row, { spare: true }) as tf.Tensor1D;
    const messages = tf.tidy(() => tf.gather(tf.gather(features, ids), rows));
    if (step % 100 === 0) {
      const firstEdge = (await messages.data())[0];
      const { allNode, adjs } = await sample.toHost();
      expect(firstEdge).toBe(table[allNode[adjs[0].row[0]] * width]);
    }
    tf.dispose([messages, ids, rows]);
    sample.release();
  }

  const alive = () => {
    const { numTensors, numDataBuffers, numBytes } = tf.memory();
    const { liveBuffers, liveBytes } = gpu.stats();
    return { numTensors, numDataBuffers, numBytes, liveBuffers, liveBytes, ...liveViews() };
  };
  const { first, last, grownBytes } = await runFlat({ batches: 1000, warmUp: 100, batch, alive });
  expect(last).toEqual(first);
  expect(grownBytes).toBeLessThan(40e6);
  features.dispose();
  view.release();
  sampler.release();
  expect(gpu.stats().liveBuffers).toBe(0);
}, 120_000);

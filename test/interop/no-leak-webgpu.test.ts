/**
 * Batches sampled and gathered on a GPU, transferred to TensorFlow.js on the same device and released: tensors, views, and
 * buffers stay as many, and in the long suite, over a thousand batches, the memory of the process as large. Batches are small,
 * because the software adapter computes on the CPU.
 */
import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import { rmat } from 'skein/data';
import { adoptGpuDevice, CGPUFeature, GPUSampler, type GpuDevice } from 'skein/gpu';
import { liveViews, toTfjs } from 'skein/interop';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GpuDeviceLike } from '#internal/interop/gpu-like.js';
import { isWide } from '../wide.js';
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

const batches = isWide ? 1000 : 60;

test(`nothing is left behind by ${batches} batches with transfer on a GPU`, async () => {
  const graph = rmat(nodes, { numEdges: 16384, seed: 1 });
  const sampler = new GPUSampler(gpu, graph, { sizes: [3, 2], seed: 2 });
  const table = Float32Array.from({ length: nodes * width }, (_, i) => i % 97);
  // Room for half of the rows: the others come from the host.
  const features = new CGPUFeature(graph, gpu, (nodes * width * 4) / 2, { fanouts: [3, 2] });
  await features.fromCpuTensor({ data: table, shape: [nodes, width] });

  async function batch(step: number): Promise<void> {
    const seeds = Int32Array.from({ length: 8 }, (_, i) => (step * 8 + i * 61) % nodes);
    const sample = await sampler.sampleOnDevice(seeds, { epoch: 0, step });
    const gathered = await features.get(sample);
    const x = toTfjs(tf, gathered.view(), { spare: true }) as tf.Tensor2D;
    const { edgeIndex, eId } = sample.adjs[0].toTfjs(tf);
    const messages = tf.tidy(() => tf.gather(x, tf.unstack(edgeIndex)[0] as tf.Tensor1D));
    if (step % 20 === 0) {
      const firstEdge = (await messages.data())[0];
      const { allNode, adjs } = await sample.toHost();
      expect(firstEdge).toBe(table[allNode[adjs[0].row[0]] * width]);
    }
    tf.dispose([messages, x, edgeIndex, eId]);
    gathered.release();
    sample.release();
  }

  const alive = () => {
    const { numTensors, numDataBuffers, numBytes } = tf.memory();
    const { liveBuffers, liveBytes } = gpu.stats();
    return { numTensors, numDataBuffers, numBytes, liveBuffers, liveBytes, ...liveViews() };
  };
  const { first, last, grownBytes } = await runFlat({ batches, warmUp: batches / 5, batch, alive });
  expect(last).toEqual(first);
  // 25 KB per batch; the driver's memory goes up and down by more, but not in every section of the run, once it is warm.
  if (isWide) expect(grownBytes).toBeLessThan(20e6);
  features.release();
  sampler.release();
  expect(gpu.stats().liveBuffers).toBe(0);
}, 240_000);

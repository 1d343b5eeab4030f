/** Adjs in the tensors of other libraries: from host memory, and from the device that TensorFlow.js computes on. */
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import type * as Jax from '@jax-js/jax';
import * as ort from 'onnxruntime-web';
import { adoptGpuDevice, GPUSampler, type GpuDevice } from 'skein/gpu';
import { StateError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installWebGpu } from '../interop/webgpu-globals.js';
import { skewedGraph } from '../sample/graphs.js';

const graph = skewedGraph(120, 900);
const seeds = [4, 8, 15, 16, 23, 42];
const at = { step: 1 };
let gpu: GpuDevice;
let sampler: GPUSampler;
let jax: typeof Jax;

beforeAll(async () => {
  await installWebGpu();
  await import('@tensorflow/tfjs-backend-webgpu');
  await tf.setBackend('webgpu');
  await tf.ready();
  gpu = adoptGpuDevice((tf.backend() as unknown as { device: object }).device);
  sampler = new GPUSampler(gpu, graph, { sizes: [5, 4], seed: 9 });
  jax = await import('@jax-js/jax');
  await jax.init('cpu');
});
afterAll(() => gpu.destroy());

/** Sources, then destinations. */
const joined = ({ row, col }: { row: Int32Array; col: Int32Array }) => [...row, ...col];

describe('from host memory', () => {
  it('to TensorFlow.js, ONNX Runtime and jax-js', async () => {
    await tf.setBackend('cpu');
    const { adjs } = await sampler.sample(seeds, at);
    for (const adj of adjs) {
      const shape = [2, adj.numEdges];
      const inTf = adj.toTfjs(tf);
      expect([inTf.edgeIndex.shape, inTf.edgeIndex.dtype]).toEqual([shape, 'int32']);
      expect([...inTf.edgeIndex.dataSync()]).toEqual(joined(adj));
      expect([...inTf.eId.dataSync()]).toEqual([...adj.eId]);
      const inOrt = adj.toOrt(ort, { ids: 'i64' });
      expect([inOrt.edgeIndex.dims, inOrt.edgeIndex.type]).toEqual([shape, 'int64']);
      expect([...(inOrt.edgeIndex.data as BigInt64Array)].map(Number)).toEqual(joined(adj));
      const inJax = adj.toJax(jax, { device: 'cpu' });
      expect(inJax.edgeIndex.shape).toEqual(shape);
      expect([...inJax.edgeIndex.dataSync()]).toEqual(joined(adj));
      inJax.eId.dispose();
      for (const { size } of [inTf, inOrt, inJax]) expect(size).toEqual(adj.size);
      inTf.edgeIndex.dispose();
      inTf.eId.dispose();
      adj.release();
      adj.release();
      expect(() => adj.toTfjs(tf)).toThrow(StateError);
    }
  });
});

describe('on the device', () => {
  it('TensorFlow.js computes on the sample, and its memory is released', async () => {
    await tf.setBackend('webgpu');
    const host = await sampler.sample(seeds, at);
    const sample = await sampler.sampleOnDevice(seeds, at);
    // The ids of the graph's edges are uploaded on first use and stay.
    expect(sample.adjs[0].eId.shape).toEqual([host.adjs[0].numEdges]);
    const before = gpu.stats().liveBuffers;
    const other = await sampler.sampleOnDevice(seeds, at);
    expect(other.adjs[1].edgeIndex.shape).toEqual([2, host.adjs[1].numEdges]);
    expect(gpu.stats().liveBuffers).toBeGreaterThan(before);
    other.release();
    expect(gpu.stats().liveBuffers).toBe(before);
    for (const [layer, adj] of sample.adjs.entries()) {
      const { edgeIndex, eId, size } = adj.toTfjs(tf);
      expect(size).toEqual(host.adjs[layer].size);
      expect([...(await edgeIndex.data())]).toEqual(joined(host.adjs[layer]));
      const doubled = tf.mul(eId, 2);
      expect([...(await doubled.data())]).toEqual([...host.adjs[layer].eId].map((id) => 2 * id));
      for (const tensor of [edgeIndex, eId, doubled]) tensor.dispose();
    }
    sample.release();
    expect(gpu.stats().liveBuffers).toBeLessThan(before);
  });

  it('a released sample is rejected', async () => {
    const sample = await sampler.sampleOnDevice(seeds, at);
    sample.release();
    expect(() => sample.adjs[0].toTfjs(tf)).toThrow(StateError);
  });
});

/**
 * A thousand batches sampled, gathered, transferred to TensorFlow.js on the host and released: what is alive stays the
 * same from batch 100 to the last, and so does the memory of the process. On a GPU: no-leak-webgpu.test.ts.
 */
import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import { gatherRows, NeighborSampler, poolStats, randn } from 'skein';
import { rmat } from 'skein/data';
import { edgeIndexView, fromTfjs, liveViews, TensorView, toTfjs } from 'skein/interop';
import { expect, test } from 'vitest';
import { runFlat } from './memory-use.js';

const graph = rmat(4096, { numEdges: 65536, seed: 1 });
const features = randn([4096, 64]);
const sampler = new NeighborSampler(graph, { fanouts: [5, 3], seed: 2 });

/** One batch of about 900 nodes: 230 kB of features. */
function batch(step: number): void {
  const seeds = Int32Array.from({ length: 64 }, (_, i) => (step * 64 + i * 61) % 4096);
  const sampled = sampler.sample(seeds, { epoch: 0, step });
  const rows = gatherRows(features, sampled.nodeIds);
  const view = TensorView.fromTensor(rows);
  rows.dispose();
  const x = toTfjs(tf, view) as tf.Tensor2D;
  const edges = sampled.adjs().map(({ row, col }) => toTfjs(tf, edgeIndexView(row, col)) as tf.Tensor2D);
  const result = tf.tidy(() => {
    const sources = tf.reshape(tf.slice(edges[1], [0, 0], [1, -1]), [-1]) as tf.Tensor1D;
    return tf.mean(tf.gather(x, sources), 0);
  });
  const back = fromTfjs(tf, result);
  expect(Number.isFinite(back.toTyped()[0])).toBe(true);
  tf.dispose([x, ...edges, result]);
  back.release();
  view.release();
}

test('memory stays flat over 1,000 batches with transfer to TensorFlow.js', async () => {
  const alive = () => {
    const { numTensors, numDataBuffers, numBytes } = tf.memory();
    return { numTensors, numDataBuffers, numBytes, ...liveViews(), pooled: poolStats().liveBytes };
  };
  const { first, last, grownBytes } = await runFlat({ batches: 1000, warmUp: 100, batch, alive });
  expect(last).toEqual(first);
  // All 900 batches together hold more than 200 MB.
  expect(grownBytes).toBeLessThan(20e6);
}, 240_000);

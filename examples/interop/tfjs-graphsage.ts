/**
 * A GraphSAGE written in TensorFlow.js with data from Skein: Skein samples neighbourhoods of Cora and gathers features,
 * TensorFlow.js (WebAssembly) trains. No data passes through JavaScript arrays; every batch is released.
 *   npm run example -- interop/tfjs-graphsage [--seed 3] [--json]
 */
import { createRequire } from 'node:module';
import '@tensorflow/tfjs-backend-wasm';
import * as tf from '@tensorflow/tfjs-core';
import { gatherRows, NeighborSampler, SparseMatrix } from 'skein';
import { normalizeFeatures } from 'skein/data';
import { TensorView, toTfjs } from 'skein/interop';
import { loadPapers } from '../shared/cora-or-generated.js';
import { startExample } from '../shared/report.js';

// The package @tensorflow/tfjs registers the gradients; with the core alone they are loaded through `require`, because
// the ES module is written for bundlers.
createRequire(import.meta.url)('@tensorflow/tfjs-core/dist/register_all_gradients.js');

const run = startExample(10);
const { name: dataset, data } = await loadPapers();
const scaled = normalizeFeatures(data.features);
const features = scaled instanceof SparseMatrix ? scaled.toDense() : scaled;
const { train, valid, test } = data.splits;
await tf.setBackend('wasm');

/** One hop as TensorFlow.js tensors: sources, destinations, and 1 / number of neighbours of each destination. */
interface Hop {
  readonly row: tf.Tensor1D;
  readonly col: tf.Tensor2D;
  readonly scale: tf.Tensor2D;
  readonly size: readonly [sources: number, destinations: number];
}

/** Mean over neighbours. Forward and backward are the same gather and scatter with the ends exchanged. */
function meanOfNeighbours(h: tf.Tensor2D, hop: Hop): tf.Tensor2D {
  const [sources, destinations] = hop.size;
  const width = h.shape[1];
  return tf.customGrad((x) => {
    const messages = tf.gather(x as tf.Tensor2D, hop.row);
    const sums = tf.scatterND(hop.col, messages, [destinations, width]) as tf.Tensor2D;
    const gradFunc = (dy: tf.Tensor) => {
      const perEdge = tf.gather(tf.mul(dy, hop.scale), tf.reshape(hop.col, [-1]) as tf.Tensor1D);
      return tf.scatterND(tf.expandDims(hop.row, 1), perEdge, [sources, width]);
    };
    return { value: tf.mul(sums, hop.scale) as tf.Tensor2D, gradFunc };
  })(h) as tf.Tensor2D;
}

function glorot(rows: number, columns: number, seed: number): tf.Variable<tf.Rank.R2> {
  const bound = Math.sqrt(6 / (rows + columns));
  return tf.variable(tf.randomUniform([rows, columns], -bound, bound, 'float32', seed) as tf.Tensor2D);
}

const hidden = 32;
const widths = [features.shape[1], hidden, data.numClasses];
const weights = [0, 1].map((layer) => ({
  self: glorot(widths[layer], widths[layer + 1], run.seed + 10 * layer + 1),
  neighbours: glorot(widths[layer], widths[layer + 1], run.seed + 10 * layer + 2),
}));

/** Projects first, then averages: the mean of projected rows is the projection of the mean, and narrower. */
function forward(x: tf.Tensor2D, hops: readonly Hop[], dropout: number, seed: number): tf.Tensor2D {
  let h = x;
  for (const [layer, { self, neighbours }] of weights.entries()) {
    const hop = hops[layer];
    if (layer > 0 && dropout > 0) h = tf.dropout(h, dropout, undefined, seed + layer) as tf.Tensor2D;
    const own = tf.matMul(tf.slice(h, [0, 0], [hop.size[1], -1]), self);
    h = tf.add(own, meanOfNeighbours(tf.matMul(h, neighbours), hop));
    if (layer === 0) h = tf.relu(h);
  }
  return h;
}

/** Samples around `seeds`, converts the batch, and releases everything when `use` has ended. */
function withBatch<T>(
  sampler: NeighborSampler,
  seeds: Int32Array,
  epoch: number,
  use: (x: tf.Tensor2D, hops: readonly Hop[], rows: Int32Array) => T,
): T {
  const batch = sampler.sample(seeds, { epoch, step: 0 });
  const rows = gatherRows(features, batch.nodeIds);
  using view = TensorView.fromTensor(rows);
  rows.dispose();
  const tensors: tf.Tensor[] = [];
  const take = <R extends tf.Tensor>(array: Int32Array | Float32Array, shape: number[]): R => {
    const tensor = toTfjs(tf, TensorView.fromTyped(array, shape));
    tensors.push(tensor);
    return tensor as R;
  };
  const hops = batch.adjs().map(({ row, col, size }): Hop => {
    const scale = new Float32Array(size[1]);
    for (const v of col) scale[v]++;
    for (const [v, degree] of scale.entries()) scale[v] = degree === 0 ? 0 : 1 / degree;
    const edges = row.length;
    return {
      ...{ row: take(row, [edges]), col: take(col, [edges, 1]), scale: take(scale, [size[1], 1]) },
      size,
    };
  });
  const x = toTfjs(tf, view) as tf.Tensor2D;
  try {
    return use(x, hops, batch.seedRows);
  } finally {
    tf.dispose([x, ...tensors]);
  }
}

const everything = new NeighborSampler(data.graph, { fanouts: [-1, -1] });

function accuracy(seeds: Int32Array): number {
  return withBatch(everything, seeds, 0, (x, hops, rows) => {
    const guesses = tf.tidy(() => tf.argMax(forward(x, hops, 0, 0), 1)).dataSync();
    return seeds.filter((node, i) => guesses[rows[i]] === data.labels[node]).length / seeds.length;
  });
}

const sampler = new NeighborSampler(data.graph, { fanouts: [10, 10], seed: run.seed });
const optimizer = tf.train.adam(0.01);
const classes = tf.oneHot(
  tf.tensor1d(
    Int32Array.from(train, (node) => data.labels[node]),
    'int32',
  ),
  data.numClasses,
);
const start = performance.now();
const epochs = 30;
for (let epoch = 1; epoch <= epochs; epoch++) {
  const loss = withBatch(sampler, train, epoch, (x, hops) => {
    const cost = optimizer.minimize(() => {
      const scores = forward(x, hops, 0.5, 1000 * run.seed + 2 * epoch);
      const error = tf.losses.softmaxCrossEntropy(classes, scores) as tf.Scalar;
      return tf.add(error, tf.mul(5e-4, tf.sum(tf.square(weights[0].self)))) as tf.Scalar;
    }, true);
    const value = cost?.dataSync()[0] ?? Number.NaN;
    cost?.dispose();
    return value;
  });
  const validAccuracy = epoch % 10 === 0 ? accuracy(valid) : Number.NaN;
  run.onEpoch({ epoch, loss, validAccuracy } as Parameters<typeof run.onEpoch>[0]);
}
const results = {
  dataset,
  test_accuracy: accuracy(test),
  epochs,
  seconds: Number(((performance.now() - start) / 1000).toFixed(1)),
  tensors: tf.memory().numTensors,
};
run.finish(
  results,
  ({ test_accuracy, seconds }) =>
    `${dataset}: test accuracy ${(100 * test_accuracy).toFixed(1)} % (${epochs} epochs, ${seconds} s, TensorFlow.js)`,
);

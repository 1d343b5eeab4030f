/**
 * A GraphSAGE written in jax-js with data from Skein: Skein samples neighbourhoods of Cora and gathers features, jax-js
 * compiles one training step for all batches. Batches are padded to one shape, because jax-js compiles for shapes.
 *   npm run example -- interop/jax-graphsage [--seed 3] [--json]
 */
import * as jax from '@jax-js/jax';
import { type Batch, gatherRows, manualSeed, NeighborSampler, rand, SparseMatrix, scope, zeros } from 'skein';
import { normalizeFeatures } from 'skein/data';
import { TensorView, toJax } from 'skein/interop';
import { loadPapers } from '../shared/cora-or-generated.js';
import { startExample } from '../shared/report.js';

const run = startExample(5);
const { name: dataset, data } = await loadPapers();
const scaled = normalizeFeatures(data.features);
const features = scaled instanceof SparseMatrix ? scaled.toDense() : scaled;
const { train, valid, test } = data.splits;
const np = jax.numpy;
await jax.init('wasm');
jax.defaultDevice('wasm');

type Arrays = { [name: string]: jax.Array };

/** Returns the mean over neighbours as a matrix [destinations, sources], for rows up to the padded sizes. */
function meanMatrix(row: Int32Array, col: Int32Array, destinations: number, sources: number): jax.Array {
  const degree = new Int32Array(destinations);
  for (const v of col) degree[v]++;
  const matrix = new Float32Array(destinations * sources);
  for (const [e, v] of col.entries()) matrix[v * sources + row[e]] += 1 / degree[v];
  return toJax(jax, TensorView.fromTyped(matrix, [destinations, sources]));
}

/** Projects first, then averages: the mean of projected rows is the projection of the mean, and narrower. */
function layer(h: jax.Array, own: jax.Array, neighbours: jax.Array, mean: jax.Array): jax.Array {
  const self = np.matmul(h.ref.slice([0, mean.shape[0]]), own);
  return self.add(np.matmul(mean, np.matmul(h, neighbours)));
}

/** Returns scores of the seeds. Consumes its arguments, as functions of jax-js do. */
function forward(weights: Arrays, batch: Arrays): jax.Array {
  const hidden = jax.nn.relu(layer(batch.x, weights.own1, weights.neighbours1, batch.mean1));
  return layer(hidden, weights.own2, weights.neighbours2, batch.mean2);
}

function loss(weights: Arrays, batch: Arrays): jax.Array {
  const { classes, ...inputs } = batch;
  const decay = np.sum(np.square(weights.own1.ref)).mul(5e-4);
  const likelihood = jax.nn.logSoftmax(forward(weights, inputs)).mul(classes);
  return np
    .sum(likelihood)
    .mul(-1 / train.length)
    .add(decay);
}

/** One step of Adam: takes and returns the weights and both moments. */
const trainStep = jax.jit(
  (weights: Arrays, means: Arrays, squares: Arrays, rates: jax.Array, batch: Arrays) => {
    const [value, gradients] = jax.valueAndGrad(loss)(jax.tree.ref(weights), batch);
    const next: [Arrays, Arrays, Arrays] = [{}, {}, {}];
    for (const name of Object.keys(weights)) {
      const g = (gradients as Arrays)[name];
      const mean = means[name].mul(0.9).add(g.ref.mul(0.1));
      const square = squares[name].mul(0.999).add(np.square(g).mul(0.001));
      const move = mean.ref.div(np.sqrt(square.ref).add(1e-8)).mul(rates.ref);
      next[0][name] = weights[name].sub(move);
      next[1][name] = mean;
      next[2][name] = square;
    }
    rates.dispose();
    return [value, ...next] as [jax.Array, Arrays, Arrays, Arrays];
  },
);
const scores = jax.jit(forward);

/** Converts a sampled batch, padded to `sizes` rows per hop: every array is a copy in the memory of jax-js. */
function toJaxArrays(batch: Batch, sizes: readonly number[]): Arrays {
  const [mean1, mean2] = batch.adjs().map((hop, i) => meanMatrix(hop.row, hop.col, sizes[i + 1], sizes[i]));
  return scope(() => {
    const x = zeros([sizes[0], features.shape[1]]);
    x.dataSync<Float32Array>().set(gatherRows(features, batch.nodeIds).dataSync<Float32Array>());
    return { x: toJax(jax, x), mean1, mean2 };
  });
}

manualSeed(run.seed);
const glorot = (rows: number, columns: number): jax.Array =>
  scope(() => {
    const width = 2 * Math.sqrt(6 / (rows + columns));
    return toJax(jax, rand([rows, columns]).sub(0.5).mul(width));
  });
const hidden = 16;
let weights: Arrays = {
  own1: glorot(features.shape[1], hidden),
  neighbours1: glorot(features.shape[1], hidden),
  own2: glorot(hidden, data.numClasses),
  neighbours2: glorot(hidden, data.numClasses),
};
const noMoments = () =>
  Object.fromEntries(Object.entries(weights).map(([name, w]) => [name, np.zeros(w.shape)])) as Arrays;
let [means, squares] = [noMoments(), noMoments()];

const everything = new NeighborSampler(data.graph, { fanouts: [-1, -1] });

async function accuracy(seeds: Int32Array): Promise<number> {
  const { numNodes } = data.graph;
  const batch = toJaxArrays(everything.sample(seeds), [numNodes, numNodes, seeds.length]);
  const guesses = await np.argmax(scores(jax.tree.ref(weights), batch), 1).data();
  return seeds.filter((node, i) => guesses[i] === data.labels[node]).length / seeds.length;
}

const oneHot = new Float32Array(train.length * data.numClasses);
for (const [i, node] of train.entries()) oneHot[i * data.numClasses + data.labels[node]] = 1;
const classes = toJax(jax, TensorView.fromTyped(oneHot, [train.length, data.numClasses]));
const sampler = new NeighborSampler(data.graph, { fanouts: [5, 3], seed: run.seed });
const start = performance.now();
const epochs = 25;
// Sampled ahead, so that the rows of the largest batch are known: one shape, one compilation.
const batches = Array.from({ length: epochs }, (_, epoch) => sampler.sample(train, { epoch, step: 0 }));
const largest = (rows: (batch: Batch) => number) => Math.max(...batches.map(rows));
const sizes = [largest((b) => b.numNodes), largest((b) => b.nodesPerHop[0] + b.nodesPerHop[1]), train.length];
for (let epoch = 1; epoch <= epochs; epoch++) {
  const rate = (0.02 * Math.sqrt(1 - 0.999 ** epoch)) / (1 - 0.9 ** epoch);
  const batch = { ...toJaxArrays(batches[epoch - 1], sizes), classes: classes.ref };
  const [value, ...state] = trainStep(weights, means, squares, np.array(rate), batch);
  [weights, means, squares] = state;
  const loss = (await value.data())[0];
  const validAccuracy = epoch === epochs ? await accuracy(valid) : Number.NaN;
  run.onEpoch({ epoch, loss, validAccuracy } as Parameters<typeof run.onEpoch>[0]);
}
run.finish(
  {
    dataset,
    test_accuracy: await accuracy(test),
    epochs,
    seconds: Number(((performance.now() - start) / 1000).toFixed(1)),
  },
  ({ test_accuracy, seconds }) =>
    `${dataset}: test accuracy ${(100 * test_accuracy).toFixed(1)} % (${epochs} epochs, ${seconds} s, jax-js)`,
);

/**
 * A GraphSAGE trained with Skein and run in onnxruntime: the scores agree. Trains on Cora (or generated communities when
 * Cora is not in $SKEIN_DATA), exports the model as ONNX and runs that in onnxruntime-web on WebAssembly.
 *   npm run example -- interop/onnx-inference [--seed 3] [--json]
 */
import * as ort from 'onnxruntime-web';
import { classificationMetrics, gnn, manualSeed, noGrad, trainNodeClassifier } from 'skein';
import { normalizeFeatures } from 'skein/data';
import { exportOnnx, onnxInputs, toOrt } from 'skein/interop';
import { loadPapers } from '../shared/cora-or-generated.js';
import { startExample } from '../shared/report.js';

const run = startExample();
const { name, data } = await loadPapers();
const features = name === 'cora' ? normalizeFeatures(data.features) : data.features;

manualSeed(run.seed);
const model = new gnn.GraphSAGE([features.shape[1], 32, data.numClasses], { dropout: 0.5 });
await trainNodeClassifier({
  model,
  data: { ...data, features },
  epochs: 100,
  seed: run.seed,
  onEpoch: run.onEpoch,
});

model.eval();
const own = noGrad(() => model.forward(data.graph, features)).dataSync() as Float32Array;

const bytes = exportOnnx(model, { metadata: { dataset: name } });
ort.env.wasm.numThreads = 1;
const session = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'] });
const inputs = onnxInputs(data.graph, features);
const start = performance.now();
const feeds = Object.entries(inputs).map(([input, view]) => [input, toOrt(ort, view)]);
const { y } = await session.run(Object.fromEntries(feeds));
const seconds = (performance.now() - start) / 1000;
const theirs = y.data as Float32Array;
await session.release();
for (const view of Object.values(inputs)) view.release();

const accuracy = (logits: Float32Array): number => {
  const { test } = data.splits;
  const guesses = Int32Array.from(test, (node) => {
    const row = logits.subarray(node * data.numClasses, (node + 1) * data.numClasses);
    return row.indexOf(Math.max(...row));
  });
  return classificationMetrics(
    test.map((node) => data.labels[node]),
    guesses,
    data.numClasses,
  ).accuracy;
};
run.finish(
  {
    dataset: name,
    model_bytes: bytes.length,
    skein_accuracy: accuracy(own),
    onnx_accuracy: accuracy(theirs),
    largest_difference: own.reduce((most, value, i) => Math.max(most, Math.abs(value - theirs[i])), 0),
    onnx_seconds: Number(seconds.toFixed(3)),
  },
  (it) =>
    `${it.dataset}: test accuracy here ${(100 * it.skein_accuracy).toFixed(1)} %, in onnxruntime ` +
    `${(100 * it.onnx_accuracy).toFixed(1)} %, largest difference of a score ${it.largest_difference.toExponential(1)}`,
);

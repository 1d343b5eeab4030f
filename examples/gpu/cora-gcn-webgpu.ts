/**
 * A two-layer GCN trained on the GPU: the model and every step on the device, the graph uploaded once.
 *   npm run example -- gpu/cora-gcn-webgpu [--seed 3] [--json]
 * On Cora from $SKEIN_DATA, or on a generated graph if it is missing. A software adapter gives the same results, slowly.
 */
import { gnn, manualSeed, nn, noGrad, scope, Tensor } from 'skein';
import { normalizeFeatures } from 'skein/data';
import { enableWebGpu } from 'skein/gpu';
import { loadPapers } from '../shared/cora-or-generated.js';
import { startExample } from '../shared/report.js';

const run = startExample(5);
const { name: dataset, data } = await loadPapers();
const { graph, labels, splits } = data;
const scaled = normalizeFeatures(data.features);

const device = await enableWebGpu();
const { gpu } = device;
console.error(
  `${gpu.info.description}${gpu.isSoftware ? ' (software adapter: correct, but slower than the CPU)' : ''}`,
);

manualSeed(run.seed);
const model = new gnn.GCN([scaled.shape[1], 16, data.numClasses], { dropout: 0.5 }).to('webgpu');
// A sparse matrix stays in memory; the dense operand decides the device.
const features = scaled instanceof Tensor ? scaled.to('webgpu') : scaled;
const [first, second] = model.layers;
const optimizer = new nn.Adam(
  [{ params: first.parameters(), weightDecay: 5e-4 }, { params: second.parameters() }],
  { lr: 0.05 },
);
const mask = Uint8Array.from(labels, () => 0);
for (const node of splits.train) mask[node] = 1;

/** Returns the model's prediction for every node, without dropout. Values of a device are awaited. */
async function predict(): Promise<ArrayLike<number>> {
  model.eval();
  const classes = noGrad(() => scope(() => model.forward(graph, features).argmax(1)));
  model.train();
  const values = await classes.data();
  classes.dispose();
  return values;
}

async function accuracy(nodes: Int32Array): Promise<number> {
  const guessed = await predict();
  return nodes.filter((node) => guessed[node] === labels[node]).length / nodes.length;
}

const start = performance.now();
const epochs = 20;
for (let epoch = 1; epoch <= epochs; epoch++) {
  // A scope frees the memory of a step at its end.
  const loss = scope(() => {
    optimizer.zeroGrad();
    const value = nn.crossEntropy(model.forward(graph, features), labels, { mask });
    value.backward();
    optimizer.step();
    return value.detach();
  });
  if (epoch % 5 === 0) {
    const [value] = await loss.data();
    run.onEpoch({ epoch, loss: value, validAccuracy: await accuracy(splits.valid) } as Parameters<
      typeof run.onEpoch
    >[0]);
  }
  loss.dispose();
}
const results = {
  dataset,
  test_accuracy: await accuracy(splits.test),
  epochs,
  seconds: Number(((performance.now() - start) / 1000).toFixed(1)),
  software: gpu.isSoftware,
};
run.finish(
  results,
  ({ test_accuracy, seconds }) =>
    `${dataset}: test accuracy ${(100 * test_accuracy).toFixed(1)} % (${epochs} epochs, ${seconds} s, WebGPU)`,
);
device.release();
gpu.destroy();

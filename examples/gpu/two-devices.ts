/**
 * Trains GraphSAGE on two devices with averaged gradients, and on one: the models agree. One worker thread per device.
 *   npm run example -- gpu/two-devices [--devices 2] [--seed 3] [--json]
 */
import { parseArgs } from 'node:util';
import { noGrad } from 'skein';
import { stochasticBlockModel } from 'skein/data';
import { gradientMemory, MultiCGPUFeature, MultiGPUSampler, openGpuDevice } from 'skein/gpu';
import { fromTypedArray } from 'skein/tensor';
import { type DeviceTask, makeModel, startDeviceWorker } from '../shared/device-worker.js';

const { values } = parseArgs({
  options: {
    devices: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const devices = Number(values.devices);

const blocks = [0, 1, 2, 3];
const data = stochasticBlockModel(
  blocks.map(() => 100),
  { probabilities: blocks.map((i) => blocks.map((j) => (i === j ? 0.08 : 0.004))), numFeatures: 16, seed: 5 },
);
const isTraining = (v: number): boolean => v % 4 < 2;
const nodes = Int32Array.from(data.labels.keys());

const { features } = data;
const train = nodes.filter(isTraining);
const sizes = [features.shape[1], 16, data.numClasses];
const fanouts = [8, 4];

// A worker's environment is a copy, so the driver is chosen here.
const gpu = await openGpuDevice();
const sampler = new MultiGPUSampler(gpu, data.graph, { sizes: fanouts, seed });
const table = new MultiCGPUFeature(0, [], '8K', data.graph, { fanouts, seeds: train });
await table.fromCpuTensor(features);
const common = {
  ...{ sampler: sampler.share(), features: table.share(), labels: data.labels, train, sizes },
  ...{ batchSize: 50, epochs: 2, seed },
};
sampler.release();
gpu.destroy();

const shares = Array.from({ length: devices }, (_, i) => i);
const start = makeModel(sizes, seed);

/**
 * Returns the parameters after training on all devices, or on one that takes all shares; they must be equal on all
 * workers.
 */
async function trainOn(count: number): Promise<Float32Array[]> {
  const gradients = gradientMemory(count, start.parameters());
  const tasks: DeviceTask[] = Array.from({ length: count }, (_, rank) => ({
    ...common,
    ...{ rank, gradients, numShares: devices, shares: count === 1 ? shares : [rank] },
  }));
  const results = await Promise.all(tasks.map(startDeviceWorker));
  for (const { rank, parameters } of results)
    if (difference(parameters, results[0].parameters) !== 0)
      throw new Error(`rank ${rank} has a different model`);
  return [...results[0].parameters];
}

function difference(a: readonly Float32Array[], b: readonly Float32Array[]): number {
  return Math.max(
    ...a.map((list, i) => list.reduce((most, x, k) => Math.max(most, Math.abs(x - b[i][k])), 0)),
  );
}

/** Returns the accuracy on the nodes that were not trained on. */
function accuracy(parameters: readonly Float32Array[]): number {
  const model = makeModel(sizes, seed);
  for (const [i, value] of model.parameters().entries())
    noGrad(() => value.assign(fromTypedArray(parameters[i], value.shape)));
  const guesses = noGrad(() => model.forward(data.graph, features))
    .argmax()
    .dataSync();
  const unseen = nodes.filter((v) => !isTraining(v));
  return unseen.filter((v) => guesses[v] === data.labels[v]).length / unseen.length;
}

const one = await trainOn(1);
const several = await trainOn(devices);
const done = {
  event: 'done',
  devices,
  accuracy: accuracy(several),
  accuracy_on_one: accuracy(one),
  largest_difference: difference(one, several),
};
if (values.json) console.log(JSON.stringify(done));
else
  console.log(
    `accuracy on ${devices} devices ${(100 * done.accuracy).toFixed(1)} %, on one ${(100 * done.accuracy_on_one).toFixed(1)} %, ` +
      `largest difference of a parameter ${done.largest_difference.toExponential(1)}`,
  );

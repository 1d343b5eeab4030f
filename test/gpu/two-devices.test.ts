/** Two devices with averaged gradients learn what one device learns. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { GraphSAGE } from 'skein/gnn';
import {
  enableWebGpu,
  type GpuDevice,
  GradientAverage,
  gradientMemory,
  MultiCGPUFeature,
  MultiGPUSampler,
} from 'skein/gpu';
import { Adam, crossEntropy } from 'skein/nn';
import { manualSeed, scope } from 'skein/tensor';
import { expect, it } from 'vitest';
import { skewedGraph } from '../sample/graphs.js';
import { isWide } from '../wide.js';
import { deviceOpener } from './devices.js';

const open = deviceOpener();
const [numNodes, width] = [90, 6];
const graph = skewedGraph(numNodes, 500);
const data = Float32Array.from({ length: numNodes * width }, (_, i) => Math.sin(1.7 * i));
const labels = Int32Array.from({ length: numNodes }, (_, v) => v % 3);

/** Returns the parameters after six batches of 15 seeds, split among the devices, with all neighbours. */
async function train(devices: readonly GpuDevice[]): Promise<number[][]> {
  const sampler = new MultiGPUSampler(devices, graph, { sizes: [-1, -1] });
  const features = new MultiCGPUFeature(0, devices, '1K', graph, {
    fanouts: [-1, -1],
    seeds: Int32Array.of(0),
  });
  await features.fromCpuTensor({ data, shape: [numNodes, width] });
  const tensors = await Promise.all(devices.map((gpu) => enableWebGpu(gpu)));
  const models = tensors.map((device) => {
    manualSeed(8);
    return new GraphSAGE([width, 5, 3]).to(device);
  });
  const memory = gradientMemory(devices.length, models[0].parameters());

  const worker = async (rank: number): Promise<number[]> => {
    const parameters = models[rank].parameters();
    const optimizer = new Adam(parameters, { lr: 0.01 });
    const average = new GradientAverage(memory, { rank, parameters });
    for (let step = 0; step < 6; step++) {
      const batch = Int32Array.from({ length: 15 }, (_, i) => 15 * step + i);
      // The last of two devices gets the larger share.
      const cut = (r: number): number => Math.floor((batch.length * r) / devices.length);
      const seeds = batch.subarray(cut(rank), cut(rank + 1));
      const { blocks, nodeIds } = await sampler.sampleAsync(seeds, rank, { step });
      const rows = await features.get(nodeIds, rank);
      optimizer.zeroGrad();
      scope(() => {
        const targets = seeds.map((v) => labels[v]);
        crossEntropy(models[rank].forward(blocks, rows.toTensor(tensors[rank])), targets).backward();
      });
      rows.release();
      await average.step(seeds.length);
      optimizer.step();
    }
    const values: number[] = [];
    for (const value of parameters) values.push(...((await value.data()) as Float32Array));
    return values;
  };
  const learnt = await Promise.all(devices.map((_, rank) => worker(rank)));
  features.release();
  sampler.release();
  for (const device of tensors) device.release();
  return learnt;
}

it('two devices with half a batch each take the same steps as one with the whole batch, within 1e-5', async () => {
  const [alone] = await train([await open()]);
  const [first, second] = await train([await open(), await open()]);
  expect(second).toEqual(first);
  const largest = Math.max(...alone.map((value, i) => Math.abs(value - first[i])));
  expect(largest).toBeLessThan(1e-5);
}, 240_000);

const runExample = () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const args = ['scripts/example.mjs', 'gpu/two-devices', '--json'];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  const done = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, number>;
  expect(done).toMatchObject({ event: 'done', devices: 2 });
  expect(done['accuracy']).toBeGreaterThan(0.9);
  expect(done['accuracy_on_one']).toBe(done['accuracy']);
  expect(done['largest_difference']).toBeLessThan(1e-5);
};

// Three devices compile their shaders each, which takes a software adapter 15 s.
if (isWide)
  it(
    'examples/gpu/two-devices: one worker per device, sampled shares, the model of one device within 1e-5',
    runExample,
  );

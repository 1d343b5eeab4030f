/**
 * The cases that the page runs: the shared ones, and cases that show that other entries of the package work without Node
 * and without the addon. The order is the same in the page and in the test that drives it.
 */
import { GCN, GraphSAGE } from 'skein/gnn';
import { Graph } from 'skein/graph';
import { nativeStatus } from 'skein/native';
import { Adam, crossEntropy, type Module } from 'skein/nn';
import { NeighborSampler, NodeLoader } from 'skein/sample';
import { fromTypedArray, manualSeed, noGrad, randn, scope, type Tensor } from 'skein/tensor';
import { makeEvents, makeRig } from '../../temporal/stream.js';
import { equal, ok } from '../cases/assert.js';
import type { GpuCase } from '../cases/case.js';
import { allCases } from '../cases/index.js';
import { convertSampleCases } from './convert-samples.js';
import { trainingCases } from './train-on-device.js';

const numNodes = 60;
const labels = Int32Array.from({ length: numNodes }, (_, v) => v % 2);

/** Two communities, each a ring with chords; features are noise with a hint of the community. */
function communities(): { graph: Graph; features: Tensor } {
  const src: number[] = [];
  const dst: number[] = [];
  for (let v = 0; v < numNodes; v++) {
    for (const step of [2, 6, 14]) {
      const u = (v + step) % numNodes;
      src.push(v, u);
      dst.push(u, v);
    }
  }
  manualSeed(1);
  const noise = randn([numNodes, 8]).dataSync();
  for (let v = 0; v < numNodes; v++) noise[8 * v] += labels[v] === 0 ? 1 : -1;
  const features = fromTypedArray(Float32Array.from(noise), [numNodes, 8]);
  return { graph: Graph.fromEdges(src, dst, { numNodes }), features };
}

function accuracy(scores: Tensor): number {
  const predicted = scores.argmax().dataSync();
  return labels.filter((label, v) => label === predicted[v]).length / numNodes;
}

function step(model: Module, optimizer: Adam, forward: () => Tensor, targets: Int32Array): void {
  scope(() => {
    optimizer.zeroGrad();
    crossEntropy(forward(), targets).backward();
    optimizer.step();
  });
  ok(
    model.parameters().every((value) => value.dataSync().every(Number.isFinite)),
    'parameters are finite',
  );
}

async function trainsGcn(): Promise<void> {
  equal(nativeStatus().backend, 'reference', 'backend');
  const { graph, features } = communities();
  const model = new GCN([8, 16, 2]);
  const optimizer = new Adam(model.parameters(), { lr: 0.02 });
  for (let epoch = 0; epoch < 60; epoch++)
    step(model, optimizer, () => model.forward(graph, features), labels);
  const reached = accuracy(noGrad(() => model.forward(graph, features)));
  ok(reached > 0.95, `accuracy ${reached} above 0.95`);
}

async function trainsSampledSage(): Promise<void> {
  const { graph, features } = communities();
  const model = new GraphSAGE([8, 16, 2]);
  const optimizer = new Adam(model.parameters(), { lr: 0.02 });
  const loader = new NodeLoader(new NeighborSampler(graph, { fanouts: [4, 3], seed: 3 }), {
    ...{ seeds: Int32Array.from(labels.keys()), batchSize: 16, features, labels, seed: 9 },
  });
  for (let epoch = 0; epoch < 10; epoch++) {
    for await (const { batch, x, labels: targets } of loader.epoch(epoch))
      step(model, optimizer, () => model.forward(batch.blocks, x), targets as Int32Array);
  }
  const reached = accuracy(noGrad(() => model.forward(graph, features)));
  ok(reached > 0.95, `accuracy ${reached} above 0.95`);
}

async function trainsTemporal(): Promise<void> {
  const { loader, runtime } = makeRig(makeEvents(60));
  let steps = 0;
  for await (const batch of loader.epoch(0)) {
    const { loss } = runtime.train(batch);
    ok(Number.isFinite(loss), `loss ${loss} is finite`);
    steps++;
  }
  equal(steps, 6, 'steps');
}

/** Entries of the package that need no GPU. */
const partCases: readonly GpuCase[] = [
  { group: 'browser', name: 'trains a GCN on the TypeScript kernels', run: trainsGcn },
  { group: 'browser', name: 'trains GraphSAGE on sampled neighbourhoods', run: trainsSampledSage },
  { group: 'browser', name: 'trains a temporal model with memory', run: trainsTemporal },
];

export const browserCases: readonly GpuCase[] = [
  ...partCases,
  ...convertSampleCases,
  ...trainingCases,
  ...allCases,
];

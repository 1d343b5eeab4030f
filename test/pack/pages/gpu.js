/** GraphSAGE on the page's GPU: neighbourhoods, rows of features and the model. */
import { GraphSAGE } from 'skein/gnn';
import { CGPUFeature, enableWebGpu, GPUSampler, openGpuDevice } from 'skein/gpu';
import { Graph } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import { manualSeed, scope, tensor } from 'skein/tensor';
import { leave } from './fit.js';

manualSeed(1);
const labels = Int32Array.from({ length: 60 }, (_, i) => i % 2);
const seeds = Int32Array.from(labels.keys());
const from = Array.from({ length: 180 }, (_, i) => i % 60);
const to = from.map((v, i) => (v + 2 * (1 + Math.floor(i / 60))) % 60);
const graph = Graph.fromEdges(from, to, { numNodes: 60 });
const x = tensor(Array.from(labels, (label, i) => [label + ((i * 7) % 5) * 0.2, 1]));
const gpu = await openGpuDevice();
const sampler = new GPUSampler(gpu, graph, { sizes: [2, 2], seed: 1 });
const table = await new CGPUFeature(graph, gpu, '16K', { fanouts: [2, 2], seeds }).fromCpuTensor(x);
const tensors = await enableWebGpu(gpu);
const model = new GraphSAGE([2, 8, 2]).to(tensors);
const optimizer = new Adam(model.parameters(), { lr: 0.05 });
const losses = [];
for (let step = 0; step < 30; step++) {
  const { blocks, nodeIds } = await sampler.sampleAsync(seeds, { epoch: 0, step });
  const rows = await table.get(nodeIds);
  const loss = scope(() => {
    optimizer.zeroGrad();
    const value = crossEntropy(model.forward(blocks, rows.toTensor(tensors)), labels);
    value.backward();
    optimizer.step();
    return value.detach();
  });
  losses.push((await loss.data())[0]);
  rows.release();
}
gpu.destroy();
leave(losses);

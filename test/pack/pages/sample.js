/** Sampled neighbourhoods through a loader. */
import { GraphSAGE } from 'skein/gnn';
import { Graph } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import { NeighborSampler, NodeLoader } from 'skein/sample';
import { manualSeed, tensor } from 'skein/tensor';
import { leave } from './fit.js';

manualSeed(1);
const labels = Int32Array.from({ length: 60 }, (_, i) => i % 2);
const from = Array.from({ length: 180 }, (_, i) => i % 60);
const to = from.map((v, i) => (v + 2 * (1 + Math.floor(i / 60))) % 60);
const graph = Graph.fromEdges(from, to, { numNodes: 60 });
const features = tensor(Array.from(labels, (label, i) => [label + ((i * 7) % 5) * 0.2, 1]));
const sampler = new NeighborSampler(graph, { fanouts: [2, 2], seed: 1 });
const loader = new NodeLoader(sampler, {
  seeds: [...labels.keys()],
  features,
  labels,
  batchSize: 20,
  seed: 1,
});
const model = new GraphSAGE([2, 8, 2]);
const optimizer = new Adam(model.parameters(), { lr: 0.05 });
const losses = [];
for (let epoch = 0; epoch < 20; epoch++) {
  for await (const batch of loader.epoch(epoch)) {
    optimizer.zeroGrad();
    const loss = crossEntropy(model.forward(batch.blocks, batch.x), batch.labels);
    loss.backward();
    optimizer.step();
    losses.push(loss.item());
  }
}
leave(losses);

/** A page with a GCN only, to measure the minimal size of a page. */
import { GCN } from 'skein/gnn';
import { Graph } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import { manualSeed, tensor } from 'skein/tensor';
import { takeSteps } from './fit.js';

manualSeed(1);
const labels = Int32Array.from({ length: 40 }, (_, i) => i % 2);
const from = Array.from({ length: 120 }, (_, i) => i % 40);
const to = from.map((v, i) => (v + 2 * (1 + Math.floor(i / 40))) % 40);
const graph = Graph.fromEdges(from, to, { numNodes: 40 });
const x = tensor(Array.from(labels, (label, i) => [label + (((i * 7) % 5) - 2) * 0.2, 1]));
const model = new GCN([2, 8, 2]);
takeSteps(new Adam(model.parameters(), { lr: 0.05 }), () => crossEntropy(model.forward(graph, x), labels));

/** Messages over a graph without a ready-made layer. */
import { fn, Graph } from 'skein/graph';
import { Adam, Linear, mseLoss } from 'skein/nn';
import { manualSeed, randn } from 'skein/tensor';
import { takeSteps } from './fit.js';

manualSeed(1);
const n = 30;
const from = Array.from({ length: 2 * n }, (_, i) => i % n);
const to = from.map((v, i) => (v + (i < n ? 1 : 7)) % n);
const graph = Graph.fromEdges(from, to, { numNodes: n });
const mean = (h) => {
  graph.ndata.h = h;
  graph.updateAll(fn.copyU('h', 'm'), fn.mean('m', 'out'));
  return graph.ndata.out;
};
const x = randn([n, 4]);
const target = mean(x.mul(2)).sum(1, { keepDims: true });
const layer = new Linear(4, 1);
takeSteps(new Adam(layer.parameters(), { lr: 0.05 }), () => mseLoss(mean(layer.forward(x)), target), 120);

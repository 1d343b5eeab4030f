/** The whole graph, blocks with all neighbours, and DENSE give the same results and gradients for every layer. */
import {
  GAT,
  GATConv,
  GATv2Conv,
  GCNConv,
  GINConv,
  GraphConv,
  type LayeredModel,
  RGCN,
  SAGEConv,
  SGConv,
  TransformerConv,
} from 'skein/gnn';
import { Graph, type MessageGraph } from 'skein/graph';
import { MLP, type Module } from 'skein/nn';
import { LayeredNeighborSampler, NeighborSampler } from 'skein/sample';
import { backward, gatherRows, manualSeed, mul, rand, sum, type Tensor, tanh } from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { expectClose } from '../nn/golden.js';
import { skewedGraph } from './graphs.js';

interface Layer extends Module {
  forward(graph: MessageGraph, x: Tensor): Tensor;
}

const layers: Record<string, (inF: number, outF: number) => Layer> = {
  GCNConv: (i, o) => new GCNConv(i, o, { dtype: 'f64' }),
  'SAGEConv mean': (i, o) => new SAGEConv(i, o, { dtype: 'f64' }),
  'SAGEConv gcn': (i, o) => new SAGEConv(i, o, { dtype: 'f64', aggregator: 'gcn' }),
  'SAGEConv max': (i, o) => new SAGEConv(i, o, { dtype: 'f64', aggregator: 'max' }),
  GATConv: (i, o) => new GATConv(i, o, { dtype: 'f64' }),
  GATv2Conv: (i, o) => new GATv2Conv(i, o, { dtype: 'f64' }),
  GraphConv: (i, o) => new GraphConv(i, o, { dtype: 'f64' }),
  SGConv: (i, o) => new SGConv(i, o, { dtype: 'f64' }),
  TransformerConv: (i, o) => new TransformerConv(i, o, { dtype: 'f64' }),
  GINConv: (i, o) => new GINConv(new MLP([i, 6, o], { dtype: 'f64' })),
};

const plain = skewedGraph(80, 400);
const { src, dst } = plain.edges();
const edgeWeight = Float32Array.from(src, (_, i) => 0.5 + (i % 4) / 4);
const weighted = Graph.fromEdges(src, dst, { numNodes: 80, edgeWeight });
const seeds = [3, 70, 0, 79, 41];

/** Results of two layers for the seeds, and all gradients. */
function run(make: (inF: number, outF: number) => Layer, graphs: MessageGraph[], ids: Int32Array | null) {
  manualSeed(4);
  const [first, second] = [make(5, 4), make(4, 3)];
  const x = rand([80, 5], { lo: -1, hi: 1, dtype: 'f64', random: new Random(2) }).setRequiresGrad();
  const input = ids === null ? x : gatherRows(x, ids);
  const all = second.forward(graphs[1], tanh(first.forward(graphs[0], input)));
  const y = ids === null ? gatherRows(all, seeds) : all;
  const factor = rand(y.shape, { dtype: 'f64', random: new Random(8) });
  backward(sum(mul(y, factor)));
  const leaves = [x, ...first.parameters(), ...second.parameters()];
  return [y, ...leaves.map((leaf) => leaf.grad as Tensor)];
}

for (const [graphName, graph] of [
  ['unweighted', plain],
  ['weighted', weighted],
] as const) {
  describe(`modes agree on a graph that is ${graphName}`, () => {
    it.each(Object.entries(layers))('%s', (_, make) => {
      const want = run(make, [graph, graph], null);
      const batch = new NeighborSampler(graph, { fanouts: [-1, -1] }).sample(seeds);
      const dense = new LayeredNeighborSampler(graph, { layers: [-1, -1], outgoing: false }).sample(seeds);
      const denseIds = dense.nodeIds;
      const results = {
        blocks: run(make, [...batch.blocks], batch.nodeIds),
        dense: run(make, dense.takeBlocks(), denseIds),
      };
      for (const [mode, got] of Object.entries(results)) {
        expect(got.length).toBe(want.length);
        got.forEach((tensor, i) => {
          expectClose(tensor, [...want[i].dataSync()], 1e-10, `${mode}, result ${i}`);
        });
      }
    });
  });
}

/** Blocks find the data of their edges in those of the whole graph. */
describe('modes agree for models with data on edges', () => {
  const x = rand([80, 5], { lo: -1, hi: 1, dtype: 'f64', random: new Random(2) });
  const edgeType = Int32Array.from(src, (_, e) => (e * 7) % 3);
  const edgeAttr = rand([src.length, 2], { dtype: 'f64', random: new Random(3) });
  const models: Record<string, () => [LayeredModel, Int32Array | Tensor, Tensor | null]> = {
    RGCN: () => [new RGCN([5, 4, 3], { relations: 3, dtype: 'f64' }), edgeType, x],
    'RGCN without features': () => [
      new RGCN([80, 4, 3], { relations: 3, bases: 2, dtype: 'f64' }),
      edgeType,
      null,
    ],
    'GAT with edge features': () => [new GAT([5, 4, 3], { heads: 2, edgeDim: 2, dtype: 'f64' }), edgeAttr, x],
  };

  it.each(Object.entries(models))('%s', (_, make) => {
    manualSeed(4);
    const [model, edgeData, features] = make();
    const outcome = (y: Tensor): Tensor[] => {
      model.zeroGrad();
      backward(sum(mul(y, rand(y.shape, { dtype: 'f64', random: new Random(8) }))));
      return [y, ...model.parameters().map((p) => (p.grad as Tensor).clone())];
    };
    const rows = (ids: Int32Array): Tensor | null => (features === null ? null : gatherRows(features, ids));
    const want = outcome(gatherRows(model.forward(plain, features, edgeData), seeds));
    const batch = new NeighborSampler(plain, { fanouts: [-1, -1] }).sample(seeds);
    const dense = new LayeredNeighborSampler(plain, { layers: [-1, -1], outgoing: false }).sample(seeds);
    const denseIds = dense.nodeIds;
    const results = {
      blocks: outcome(model.forward(batch.blocks, rows(batch.nodeIds), edgeData)),
      dense: outcome(model.forward(dense.takeBlocks(), rows(denseIds), edgeData)),
    };
    for (const [mode, got] of Object.entries(results)) {
      got.forEach((tensor, i) => {
        expectClose(tensor, [...want[i].dataSync()], 1e-10, `${mode}, result ${i}`);
      });
    }
  });
});

describe('modes agree in both directions', () => {
  it('blocks of both directions equal DENSE with incoming and outgoing edges', () => {
    for (const make of Object.values(layers)) {
      const batch = new NeighborSampler(weighted, { fanouts: [-1, -1], direction: 'both' }).sample(seeds);
      const dense = new LayeredNeighborSampler(weighted, { layers: [-1, -1] }).sample(seeds);
      const denseIds = dense.nodeIds;
      const want = run(make, [...batch.blocks], batch.nodeIds);
      const got = run(make, dense.takeBlocks(), denseIds);
      expectClose(got[0], [...want[0].dataSync()], 1e-10, 'results');
    }
  });
});

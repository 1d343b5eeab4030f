/** Every graph layer, as cases of check-layer.ts. */
import {
  APPNP,
  type Features,
  GATConv,
  GATv2Conv,
  GCNConv,
  GINConv,
  GraphConv,
  LightGCN,
  type NodePair,
  RGCNConv,
  SAGEConv,
  SGConv,
  TransformerConv,
} from 'skein/gnn';
import { MLP, type Module } from 'skein/nn';
import { concat, type Tensor, tanh } from 'skein/tensor';
import type { LayerCase } from './check-layer.js';

export const layerCases: LayerCase[] = [];

function addCase<L extends Module>(spec: LayerCase<L>): void {
  layerCases.push(spec as unknown as LayerCase);
}

/** Repeats every row's columns, for layers that need even widths. */
function doubled(x: Features | NodePair): Tensor | NodePair {
  const twice = (t: Tensor): Tensor => (t.rank === 2 ? concat([t, t], 1) : t);
  return Array.isArray(x) ? [twice(x[0]), twice(x[1])] : twice(x as Tensor);
}

addCase<GCNConv>({
  name: 'GCNConv',
  layer: 'GCNConv',
  make: (i, o, options) => new GCNConv(i, o, options),
  run: (layer, graph, x) => layer.forward(graph, x as Tensor),
  pairs: false,
  blocks: true,
  sparse: true,
});

for (const aggregator of ['mean', 'gcn', 'max', 'pool'] as const) {
  addCase<SAGEConv>({
    name: `SAGEConv ${aggregator}`,
    layer: 'SAGEConv',
    make: (i, o, { dtype }) => new SAGEConv(i, o, { dtype, aggregator, normalize: aggregator === 'pool' }),
    run: (layer, graph, x) => layer.forward(graph, x),
    pairs: aggregator !== 'gcn',
    blocks: true,
    sparse: aggregator !== 'max',
  });
}

for (const concat of [true, false]) {
  for (const edgeDim of [undefined, 2]) {
    const edge = edgeDim === undefined ? {} : { edgeDim };
    const suffix = `${concat ? 'concatenated' : 'mean'}${edgeDim === undefined ? '' : ', edge features'}`;
    const common = {
      width: (out: number) => (concat ? 2 * out : out),
      pairs: true,
      blocks: true,
      sparse: true,
    };
    addCase<GATConv>({
      name: `GATConv ${suffix}`,
      layer: 'GATConv',
      make: (i, o, options) => new GATConv(i, o, { ...options, ...edge, heads: 2, concat }),
      run: (layer, graph, x, { attr }) => layer.forward(graph, x, edgeDim === undefined ? null : attr),
      ...common,
    });
    addCase<GATv2Conv>({
      name: `GATv2Conv ${suffix}`,
      layer: 'GATv2Conv',
      make: (i, o, options) => new GATv2Conv(i, o, { ...options, ...edge, heads: 2, concat }),
      run: (layer, graph, x, { attr }) => layer.forward(graph, x, edgeDim === undefined ? null : attr),
      ...common,
    });
  }
}

addCase<GINConv>({
  name: 'GINConv',
  layer: 'GINConv',
  make: (i, o, { dtype }) =>
    new GINConv(new MLP([i, 4, o], { dtype, activation: 'tanh' }), { dtype, eps: 0.2, trainEps: true }),
  run: (layer, graph, x) => layer.forward(graph, x as Tensor),
  pairs: true,
  blocks: true,
  sparse: false,
  fixedWidth: false,
});

for (const reduce of ['sum', 'mean', 'max'] as const) {
  addCase<GraphConv>({
    name: `GraphConv ${reduce}`,
    layer: 'GraphConv',
    make: (i, o, { dtype }) => new GraphConv(i, o, { dtype, reduce }),
    run: (layer, graph, x) => layer.forward(graph, x),
    pairs: true,
    blocks: true,
    sparse: reduce !== 'max',
  });
}

addCase<APPNP>({
  name: 'APPNP',
  layer: 'APPNP',
  make: () => new APPNP({ steps: 3, alpha: 0.2 }),
  run: (layer, graph, x) => layer.forward(graph, tanh(x as Tensor)),
  width: () => 5,
  pairs: false,
  blocks: false,
  sparse: false,
  fixedWidth: false,
});

addCase<LightGCN>({
  name: 'LightGCN',
  layer: 'LightGCN',
  make: () => new LightGCN({ hops: 3 }),
  run: (layer, graph, x) => layer.forward(graph, tanh(x as Tensor)),
  width: () => 5,
  pairs: false,
  blocks: false,
  sparse: false,
  fixedWidth: false,
});

for (const hops of [1, 2]) {
  addCase<SGConv>({
    name: `SGConv ${hops}`,
    layer: 'SGConv',
    make: (i, o, options) => new SGConv(i, o, { ...options, hops }),
    run: (layer, graph, x) => layer.forward(graph, x as Tensor),
    pairs: false,
    blocks: hops === 1,
    sparse: hops === 1,
  });
}

for (const kind of [{}, { bases: 2 }, { blocks: 2 }]) {
  const blocks = 'blocks' in kind;
  addCase<RGCNConv>({
    name: `RGCNConv ${Object.keys(kind)}`,
    layer: 'RGCNConv',
    make: (i, o, { dtype }) =>
      new RGCNConv(blocks ? 2 * i : i, blocks ? 2 * o : o, { dtype, ...kind, relations: 4 }),
    run: (layer, graph, x, { type }) => layer.forward(graph, blocks ? doubled(x) : (x as Tensor), type),
    width: (out) => (blocks ? 2 * out : out),
    pairs: true,
    blocks: true,
    sparse: false,
  });
}

for (const kind of ['concatenated', 'mean, gate', 'edge features', 'no root'] as const) {
  const concat = kind !== 'mean, gate';
  const edge = kind === 'edge features' ? { edgeDim: 2 } : {};
  addCase<TransformerConv>({
    name: `TransformerConv ${kind}`,
    layer: 'TransformerConv',
    make: (i, o, { dtype }) =>
      new TransformerConv(i, o, {
        dtype,
        ...edge,
        heads: 2,
        concat,
        beta: kind === 'mean, gate',
        root: kind !== 'no root',
      }),
    run: (layer, graph, x, { attr }) => layer.forward(graph, x, kind === 'edge features' ? attr : null),
    width: (out) => (concat ? 2 * out : out),
    pairs: true,
    blocks: true,
    sparse: true,
  });
}

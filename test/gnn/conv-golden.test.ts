/** Every layer against the values of PyTorch Geometric, forward and backward. */
import {
  APPNP,
  GATConv,
  GATv2Conv,
  GCNConv,
  GINConv,
  GraphConv,
  RGCNConv,
  SAGEConv,
  SGConv,
  TransformerConv,
} from 'skein/gnn';
import { Linear, type Module, ReLU, Sequential } from 'skein/nn';
import type { Tensor } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { expectRecordedLayer, goldenGraph, readGolden, toTensor } from './conv-golden.js';

const file = readGolden('conv');
const graph = goldenGraph(file);
const weighted = goldenGraph(file, true);
const edgeAttr = toTensor(file.edge_attr);
const edgeType = Int32Array.from(file.edge_type);
const f64 = { dtype: 'f64' } as const;

type Conv = Module & { forward(g: typeof graph, x: Tensor): Tensor };
type Run = readonly [Module, (x: Tensor) => Tensor];
const plain = (layer: Conv): Run => [layer, (x) => layer.forward(graph, x)];

const layers: Readonly<Record<string, () => Run>> = {
  gcn: () => plain(new GCNConv(5, 3, f64)),
  gcn_weighted: () => {
    const layer = new GCNConv(5, 3, f64);
    return [layer, (x) => layer.forward(weighted, x)];
  },
  gcn_no_loops: () => plain(new GCNConv(5, 3, { ...f64, selfLoops: false })),
  sage_mean: () => plain(new SAGEConv(5, 3, f64)),
  sage_max: () => plain(new SAGEConv(5, 3, { ...f64, aggregator: 'max' })),
  sage_project: () => plain(new SAGEConv(5, 3, { ...f64, project: true })),
  sage_normalize: () => plain(new SAGEConv(5, 3, { ...f64, normalize: true })),
  gat: () => plain(new GATConv(5, 3, { ...f64, heads: 2 })),
  gat_mean: () => plain(new GATConv(5, 3, { ...f64, heads: 2, concat: false })),
  gat_edge: () => {
    const layer = new GATConv(5, 3, { ...f64, heads: 2, edgeDim: 2, selfLoops: false });
    return [layer, (x) => layer.forward(graph, x, edgeAttr)];
  },
  gatv2: () => plain(new GATv2Conv(5, 3, { ...f64, heads: 2 })),
  gin: () => {
    const nn = new Sequential([new Linear(5, 3, f64), new ReLU(), new Linear(3, 3, f64)]);
    return plain(new GINConv(nn, { ...f64, eps: 0.3, trainEps: true }));
  },
  rgcn: () => {
    const layer = new RGCNConv(5, 3, { ...f64, relations: 4 });
    return [layer, (x) => layer.forward(graph, x, edgeType)];
  },
  rgcn_basis: () => {
    const layer = new RGCNConv(5, 3, { ...f64, relations: 4, bases: 2 });
    return [layer, (x) => layer.forward(graph, x, edgeType)];
  },
  appnp: () => plain(new APPNP({ steps: 4, alpha: 0.1 })),
  sgc: () => plain(new SGConv(5, 3, { ...f64, hops: 3 })),
  transformer: () => {
    const layer = new TransformerConv(5, 3, { ...f64, heads: 2, edgeDim: 2 });
    return [layer, (x) => layer.forward(graph, x, edgeAttr)];
  },
  graphconv: () => plain(new GraphConv(5, 3, f64)),
};

/** Graphs store weights as f32, which changes results by this much. */
const limits: Readonly<Record<string, number>> = { gcn_weighted: 1e-6 };

describe('layers have the values of PyTorch Geometric', () => {
  it('has a layer for every recorded case', () => {
    expect(Object.keys(layers).sort()).toEqual(file.cases.map(({ name }) => name).sort());
  });

  for (const recorded of file.cases) {
    it(`${recorded.name} ${recorded.notes}`, () => {
      const [layer, run] = layers[recorded.name]();
      expectRecordedLayer(recorded, layer, run, limits[recorded.name]);
    });
  }
});

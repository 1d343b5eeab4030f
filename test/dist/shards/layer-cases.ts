/** Every layer for one node type, as a table: how to make it, and how it runs on the graphs of one or two steps. */
import {
  APPNP,
  GAT,
  GATConv,
  GATv2Conv,
  GCNConv,
  GINConv,
  GraphConv,
  GraphSAGE,
  LightGCN,
  RGCNConv,
  SAGEConv,
  SGConv,
  TransformerConv,
} from 'skein/gnn';
import { fn, type MessageGraph, SparseMatrix } from 'skein/graph';
import { Dropout, MLP, type Module } from 'skein/nn';
import { dropout, type FloatDType, type Tensor, tanh } from 'skein/tensor';

/** A graph and what belongs to its edges, in the order of edge ids. */
export interface Step {
  readonly graph: MessageGraph;
  readonly attr: Tensor;
  readonly type: Int32Array;
}

export const width = 4;
export const edgeDim = 2;
export const relations = 3;

export interface LayerCase {
  readonly name: string;
  readonly weighted?: boolean;
  make(dtype: FloatDType): Module;
  /** From rows [N, 4] to rows [N, 4], in two steps. */
  run(layer: Module, steps: readonly [Step, Step], x: Tensor): Tensor;
}

/** The layer twice, with a non-linear function between. */
function twice<L extends Module>(
  name: string,
  make: (options: { dtype: FloatDType }) => L,
  forward: (layer: L, step: Step, x: Tensor) => Tensor,
  weighted = false,
): LayerCase {
  return {
    name,
    weighted,
    make: (dtype) => make({ dtype }),
    run: (layer, [a, b], x) => forward(layer as L, b, tanh(forward(layer as L, a, x))),
  };
}

/** Dropout must drop the same nodes and edges for any partitioning. */
const droppingCases: readonly LayerCase[] = [
  twice(
    'GATConv with dropout',
    (o) => new GATConv(width, 2, { ...o, heads: 2, attentionDropout: 0.3, featureDropout: 0.2 }),
    (l, { graph }, x) => l.forward(graph, x),
  ),
  twice(
    'GATv2Conv with dropout',
    (o) => new GATv2Conv(width, 2, { ...o, heads: 2, attentionDropout: 0.3, featureDropout: 0.2 }),
    (l, { graph }, x) => l.forward(graph, x),
  ),
  twice(
    'TransformerConv with dropout',
    (o) => new TransformerConv(width, 2, { ...o, heads: 2, attentionDropout: 0.3 }),
    (l, { graph }, x) => l.forward(graph, x),
  ),
  {
    name: 'GATConv of sparse features with dropout',
    make: (dtype) => new GATConv(width, width, { dtype, featureDropout: 0.4 }),
    run: (layer, [a, b], x) => {
      const sparse = SparseMatrix.fromDense(x.detach());
      return (layer as GATConv).forward(b.graph, tanh((layer as GATConv).forward(a.graph, sparse)));
    },
  },
  {
    name: 'APPNP with dropout',
    make: () => new APPNP({ steps: 2, alpha: 0.2, dropout: 0.3 }),
    run: (layer, [a, b], x) => (layer as APPNP).forward([a.graph, b.graph], x),
  },
  {
    name: 'GAT, the model, with dropout',
    make: (dtype) =>
      new GAT([width, 3, width], { dtype, heads: 2, dropout: 0.4, inputDropout: 0.1, attentionDropout: 0.3 }),
    run: (model, [a, b], x) => (model as GAT).forward([a.graph, b.graph], x),
  },
  {
    name: 'GraphSAGE, the model, with dropout also of the joined layers',
    make: (dtype) =>
      new GraphSAGE([width, 5, 6, width], { dtype, dropout: 0.4, residual: true, jumpingKnowledge: 'cat' }),
    run: (model, [a, b], x) => (model as GraphSAGE).forward([a.graph, b.graph], x),
  },
  {
    name: 'dropout after a message function that draws too',
    make: () => new Dropout(0.5),
    run: (layer, [{ graph }, b], x) => {
      // Draws, and drops nothing: one of 2^32 elements.
      const message = ({ src }: { src: Record<string, Tensor> }) => ({ m: dropout(src.h, 2 ** -40) });
      const h = graph.localScope(() => {
        graph.srcdata.h = x;
        graph.updateAll(message, fn.sum('m', 'y'));
        return graph.dstdata.y;
      });
      return b.graph.aggregate((layer as Dropout).forward(h, graph.rowIds('dst')));
    },
  },
];

export const layerCases: readonly LayerCase[] = [
  ...droppingCases,
  twice(
    'GCNConv',
    (o) => new GCNConv(width, width, o),
    (l, { graph }, x) => l.forward(graph, x),
    true,
  ),
  twice(
    'GCNConv without self loops',
    (o) => new GCNConv(width, width, { ...o, selfLoops: false }),
    (l, { graph }, x) => l.forward(graph, x),
  ),
  ...(['mean', 'gcn', 'max', 'pool'] as const).map((aggregator) =>
    twice(
      `SAGEConv ${aggregator}`,
      (o) => new SAGEConv(width, width, { ...o, aggregator, normalize: aggregator === 'pool' }),
      (l, { graph }, x) => l.forward(graph, x),
    ),
  ),
  ...[undefined, edgeDim].flatMap((dim) => {
    const edge = dim === undefined ? {} : { edgeDim: dim };
    const suffix = dim === undefined ? '' : ' with edge features';
    const attrOf = ({ attr }: Step): Tensor | null => (dim === undefined ? null : attr);
    return [
      twice(
        `GATConv${suffix}`,
        (o) => new GATConv(width, 2, { ...o, ...edge, heads: 2 }),
        (l, step, x) => l.forward(step.graph, x, attrOf(step)),
      ),
      twice(
        `GATv2Conv${suffix}`,
        (o) => new GATv2Conv(width, 2, { ...o, ...edge, heads: 2 }),
        (l, step, x) => l.forward(step.graph, x, attrOf(step)),
      ),
      twice(
        `TransformerConv${suffix}`,
        (o) => new TransformerConv(width, 2, { ...o, ...edge, heads: 2, beta: true }),
        (l, step, x) => l.forward(step.graph, x, attrOf(step)),
      ),
    ];
  }),
  twice(
    'GINConv',
    (o) => new GINConv(new MLP([width, 6, width], { ...o, activation: 'tanh' }), { ...o, trainEps: true }),
    (l, { graph }, x) => l.forward(graph, x),
  ),
  twice(
    'GINConv with ε = 0',
    (o) => new GINConv(new MLP([width, 6, width], { ...o, activation: 'tanh' })),
    (l, { graph }, x) => l.forward(graph, x),
  ),
  ...(['sum', 'mean', 'max'] as const).map((reduce) =>
    twice(
      `GraphConv ${reduce}`,
      (o) => new GraphConv(width, width, { ...o, reduce }),
      (l, { graph }, x) => l.forward(graph, x),
      true,
    ),
  ),
  ...[{}, { bases: 2 }, { blocks: 2 }, { reduce: 'sum' as const }].map((kind) =>
    twice(
      `RGCNConv ${JSON.stringify(kind)}`,
      (o) => new RGCNConv(width, width, { ...o, ...kind, relations }),
      (l, { graph, type }, x) => l.forward(graph, x, type),
    ),
  ),
  {
    name: 'APPNP',
    make: () => new APPNP({ steps: 2, alpha: 0.2 }),
    run: (layer, [a, b], x) => (layer as APPNP).forward([a.graph, b.graph], x),
  },
  {
    name: 'LightGCN',
    make: () => new LightGCN({ hops: 2 }),
    run: (layer, [a, b], x) => (layer as LightGCN).forward([a.graph, b.graph], x),
  },
  {
    name: 'SGConv',
    weighted: true,
    make: (dtype) => new SGConv(width, width, { dtype, hops: 2 }),
    run: (layer, [a, b], x) => (layer as SGConv).forward([a.graph, b.graph], x),
  },
];

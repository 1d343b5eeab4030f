/**
 * Graph layers as ONNX operations, as their classes in src/gnn/conv compute in evaluation mode. x [Ns, in] → [Nd, out].
 *
 * Features are one tensor: destinations are among the sources. Symmetric normalisation needs the degrees of the whole graph,
 * so GCN, SGC, APPNP and LightGCN are not translated for blocks.
 */
import {
  APPNP,
  GATConv,
  GATv2Conv,
  GCNConv,
  GINConv,
  GraphConv,
  LightGCN,
  SAGEConv,
  SGConv,
} from '../../gnn/index.js';
import type { Linear, Module } from '../../nn/index.js';
import { Tensor } from '../../tensor/index.js';
import { ValueError } from '../../util/errors.js';
import { gat, gatv2 } from './attention.js';
import { computesAs } from './known-class.js';
import { linear, translateLayer, unitRows } from './layers.js';
import type { Messages } from './messages.js';
import type { OnnxGraph, Value } from './onnx-graph.js';

/** The target of a translation, and the edges for its messages. */
export interface OnnxConvInput {
  readonly g: OnnxGraph;
  readonly messages: Messages;
}

/** Translates a graph layer; returns null for a module that is not a known one. */
export function tryTranslateConv(context: OnnxConvInput, layer: Module, x: Value): Value | null {
  if (computesAs(layer, GCNConv)) return gcn(context, layer, x);
  if (computesAs(layer, SAGEConv)) return sage(context, layer, x);
  if (computesAs(layer, GATConv)) return gat(context, layer, x);
  if (computesAs(layer, GATv2Conv)) return gatv2(context, layer, x);
  if (computesAs(layer, GINConv)) return gin(context, layer, x);
  if (computesAs(layer, GraphConv)) return graphConv(context, layer, x);
  if (computesAs(layer, SGConv)) return sgc(context, layer, x);
  if (computesAs(layer, LightGCN)) return lightGcn(context, layer, x);
  return computesAs(layer, APPNP) ? appnp(context, layer, x) : null;
}

function checkNotBlocks(messages: Messages, layer: string): void {
  if (messages.isBlock)
    throw new ValueError(
      `exportOnnx: expected no ${layer} in a model on blocks, got one. It needs degrees of the whole graph; export it without blocks.`,
      { module: layer },
    );
}

function addBias(g: OnnxGraph, y: Value, bias: Tensor | null): Value {
  return bias === null ? y : g.node('Add', [y, g.parameter(bias)]);
}

/** Applies the linear map before or after the messages, so that the narrower rows are sent, as the layers do. */
function mapAndSend(
  g: OnnxGraph,
  lin: Linear,
  x: Value,
  send: (x: Value) => Value,
  bias: Tensor | null,
): Value {
  const narrows = lin.outFeatures < lin.inFeatures;
  const y = narrows ? send(linear(g, x, lin.weight, null)) : linear(g, send(x), lin.weight, null);
  return addBias(g, y, bias);
}

function gcn({ g, messages }: OnnxConvInput, layer: GCNConv, x: Value): Value {
  checkNotBlocks(messages, 'GCNConv');
  return mapAndSend(g, layer.lin, x, (rows) => messages.propagate(rows, layer.selfLoops), layer.bias);
}

function sgc({ g, messages }: OnnxConvInput, layer: SGConv, x: Value): Value {
  checkNotBlocks(messages, 'SGConv');
  const send = (rows: Value): Value => {
    let y = rows;
    for (let hop = 0; hop < layer.hops; hop++) y = messages.propagate(y, layer.selfLoops);
    return y;
  };
  return mapAndSend(g, layer.lin, x, send, layer.lin.bias);
}

function appnp({ g, messages }: OnnxConvInput, layer: APPNP, x: Value): Value {
  checkNotBlocks(messages, 'APPNP');
  const start = g.node('Mul', [x, g.scalar(layer.alpha)]);
  let z = x;
  for (let step = 0; step < layer.steps; step++) {
    const spread = g.node('Mul', [messages.propagate(z, layer.selfLoops), g.scalar(1 - layer.alpha)]);
    z = g.node('Add', [spread, start]);
  }
  return z;
}

function lightGcn({ g, messages }: OnnxConvInput, layer: LightGCN, x: Value): Value {
  checkNotBlocks(messages, 'LightGCN');
  let z = x;
  let total = x;
  for (let hop = 0; hop < layer.hops; hop++) {
    z = messages.propagate(z, false);
    total = g.node('Add', [total, z]);
  }
  return g.node('Mul', [total, g.scalar(1 / (layer.hops + 1))]);
}

function sage(context: OnnxConvInput, layer: SAGEConv, x: Value): Value {
  const { g, messages } = context;
  const { linL, linR, lin, aggregator } = layer;
  const sent = lin === null ? x : g.node('Relu', [translateLayer(g, lin, x)]);
  const neighbours =
    aggregator === 'max' || aggregator === 'pool'
      ? linear(g, messages.aggregate(sent, 'max'), linL.weight, linL.bias)
      : mapAndSend(
          g,
          linL,
          sent,
          (rows) => (aggregator === 'gcn' ? meanWithSelf(context, rows) : messages.aggregate(rows, 'mean')),
          linL.bias,
        );
  const y =
    linR === null
      ? neighbours
      : g.node('Add', [neighbours, linear(g, messages.dstRows(x), linR.weight, null)]);
  return layer.normalize ? unitRows(g, y) : y;
}

function meanWithSelf({ g, messages }: OnnxConvInput, x: Value): Value {
  const total = messages.sum(messages.fromSrc(x), messages.dstRows(x));
  return g.node('Div', [total, g.node('Add', [messages.counts(), g.scalar(1)])]);
}

function graphConv({ g, messages }: OnnxConvInput, layer: GraphConv, x: Value): Value {
  const { linRel, linRoot, reduce } = layer;
  const send = (rows: Value): Value => messages.aggregate(rows, reduce, messages.weight);
  const neighbours =
    reduce === 'max'
      ? linear(g, send(x), linRel.weight, linRel.bias)
      : mapAndSend(g, linRel, x, send, linRel.bias);
  return g.node('Add', [neighbours, linear(g, messages.dstRows(x), linRoot.weight, linRoot.bias)]);
}

function gin({ g, messages }: OnnxConvInput, layer: GINConv, x: Value): Value {
  const eps = layer.eps instanceof Tensor ? Number(layer.eps.dataSync()[0]) : layer.eps;
  const own = messages.dstRows(x);
  const start = eps === 0 ? own : g.node('Mul', [own, g.scalar(1 + eps)]);
  return translateLayer(g, layer.nn, messages.sum(messages.fromSrc(x), start));
}

/**
 * Whole models as ONNX operations: `LayeredModel` with residuals, normalisation, activations and jumping knowledge, a
 * single graph layer, or layers without a graph.
 */
import { GAT, GCN, GIN, GraphSAGE, type LayeredModel } from '../../gnn/index.js';
import type { Module } from '../../nn/index.js';
import { tryTranslateConv } from './conv.js';
import { computesAs } from './known-class.js';
import { linear, translateLayer, unsupportedError } from './layers.js';
import type { Messages } from './messages.js';
import type { OnnxGraph, Value } from './onnx-graph.js';

/** Returns whether a model is a known `LayeredModel`; custom ones may compute differently. */
export function isLayered(model: Module): model is LayeredModel {
  return (
    computesAs(model, GCN) || computesAs(model, GraphSAGE) || computesAs(model, GAT) || computesAs(model, GIN)
  );
}

/** Translates a graph layer; throws if it is unknown. */
export function translateConv(g: OnnxGraph, messages: Messages, layer: Module, x: Value): Value {
  const y = tryTranslateConv({ g, messages }, layer, x);
  if (y === null) throw unsupportedError(layer);
  return y;
}

/** @param messages returns the edges of each layer; the same for all on a whole graph. */
export function translateLayered(
  g: OnnxGraph,
  model: LayeredModel,
  messages: (layer: number) => Messages,
  x: Value,
): Value {
  let outputs: Value[] = [];
  let h = x;
  for (const [i, layer] of model.layers.entries()) {
    const edges = messages(i);
    const y = translateConv(g, edges, layer, h);
    const last = model.jump === null && i === model.layers.length - 1;
    h = last ? y : finishHidden(g, model, i, edges, h, y);
    outputs = [...outputs.map((value) => edges.dstRows(value)), h];
  }
  if (model.jump === null || model.lin === null) return h;
  const joined =
    model.jump.mode === 'cat' ? g.node('Concat', outputs, { axis: { int: 1 } }) : g.node('Max', outputs);
  return translateLayer(g, model.lin, joined);
}

/** Applies residual, normalisation and activation. */
function finishHidden(
  g: OnnxGraph,
  model: LayeredModel,
  i: number,
  edges: Messages,
  x: Value,
  y: Value,
): Value {
  let summed = y;
  if (model.residual) {
    const own = edges.dstRows(x);
    const lin = model.shortcuts[i];
    summed = g.node('Add', [y, lin === null ? own : linear(g, own, lin.weight, lin.bias)]);
  }
  const normed = model.norms.length === 0 ? summed : translateLayer(g, model.norms[i], summed);
  return translateLayer(g, model.activation, normed);
}

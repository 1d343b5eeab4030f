/**
 * Attention layers as ONNX operations: GAT and GATv2, with heads, self loops and edge features as in src/gnn/conv.
 *
 * An added self loop has the mean of the features of the edges into its node; scores are linear in the features, so GAT
 * takes the mean of the scores.
 */
import type { GATConv, GATv2Conv } from '../../gnn/index.js';
import type { Tensor } from '../../tensor/index.js';
import { InternalError } from '../../util/errors.js';
import type { OnnxConvInput } from './conv.js';
import { linear } from './layers.js';
import type { Messages } from './messages.js';
import type { OnnxGraph, Value } from './onnx-graph.js';

export function gat({ g, messages }: OnnxConvInput, layer: GATConv, x: Value): Value {
  const [heads, size] = layer.attSrc.shape;
  const value = splitHeads(g, linear(g, x, layer.lin.weight, null), heads, size);
  const srcScore = headScores(g, value, layer.attSrc);
  const dstScore =
    layer.linDst === null
      ? messages.dstRows(headScores(g, value, layer.attDst))
      : messages.dstRows(
          headScores(g, splitHeads(g, linear(g, x, layer.linDst.weight, null), heads, size), layer.attDst),
        );
  const edge = edgeRows(messages, layer);
  const edgeScore =
    edge === null || layer.linEdge === null || layer.attEdge === null
      ? null
      : headScores(g, splitHeads(g, linear(g, edge, layer.linEdge.weight, null), heads, size), layer.attEdge);
  const leaky = (a: Value, b: Value, c: Value | null): Value => leakySum(g, layer.slope, a, b, c);
  const scores = leaky(messages.fromSrc(srcScore), messages.fromDst(dstScore), edgeScore);
  const loop = layer.selfLoops
    ? {
        score: leaky(
          messages.dstRows(srcScore),
          dstScore,
          edgeScore === null ? null : meanOf(g, messages, edgeScore),
        ),
        value: messages.dstRows(value),
      }
    : null;
  return joinHeads(g, messages.softmaxSum(scores, messages.fromSrc(value), loop), layer, heads * size);
}

export function gatv2({ g, messages }: OnnxConvInput, layer: GATv2Conv, x: Value): Value {
  const [heads, size] = layer.att.shape;
  const { linL, linR, linEdge } = layer;
  const flatSrc = linear(g, x, linL.weight, linL.bias);
  const flatDst = messages.dstRows(linR === linL ? flatSrc : linear(g, x, linR.weight, linR.bias));
  const given = edgeRows(messages, layer);
  const edge = given === null || linEdge === null ? null : linear(g, given, linEdge.weight, null);
  const score = (a: Value, b: Value, c: Value | null): Value =>
    headScores(g, splitHeads(g, leakySum(g, layer.slope, a, b, c), heads, size), layer.att);
  const src = splitHeads(g, flatSrc, heads, size);
  const scores = score(messages.fromSrc(flatSrc), messages.fromDst(flatDst), edge);
  const loop = layer.selfLoops
    ? {
        score: score(messages.dstRows(flatSrc), flatDst, edge === null ? null : meanOf(g, messages, edge)),
        value: messages.dstRows(src),
      }
    : null;
  return joinHeads(g, messages.softmaxSum(scores, messages.fromSrc(src), loop), layer, heads * size);
}

function edgeRows(messages: Messages, layer: GATConv | GATv2Conv): Value | null {
  if (layer.linEdge === null) return null;
  if (messages.features === null)
    throw new InternalError('exportOnnx: edge features without an input for them');
  return messages.features;
}

/** Returns the means of edge rows [E, C] by destination. */
function meanOf(g: OnnxGraph, messages: Messages, rows: Value): Value {
  return g.node('Div', [messages.sum(rows), g.node('Max', [messages.counts(), g.scalar(1)])]);
}

function leakySum(g: OnnxGraph, slope: number, a: Value, b: Value, c: Value | null): Value {
  const sum = g.node('Add', [a, b]);
  return g.node('LeakyRelu', [c === null ? sum : g.node('Add', [sum, c])], { alpha: { float: slope } });
}

/** Reshapes [N, heads·D] to [N, heads, D]. */
function splitHeads(g: OnnxGraph, x: Value, heads: number, size: number): Value {
  return g.node('Reshape', [x, g.integers([-1, heads, size])]);
}

/** Σ_d x[n, h, d] · a[h, d] */
function headScores(g: OnnxGraph, x: Value, a: Tensor): Value {
  const products = g.node('Mul', [x, g.parameter(a)]);
  return g.node('ReduceSum', [products, g.integers([2])], { keepdims: { int: 0 } });
}

/** Concatenates or averages the heads, then adds the bias. */
function joinHeads(
  g: OnnxGraph,
  x: Value,
  { concat, bias }: { readonly concat: boolean; readonly bias: Tensor | null },
  width: number,
): Value {
  const y = concat
    ? g.node('Reshape', [x, g.integers([-1, width])])
    : g.node('ReduceMean', [x, g.integers([1])], { keepdims: { int: 0 } });
  return bias === null ? y : g.node('Add', [y, g.parameter(bias)]);
}

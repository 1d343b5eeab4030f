/**
 * Layers from one tensor to one tensor as ONNX operations, as they compute in evaluation mode: dropout does nothing, batch
 * normalisation uses running statistics.
 */
import {
  BatchNorm1d,
  Dropout,
  ELU,
  GELU,
  Identity,
  LayerNorm,
  LeakyReLU,
  Linear,
  MLP,
  type Module,
  ReLU,
  Sequential,
  Sigmoid,
  Softplus,
  Tanh,
} from '../../nn/index.js';
import type { Tensor } from '../../tensor/index.js';
import { ValueError } from '../../util/errors.js';
import { computesAs } from './known-class.js';
import type { OnnxGraph, Value } from './onnx-graph.js';

/** Translates a layer for x of two axes; throws if it is unknown. */
export function translateLayer(g: OnnxGraph, layer: Module, x: Value): Value {
  const y = tryTranslateLayer(g, layer, x);
  if (y !== null) return y;
  throw unsupportedError(layer);
}

/** Translates a layer; returns null for an unknown one. */
export function tryTranslateLayer(g: OnnxGraph, layer: Module, x: Value): Value | null {
  if (computesAs(layer, Linear)) return linear(g, x, layer.weight, layer.bias);
  if (computesAs(layer, Dropout) || computesAs(layer, Identity)) return x;
  if (computesAs(layer, BatchNorm1d)) return batchNorm(g, layer, x);
  if (computesAs(layer, LayerNorm)) return layerNorm(g, layer, x);
  if (computesAs(layer, MLP)) return mlp(g, layer, x);
  if (computesAs(layer, Sequential))
    return layer.layers.reduce((value, each) => translateLayer(g, each, value), x);
  return activation(g, layer, x);
}

export function unsupportedError(module: Module): ValueError {
  const name = module.constructor.name;
  return new ValueError(
    `exportOnnx: expected a model or layer that ONNX export supports, got ${name}. See docs/onnx.md for the list; a class that overrides their methods is not supported.`,
    { module: name },
  );
}

/** x·Wᵀ + b; x [N, in], weight [out, in]. */
export function linear(g: OnnxGraph, x: Value, weight: Tensor, bias: Tensor | null): Value {
  const inputs = [x, g.parameter(weight), ...(bias === null ? [] : [g.parameter(bias)])];
  return g.node('Gemm', inputs, { transB: { int: 1 } });
}

/** Divides rows by their length, or by 1e-12 if that is larger. */
export function unitRows(g: OnnxGraph, y: Value): Value {
  const squares = g.node('ReduceSum', [g.node('Mul', [y, y]), g.integers([1])], { keepdims: { int: 1 } });
  return g.node('Div', [y, g.node('Sqrt', [g.node('Max', [squares, g.scalar(1e-24)])])]);
}

function activation(g: OnnxGraph, layer: Module, x: Value): Value | null {
  if (computesAs(layer, ReLU)) return g.node('Relu', [x]);
  if (computesAs(layer, LeakyReLU)) return g.node('LeakyRelu', [x], { alpha: { float: layer.slope } });
  if (computesAs(layer, ELU)) return g.node('Elu', [x], { alpha: { float: layer.alpha } });
  if (computesAs(layer, GELU)) return gelu(g, x);
  if (computesAs(layer, Sigmoid)) return g.node('Sigmoid', [x]);
  if (computesAs(layer, Tanh)) return g.node('Tanh', [x]);
  return computesAs(layer, Softplus) ? g.node('Softplus', [x]) : null;
}

/** x·Φ(x) with the error function, since the operation Gelu is newer than our opset. */
function gelu(g: OnnxGraph, x: Value): Value {
  const erf = g.node('Erf', [g.node('Mul', [x, g.scalar(Math.SQRT1_2)])]);
  const half = g.node('Mul', [x, g.scalar(0.5)]);
  return g.node('Mul', [half, g.node('Add', [erf, g.scalar(1)])]);
}

function batchNorm(g: OnnxGraph, layer: BatchNorm1d, x: Value): Value {
  const { runningMean, runningVar, features } = layer;
  if (runningMean === null || runningVar === null)
    throw new ValueError(
      'exportOnnx: expected running statistics for BatchNorm1d, got none. Without them its result depends on the batch; train it with trackRunningStats.',
    );
  const inputs = [
    ...[x, orFill(g, layer.weight, features, 1), orFill(g, layer.bias, features, 0)],
    ...[g.parameter(runningMean), g.parameter(runningVar)],
  ];
  return g.node('BatchNormalization', inputs, { epsilon: { float: layer.eps } });
}

function layerNorm(g: OnnxGraph, layer: LayerNorm, x: Value): Value {
  const scale = orFill(g, layer.weight, layer.features, 1);
  const inputs = [x, scale, ...(layer.bias === null ? [] : [g.parameter(layer.bias)])];
  return g.node('LayerNormalization', inputs, { axis: { int: -1 }, epsilon: { float: layer.eps } });
}

function orFill(g: OnnxGraph, tensor: Tensor | null, size: number, value: number): Value {
  if (tensor !== null) return g.parameter(tensor);
  return g.floats(new Float32Array(size).fill(value), [size], `filled_${size}_${value}`);
}

function mlp(g: OnnxGraph, model: MLP, x: Value): Value {
  const last = model.linears.length - 1;
  return model.linears.reduce((value, lin, i) => {
    const y = translateLayer(g, lin, value);
    if (i === last) return y;
    const normed = model.norms.length > 0 ? translateLayer(g, model.norms[i], y) : y;
    return translateLayer(g, model.activation, normed);
  }, x);
}

/**
 * Edge decoders as ONNX operations. Inputs: src and dst [edges, dim] are embeddings, relation [edges] int64 if the decoder
 * has relations. Outputs: `score` for ranking destinations; `inverse_score` for ranking sources, if the decoder has inverse
 * relations.
 */
import {
  ComplexHadamardOperator,
  CosineCompare,
  DotCompare,
  type EdgeDecoder,
  HadamardOperator,
  L1Compare,
  L2Compare,
  ModulusCompare,
  NoOp,
  RotationOperator,
  SquaredL2Compare,
  TranslationOperator,
} from '../../gnn/index.js';
import type { Tensor } from '../../tensor/index.js';
import { unitRows, unsupportedError } from './layers.js';
import type { OnnxGraph, Value } from './onnx-graph.js';

export function translateDecoder(g: OnnxGraph, decoder: EdgeDecoder): void {
  const src = g.input('src', 'f32', ['edges', decoder.dim]);
  const dst = g.input('dst', 'f32', ['edges', decoder.dim]);
  g.output('score', score(g, decoder, decoder.relations, src, dst), ['edges']);
  if (decoder.inverseRelations !== null)
    g.output('inverse_score', score(g, decoder, decoder.inverseRelations, dst, src), ['edges']);
}

function score(g: OnnxGraph, decoder: EdgeDecoder, table: Tensor | null, from: Value, to: Value): Value {
  const relation = table === null ? null : g.input('relation', 'i64', ['edges']);
  const rows = table === null || relation === null ? null : g.node('Gather', [g.parameter(table), relation]);
  return compare(g, decoder, operate(g, decoder, from, rows), to);
}

function operate(g: OnnxGraph, decoder: EdgeDecoder, x: Value, relations: Value | null): Value {
  const { operator } = decoder;
  if (relations === null || operator instanceof NoOp) return x;
  if (operator instanceof HadamardOperator) return g.node('Mul', [x, relations]);
  if (operator instanceof TranslationOperator) return g.node('Add', [x, relations]);
  const half = decoder.dim / 2;
  if (operator instanceof RotationOperator)
    return complexProduct(g, halves(g, x, half), [g.node('Cos', [relations]), g.node('Sin', [relations])]);
  if (operator instanceof ComplexHadamardOperator)
    return complexProduct(g, halves(g, x, half), halves(g, relations, half));
  throw unsupportedError(decoder);
}

/** Splits columns into real and imaginary parts. */
function halves(g: OnnxGraph, x: Value, half: number): [real: Value, imaginary: Value] {
  const slice = (from: number): Value =>
    g.node('Slice', [x, g.integers([from]), g.integers([from + half]), g.integers([1])]);
  return [slice(0), slice(half)];
}

function complexProduct(g: OnnxGraph, [a, b]: readonly Value[], [c, d]: readonly Value[]): Value {
  const mul = (x: Value, y: Value): Value => g.node('Mul', [x, y]);
  const real = g.node('Sub', [mul(a, c), mul(b, d)]);
  const imaginary = g.node('Add', [mul(a, d), mul(b, c)]);
  return g.node('Concat', [real, imaginary], { axis: { int: 1 } });
}

function compare(g: OnnxGraph, decoder: EdgeDecoder, a: Value, b: Value): Value {
  const sum = (x: Value): Value => g.node('ReduceSum', [x, g.integers([1])], { keepdims: { int: 0 } });
  const difference = (): Value => g.node('Sub', [a, b]);
  const { comparator } = decoder;
  if (comparator instanceof DotCompare) return sum(g.node('Mul', [a, b]));
  if (comparator instanceof L1Compare) return g.node('Neg', [sum(g.node('Abs', [difference()]))]);
  if (comparator instanceof L2Compare) {
    const apart = difference();
    const squares = g.node('Max', [sum(g.node('Mul', [apart, apart])), g.scalar(1e-8)]);
    return g.node('Neg', [g.node('Sqrt', [squares])]);
  }
  if (comparator instanceof SquaredL2Compare) {
    const apart = difference();
    return g.node('Neg', [sum(g.node('Mul', [apart, apart]))]);
  }
  if (comparator instanceof ModulusCompare) {
    const squares = halves(g, difference(), decoder.dim / 2).map((x) => g.node('Mul', [x, x]));
    return g.node('Neg', [sum(g.node('Sqrt', [g.node('Add', squares)]))]);
  }
  if (comparator instanceof CosineCompare) return sum(g.node('Mul', [unitRows(g, a), unitRows(g, b)]));
  throw unsupportedError(decoder);
}

/**
 * Twins of the elementwise kernels. Arithmetic is in f64 and rounded once when stored.
 */
import { type BinaryOp, binaryOps, type CompareOp, compareOps, type Dims, type UnaryOp, unaryOps } from '../kernels.js';
import type { FloatArray } from '../types.js';
import { erf } from './erf.js';
import { forEachPair } from './walk.js';

const sigmoid = (x: number): number => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
const softplus = (x: number): number => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
const normalCdf = (x: number): number => 0.5 * (1 + erf(x * Math.SQRT1_2));

const unaryFunctions: Readonly<Record<UnaryOp, (x: number, alpha: number) => number>> = {
  neg: (x) => -x,
  abs: Math.abs,
  sign: Math.sign,
  square: (x) => x * x,
  sqrt: Math.sqrt,
  reciprocal: (x) => 1 / x,
  exp: Math.exp,
  log: Math.log,
  sin: Math.sin,
  cos: Math.cos,
  tanh: Math.tanh,
  sigmoid,
  relu: (x) => (x > 0 || Number.isNaN(x) ? x : 0),
  leakyRelu: (x, slope) => (x > 0 ? x : slope * x),
  elu: (x, alpha) => (x > 0 ? x : alpha * Math.expm1(x)),
  gelu: (x) => (x === -Infinity ? 0 : x * normalCdf(x)),
  softplus,
  logSigmoid: (x) => -softplus(-x),
};

/** f'(x), with y = f(x) where that is cheaper. */
const unaryDerivatives: Readonly<Record<UnaryOp, (x: number, y: number, alpha: number) => number>> = {
  neg: () => -1,
  abs: Math.sign,
  sign: () => 0,
  square: (x) => 2 * x,
  sqrt: (_x, y) => 0.5 / y,
  reciprocal: (_x, y) => -y * y,
  exp: (_x, y) => y,
  log: (x) => 1 / x,
  sin: Math.cos,
  cos: (x) => -Math.sin(x),
  tanh: (_x, y) => 1 - y * y,
  sigmoid: (_x, y) => y * (1 - y),
  relu: (_x, y) => (y > 0 ? 1 : 0),
  leakyRelu: (x, _y, slope) => (x > 0 ? 1 : slope),
  elu: (x, _y, alpha) => (x > 0 ? 1 : alpha * Math.exp(x)),
  gelu: (x) => normalCdf(x) + x * Math.exp(-0.5 * x * x) * 0.3989422804014327, // 1/√(2π)
  softplus: sigmoid,
  logSigmoid: (x) => sigmoid(-x),
};

const binaryFunctions: Readonly<Record<BinaryOp, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  pow: (a, b) => a ** b,
  maximum: Math.max,
  minimum: Math.min,
};

const compareFunctions: Readonly<Record<CompareOp, (a: number, b: number) => boolean>> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

export function unary(op: number, x: FloatArray, y: FloatArray, n: number, alpha: number): void {
  const f = unaryFunctions[unaryOps[op]];
  for (let i = 0; i < n; i++) y[i] = f(x[i], alpha);
}

export function unaryBackward(
  op: number,
  x: FloatArray,
  y: FloatArray,
  gy: FloatArray,
  gx: FloatArray,
  n: number,
  alpha: number,
): void {
  const derivative = unaryDerivatives[unaryOps[op]];
  for (let i = 0; i < n; i++) gx[i] = gy[i] * derivative(x[i], y[i], alpha);
}

export function binary(op: number, a: FloatArray, b: FloatArray, y: FloatArray, n: number, dims: Dims): void {
  const f = binaryFunctions[binaryOps[op]];
  forEachPair(n, dims, (i, p, q) => {
    y[i] = f(a[p], b[q]);
  });
}

export function binaryI32(op: number, a: Int32Array, b: Int32Array, y: Int32Array, n: number, dims: Dims): void {
  const name = binaryOps[op];
  // Products of large numbers wrap as in C; division and powers truncate.
  const f = name === 'mul' ? Math.imul : binaryFunctions[name];
  forEachPair(n, dims, (i, p, q) => {
    y[i] = f(a[p], b[q]);
  });
}

export function compare(op: number, a: FloatArray, b: FloatArray, y: Uint8Array, n: number, dims: Dims): void {
  const f = compareFunctions[compareOps[op]];
  forEachPair(n, dims, (i, p, q) => {
    y[i] = f(a[p], b[q]) ? 1 : 0;
  });
}

export function compareI32(op: number, a: Int32Array, b: Int32Array, y: Uint8Array, n: number, dims: Dims): void {
  const f = compareFunctions[compareOps[op]];
  forEachPair(n, dims, (i, p, q) => {
    y[i] = f(a[p], b[q]) ? 1 : 0;
  });
}

export function where(condition: Uint8Array, a: FloatArray, b: FloatArray, y: FloatArray, n: number): void {
  for (let i = 0; i < n; i++) y[i] = condition[i] !== 0 ? a[i] : b[i];
}

export function clamp(x: FloatArray, y: FloatArray, n: number, lo: number, hi: number): void {
  for (let i = 0; i < n; i++) y[i] = x[i] < lo ? lo : x[i] > hi ? hi : x[i];
}

export function axpy(scale: number, x: FloatArray, y: FloatArray, n: number): void {
  for (let i = 0; i < n; i++) y[i] += scale * x[i];
}

export function scale(x: FloatArray, n: number, factor: number): void {
  for (let i = 0; i < n; i++) x[i] *= factor;
}

export function fill(x: FloatArray, n: number, value: number): void {
  x.fill(value, 0, n);
}

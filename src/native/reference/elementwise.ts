/**
 * Elementwise twins of `native/kernels/elementwise/elementwise*.cpp` and `binary*.cpp`: computed in double, stored in the
 * array's type. Formulas follow PyTorch: exact gelu, softplus(x) = x for x > 20, derivative 0 of relu and abs at 0.
 */
import type { Dims, Kernels } from '../kernels.js';
import { type BinaryOp, binaryOps, type CompareOp, compareOps, type UnaryOp, unaryOps } from '../op-codes.js';
import type { FloatArray } from '../types.js';
import { normalCumulative, normalDensity, sigmoid, softplus } from './special-functions.js';
import { forEachRow } from './strided-walk.js';

const unaryTable: Readonly<Record<UnaryOp, (x: number, alpha: number) => number>> = {
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
  relu: (x) => (x < 0 ? 0 : x),
  leakyRelu: (x, alpha) => (x > 0 ? x : x * alpha),
  elu: (x, alpha) => (x > 0 ? x : alpha * Math.expm1(x)),
  gelu: (x) => x * normalCumulative(x),
  softplus: (x) => (x > 20 ? x : softplus(x)),
  logSigmoid: (x) => -softplus(-x),
};

/** g · op'(x), given x and y = op(x). Written so that a slope of 0 by definition stops infinite gradients too. */
type Gradient = (g: number, x: number, y: number, alpha: number) => number;

const gradientTable: Readonly<Record<UnaryOp, Gradient>> = {
  neg: (g) => -g,
  abs: (g, x) => (x > 0 ? g : x < 0 ? -g : 0 * x),
  sign: () => 0,
  square: (g, x) => g * 2 * x,
  sqrt: (g, _x, y) => g / (2 * y),
  reciprocal: (g, _x, y) => -g * y * y,
  exp: (g, _x, y) => g * y,
  log: (g, x) => g / x,
  sin: (g, x) => g * Math.cos(x),
  cos: (g, x) => -g * Math.sin(x),
  tanh: (g, _x, y) => g * (1 - y * y),
  sigmoid: (g, _x, y) => g * y * (1 - y),
  relu: (g, x) => (x <= 0 ? 0 : g),
  leakyRelu: (g, x, _y, alpha) => (x > 0 ? g : g * alpha),
  elu: (g, x, _y, alpha) => (x > 0 ? g : g * alpha * Math.exp(x)),
  gelu: (g, x) => g * (normalCumulative(x) + x * normalDensity(x)),
  softplus: (g, x) => (x > 20 ? g : g * sigmoid(x)),
  logSigmoid: (g, x) => g * sigmoid(-x),
};

const binaryTable: Readonly<Record<BinaryOp, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  // As in C: 1 to any power, and −1 to an infinite one, is 1.
  pow: (a, b) => (a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b),
  maximum: Math.max,
  minimum: Math.min,
};

/** Wraps around; divides towards zero (by zero: 0); a negative power is the truncated fraction. */
const binaryI32Table: Readonly<Record<BinaryOp, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: Math.imul,
  div: (a, b) => a / b,
  pow: integerPower,
  maximum: Math.max,
  minimum: Math.min,
};

const compareTable: Readonly<Record<CompareOp, (a: number, b: number) => boolean>> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

function integerPower(base: number, exponent: number): number {
  if (exponent < 0) return Math.abs(base) === 1 ? base ** (exponent & 1) : 0;
  let result = 1;
  for (let factor = base; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = Math.imul(result, factor);
    factor = Math.imul(factor, factor);
  }
  return result;
}

/** y[i] = f(a, b) along the walk; y is contiguous. Arrays of numbers of any one type. */
function zip<A extends FloatArray | Int32Array, Y extends FloatArray | Int32Array | Uint8Array>(
  a: A,
  b: A,
  y: Y,
  n: number,
  dims: Dims,
  f: (a: number, b: number) => number,
): void {
  if (dims === null) {
    for (let i = 0; i < n; i++) y[i] = f(a[i], b[i]);
    return;
  }
  let out = 0;
  forEachRow(dims, (first, second, length, firstStep, secondStep) => {
    for (let i = 0; i < length; i++) y[out++] = f(a[first + i * firstStep], b[second + i * secondStep]);
  });
}

export const elementwiseTwins = {
  unary(op, x, y, n, alpha) {
    const f = unaryTable[unaryOps[op]];
    for (let i = 0; i < n; i++) y[i] = f(x[i], alpha);
  },
  unaryBackward(op, x, y, gy, gx, n, alpha) {
    const gradient = gradientTable[unaryOps[op]];
    for (let i = 0; i < n; i++) gx[i] = gradient(gy[i], x[i], y[i], alpha);
  },
  binary(op, a, b, y, n, dims) {
    zip(a, b, y, n, dims, binaryTable[binaryOps[op]]);
  },
  binaryI32(op, a, b, y, n, dims) {
    zip(a, b, y, n, dims, binaryI32Table[binaryOps[op]]);
  },
  compare(op, a, b, y, n, dims) {
    const f = compareTable[compareOps[op]];
    zip(a, b, y, n, dims, (u, v) => (f(u, v) ? 1 : 0));
  },
  compareI32(op, a, b, y, n, dims) {
    const f = compareTable[compareOps[op]];
    zip(a, b, y, n, dims, (u, v) => (f(u, v) ? 1 : 0));
  },
  where(condition, a, b, y, n) {
    for (let i = 0; i < n; i++) y[i] = condition[i] !== 0 ? a[i] : b[i];
  },
  clamp(x, y, n, lo, hi) {
    for (let i = 0; i < n; i++) y[i] = Math.min(Math.max(x[i], lo), hi);
  },
  axpy(scale, x, y, n) {
    for (let i = 0; i < n; i++) y[i] += scale * x[i];
  },
  scale(x, n, scale) {
    for (let i = 0; i < n; i++) x[i] *= scale;
  },
  fill(x, n, value) {
    x.fill(value, 0, n);
  },
} satisfies Partial<Kernels>;

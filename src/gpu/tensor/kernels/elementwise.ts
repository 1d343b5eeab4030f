/**
 * Functions of one and two elements, comparisons and selection. Formulas are those of
 * `native/reference/elementwise.ts`.
 */
import type { Dims, Kernels } from '../../../native/index.js';
import { ShapeError } from '../../../util/errors.js';
import type { Compute } from '../compute.js';
import { maxRank, tensorProgram } from '../tensor-program.js';

/** Values that WGSL has no literals for; computed at run time because the compiler rejects them as constants. */
export const specialValues = /* wgsl */ `
fn infinity() -> f32 { var bits = 0x7f800000u; return bitcast<f32>(bits); }
fn notANumber() -> f32 { var bits = 0x7fc00000u; return bitcast<f32>(bits); }
fn isNan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
`;

const unaryHelpers = /* wgsl */ `
${specialValues}
// Drivers may be off by 2^-11 in sin and cos: reduce to [-pi/4, pi/4] and use polynomials.
fn sinCos(x: f32) -> vec2<f32> {
  let k = round(x * 0.63661977);
  let r = ((x - k * 1.5703125) - k * 4.837513e-4) - k * 7.5497899e-8;
  let s2 = r * r;
  let s = r * (1.0 + s2 * (-0.16666667 + s2 * (8.3333310e-3 + s2 * (-1.9840874e-4 + s2 * 2.7525562e-6))));
  let c = 1.0 + s2 * (-0.5 + s2 * (4.1666638e-2 + s2 * (-1.3888378e-3 + s2 * 2.4760495e-5)));
  let q = u32(i32(k) & 3);
  if (q == 0u) { return vec2<f32>(s, c); }
  if (q == 1u) { return vec2<f32>(c, -s); }
  if (q == 2u) { return vec2<f32>(-s, -c); }
  return vec2<f32>(-c, s);
}
// Abramowitz and Stegun 7.1.26: the error is below 1.5e-7.
fn erfOf(x: f32) -> f32 {
  let t = 1.0 / (1.0 + 0.3275911 * abs(x));
  let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return sign(x) * (1.0 - poly * exp(-x * x));
}
fn sigmoidOf(x: f32) -> f32 {
  let e = exp(-abs(x));
  return select(e, 1.0, x >= 0.0) / (1.0 + e);
}
// tanh overflows for large arguments on some drivers.
fn tanhOf(x: f32) -> f32 { return tanh(clamp(x, -15.0, 15.0)); }
fn softplusOf(x: f32) -> f32 { return max(x, 0.0) + log(1.0 + exp(-abs(x))); }
fn expm1Of(x: f32) -> f32 {
  if (abs(x) < 0.01) { return x * (1.0 + x * (0.5 + x * (0.16666667 + x * 0.041666668))); }
  return exp(x) - 1.0;
}
`;

const unary = tensorProgram({
  name: 'unary',
  arrays: ['read f32 x', 'write f32 y'],
  params: ['n u32', 'op u32', 'alpha f32'],
  helpers: unaryHelpers,
  body: /* wgsl */ `
  let v = x[p.x_at + i];
  var r = v;
  switch (p.op) {
    case 0u: { r = -v; }
    case 1u: { r = abs(v); }
    case 2u: { r = sign(v); }
    case 3u: { r = v * v; }
    case 4u: { r = sqrt(v); }
    case 5u: { r = 1.0 / v; }
    case 6u: { r = exp(v); }
    case 7u: { r = log(v); }
    case 8u: { r = sinCos(v).x; }
    case 9u: { r = sinCos(v).y; }
    case 10u: { r = tanhOf(v); }
    case 11u: { r = sigmoidOf(v); }
    case 12u: { r = select(v, 0.0, v <= 0.0); }
    case 13u: { r = select(v, p.alpha * v, v <= 0.0); }
    case 14u: { r = select(v, p.alpha * expm1Of(min(v, 0.0)), v <= 0.0); }
    case 15u: { r = 0.5 * v * (1.0 + erfOf(v * 0.70710678)); }
    case 16u: { r = softplusOf(v); }
    case 17u: { r = -softplusOf(-v); }
    default: {}
  }
  y[p.y_at + i] = r;`,
});

const unaryBackward = tensorProgram({
  name: 'unaryBackward',
  arrays: ['read f32 x', 'read f32 y', 'read f32 gy', 'write f32 gx'],
  params: ['n u32', 'op u32', 'alpha f32'],
  helpers: unaryHelpers,
  body: /* wgsl */ `
  let v = x[p.x_at + i];
  let w = y[p.y_at + i];
  var d = 1.0;
  switch (p.op) {
    case 0u: { d = -1.0; }
    case 1u: { d = sign(v); }
    case 2u: { d = 0.0; }
    case 3u: { d = 2.0 * v; }
    case 4u: { d = 0.5 / w; }
    case 5u: { d = -w * w; }
    case 6u: { d = w; }
    case 7u: { d = 1.0 / v; }
    case 8u: { d = sinCos(v).y; }
    case 9u: { d = -sinCos(v).x; }
    case 10u: { d = 1.0 - w * w; }
    case 11u: { d = w * (1.0 - w); }
    case 12u: { d = select(0.0, 1.0, w > 0.0); }
    case 13u: { d = select(p.alpha, 1.0, v > 0.0); }
    case 14u: { d = select(p.alpha * exp(min(v, 0.0)), 1.0, v > 0.0); }
    case 15u: { d = 0.5 * (1.0 + erfOf(v * 0.70710678)) + v * 0.39894228 * exp(-0.5 * v * v); }
    case 16u: { d = sigmoidOf(v); }
    case 17u: { d = sigmoidOf(-v); }
    default: {}
  }
  gx[p.gx_at + i] = gy[p.gy_at + i] * d;`,
});

/** Positions in two operands for element i of their common shape. */
const walkTwo = /* wgsl */ `
fn places(index: u32) -> vec2<u32> {
  let rank = dim(0u);
  if (rank == 0xffffffffu) { return vec2<u32>(index, index); }
  var rest = index;
  var at = vec2<u32>(0u, 0u);
  for (var axis = rank; axis > 0u; axis--) {
    let size = dim(axis);
    let k = rest % size;
    rest = rest / size;
    at += k * vec2<u32>(dim(rank + axis), dim(2u * rank + axis));
  }
  return at;
}
`;

const binaryHelpers = /* wgsl */ `
${specialValues}
${walkTwo}
fn power(a: f32, b: f32) -> f32 {
  if (b == 0.0) { return 1.0; }
  if (b == 1.0) { return a; }
  if (b == 2.0) { return a * a; }
  if (b == -1.0) { return 1.0 / a; }
  if (a == 0.0) { return select(infinity(), 0.0, b > 0.0); }
  let r = pow(abs(a), b);
  if (a > 0.0) { return r; }
  if (b != floor(b)) { return notANumber(); }
  return select(r, -r, abs(b) - 2.0 * floor(abs(b) * 0.5) == 1.0);
}
fn quotient(a: f32, b: f32) -> f32 { return a / b; }
fn larger(a: f32, b: f32) -> f32 { if (isNan(a)) { return a; } if (isNan(b)) { return b; } return max(a, b); }
fn smaller(a: f32, b: f32) -> f32 { if (isNan(a)) { return a; } if (isNan(b)) { return b; } return min(a, b); }
`;

const integerHelpers = /* wgsl */ `
${walkTwo}
fn power(base: i32, times: i32) -> i32 {
  if (times < 0) {
    if (base == 1) { return 1; }
    return select(0, select(1, -1, (times & 1) == 1), base == -1);
  }
  var result = 1;
  var factor = base;
  for (var left = u32(times); left > 0u; left = left >> 1u) {
    if ((left & 1u) == 1u) { result *= factor; }
    factor *= factor;
  }
  return result;
}
fn quotient(a: i32, b: i32) -> i32 { if (b == 0) { return 0; } return a / b; }
fn larger(a: i32, b: i32) -> i32 { return max(a, b); }
fn smaller(a: i32, b: i32) -> i32 { return min(a, b); }
`;

const binaryBody = /* wgsl */ `
  let at = places(i);
  let u = a[p.a_at + at.x];
  let v = b[p.b_at + at.y];
  var r = u;
  switch (p.op) {
    case 0u: { r = u + v; }
    case 1u: { r = u - v; }
    case 2u: { r = u * v; }
    case 3u: { r = quotient(u, v); }
    case 4u: { r = power(u, v); }
    case 5u: { r = larger(u, v); }
    case 6u: { r = smaller(u, v); }
    default: {}
  }
  y[p.y_at + i] = r;`;

const binary = tensorProgram({
  name: 'binary',
  arrays: ['read f32 a', 'read f32 b', 'write f32 y'],
  params: ['dims dims', 'n u32', 'op u32'],
  helpers: binaryHelpers,
  body: binaryBody,
});

const binaryI32 = tensorProgram({
  name: 'binaryI32',
  arrays: ['read i32 a', 'read i32 b', 'write i32 y'],
  params: ['dims dims', 'n u32', 'op u32'],
  helpers: integerHelpers,
  body: binaryBody,
});

const compareBody = (type: string): string => /* wgsl */ `
  let at = places(i);
  let u = a[p.a_at + at.x];
  let v = b[p.b_at + at.y];
  var r = false;
  ${type === 'f32' ? 'if (isNan(u) || isNan(v)) { y[p.y_at + i] = select(0u, 1u, p.op == 1u); return; }' : ''}
  switch (p.op) {
    case 0u: { r = u == v; }
    case 1u: { r = u != v; }
    case 2u: { r = u < v; }
    case 3u: { r = u <= v; }
    case 4u: { r = u > v; }
    case 5u: { r = u >= v; }
    default: {}
  }
  y[p.y_at + i] = select(0u, 1u, r);`;

const compare = tensorProgram({
  name: 'compare',
  arrays: ['read f32 a', 'read f32 b', 'write u32 y'],
  params: ['dims dims', 'n u32', 'op u32'],
  helpers: `${specialValues}${walkTwo}`,
  body: compareBody('f32'),
});

const compareI32 = tensorProgram({
  name: 'compareI32',
  arrays: ['read i32 a', 'read i32 b', 'write u32 y'],
  params: ['dims dims', 'n u32', 'op u32'],
  helpers: walkTwo,
  body: compareBody('i32'),
});

const where = tensorProgram({
  name: 'where',
  arrays: ['read u32 c', 'read f32 a', 'read f32 b', 'write f32 y'],
  params: ['n u32'],
  body: 'y[p.y_at + i] = select(b[p.b_at + i], a[p.a_at + i], c[p.c_at + i] != 0u);',
});

const clampProgram = tensorProgram({
  name: 'clamp',
  arrays: ['read f32 x', 'write f32 y'],
  params: ['n u32', 'lo f32', 'hi f32'],
  helpers: specialValues,
  body: /* wgsl */ `
  let v = x[p.x_at + i];
  y[p.y_at + i] = select(min(max(v, p.lo), p.hi), v, isNan(v));`,
});

const axpy = tensorProgram({
  name: 'axpy',
  arrays: ['read f32 x', 'write f32 y'],
  params: ['n u32', 'factor f32'],
  body: 'y[p.y_at + i] = y[p.y_at + i] + p.factor * x[p.x_at + i];',
});

const scale = tensorProgram({
  name: 'scale',
  arrays: ['write f32 x'],
  params: ['n u32', 'factor f32'],
  body: 'x[p.x_at + i] = x[p.x_at + i] * p.factor;',
});

const contiguous = Int32Array.of(-1);

/** Returns `dims` as a parameter; null means that both operands are contiguous. */
function walk(dims: Dims): Int32Array {
  if (dims !== null && dims[0] > maxRank)
    throw new ShapeError(`webgpu: expected at most ${maxRank} axes, got ${dims[0]}. Reshape first.`);
  return dims ?? contiguous;
}

export function elementwiseKernels(c: Compute): Partial<Kernels> {
  return {
    unary: (op, x, y, n, alpha) => c.launch(unary, [x, y], [n, op, alpha], n),
    unaryBackward: (op, x, y, gy, gx, n, alpha) => c.launch(unaryBackward, [x, y, gy, gx], [n, op, alpha], n),
    binary: (op, a, b, y, n, dims) => c.launch(binary, [a, b, y], [walk(dims), n, op], n),
    binaryI32: (op, a, b, y, n, dims) => c.launch(binaryI32, [a, b, y], [walk(dims), n, op], n),
    compare: (op, a, b, y, n, dims) => c.launch(compare, [a, b, y], [walk(dims), n, op], n),
    compareI32: (op, a, b, y, n, dims) => c.launch(compareI32, [a, b, y], [walk(dims), n, op], n),
    where: (condition, a, b, y, n) => c.launch(where, [condition, a, b, y], [n], n),
    clamp: (x, y, n, lo, hi) => c.launch(clampProgram, [x, y], [n, lo, hi], n),
    axpy: (factor, x, y, n) => c.launch(axpy, [x, y], [n, factor], n),
    scale: (x, n, factor) => c.launch(scale, [x], [n, factor], n),
  };
}

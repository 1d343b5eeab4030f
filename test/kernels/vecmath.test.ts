/**
 * The f32 functions of `native/kernels/support/vecmath.h`, through the kernel `unary`: units in the last place against
 * JavaScript's double functions over a sample of all bit patterns, and the special values.
 */
import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { nativeKernels, referenceKernels, type UnaryOp, unaryCode } from '#internal/native/index.js';

const tiny = 2 ** -149;
const huge = 3.4028234663852886e38;

function apply(op: UnaryOp, x: FloatArray): FloatArray {
  const y = x.slice();
  nativeKernels?.unary(unaryCode[op], x, y, x.length, 1);
  return y;
}

const exponentOf = (x: number): number => Math.floor(Math.log2(Math.abs(x)));

/** Distance in units of the last place of the f32 nearest to `want`. */
function ulps(got: number, want: number): number {
  if (Number.isNaN(want) || Number.isNaN(got)) return Number.isNaN(want) === Number.isNaN(got) ? 0 : Infinity;
  const nearest = Math.fround(want);
  if (got === nearest) return 0;
  if (!Number.isFinite(got)) return Math.abs(want) >= huge ? 1 : Infinity;
  const exponent = Math.max(exponentOf(want), -126);
  return Math.abs(got - want) / 2 ** (exponent - 23);
}

function allPatterns(count: number): Float32Array {
  const bits = new Uint32Array(count);
  const step = Math.floor(2 ** 32 / count) | 1;
  for (let i = 0; i < count; i++) bits[i] = Math.imul(i, step);
  return new Float32Array(bits.buffer);
}

function between(lo: number, hi: number, count: number): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => lo + ((hi - lo) * i) / count);
}

/** Exact values in double; the limit is what was measured over all 2^32 arguments, rounded up. */
const functions: [UnaryOp, number, number, number][] = [
  ['exp', 1.1, -104, 89],
  ['log', 1, 0, 100],
  ['sin', 0.6, -1000, 1000],
  ['cos', 0.6, -1000, 1000],
  ['tanh', 2.6, -10, 10],
  ['sigmoid', 2.4, -100, 100],
  ['softplus', 2.6, -100, 25],
  ['logSigmoid', 2.6, -100, 100],
  ['elu', 2.6, -20, 1],
];

function expectWithin(op: UnaryOp, x: Float32Array, limit: number): void {
  const y = apply(op, x);
  const want = new Float64Array(x.length);
  referenceKernels.unary(unaryCode[op], Float64Array.from(x), want, x.length, 1);
  let worst = 0;
  let at = NaN;
  for (let i = 0; i < x.length; i++) {
    const error = ulps(y[i], want[i]);
    if (error > worst) [worst, at] = [error, x[i]];
  }
  expect(worst, `${op} at ${at}`).toBeLessThanOrEqual(limit);
}

describe.skipIf(nativeKernels === null)('vecmath', () => {
  it.each(functions)('%s is within %f ulp', (op, limit, lo, hi) => {
    for (const x of [allPatterns(100_003), between(lo, hi, 100_003)]) expectWithin(op, x, limit);
  });

  it('gelu keeps its relative precision where 1 + erf would cancel', () => {
    expectWithin('gelu', between(-12, 12, 100_003), 6);
  });

  const special: [UnaryOp, number, number][] = [
    ['exp', 0, 1],
    ['exp', -0, 1],
    ['exp', Infinity, Infinity],
    ['exp', -Infinity, 0],
    ['exp', 88.8, Infinity],
    ['exp', -104, 0],
    ['exp', -103.5, tiny],
    ['log', 0, -Infinity],
    ['log', -0, -Infinity],
    ['log', 1, 0],
    ['log', -1, NaN],
    ['log', Infinity, Infinity],
    ['log', -Infinity, NaN],
    ['log', tiny, Math.fround(Math.log(tiny))],
    ['tanh', -0, -0],
    ['tanh', Infinity, 1],
    ['tanh', -Infinity, -1],
    ['tanh', tiny, tiny],
    ['sigmoid', Infinity, 1],
    ['sigmoid', -Infinity, 0],
    ['sigmoid', 0, 0.5],
    ['softplus', Infinity, Infinity],
    ['softplus', -Infinity, 0],
    ['softplus', 21, 21],
    ['logSigmoid', -Infinity, -Infinity],
    ['logSigmoid', Infinity, 0],
    ['sin', -0, -0],
    ['sin', Infinity, NaN],
    ['sin', huge, Math.fround(Math.sin(huge))],
    ['cos', -Infinity, NaN],
    ['cos', 0, 1],
    ['cos', huge, Math.fround(Math.cos(huge))],
    ['gelu', -0, -0],
    ['gelu', 20, 20],
    ['gelu', Infinity, Infinity],
    ['elu', -Infinity, -1],
  ];
  it.each(special)('%s(%d) = %d', (op, x, want) => {
    // 19 elements: in the vector body and in the tail.
    for (const got of apply(op, new Float32Array(19).fill(x))) expect(got).toBe(want);
  });

  it('passes NaN on', () => {
    const names = functions.map(([op]) => op);
    for (const op of [...names, 'gelu' as const])
      expect(apply(op, new Float32Array(9).fill(NaN)).every(Number.isNaN)).toBe(true);
  });

  it('f64 agrees with JavaScript to a few units of 2^-52', () => {
    for (const [op, , lo, hi] of functions) {
      const x = Float64Array.from(between(lo, hi, 20_011));
      const y = apply(op, x);
      const want = new Float64Array(x.length);
      referenceKernels.unary(unaryCode[op], x, want, x.length, 1);
      let worst = 0;
      for (let i = 0; i < x.length; i++) {
        if (!Object.is(y[i], want[i])) worst = Math.max(worst, Math.abs(y[i] - want[i]) / Math.abs(want[i]));
      }
      expect(worst, op).toBeLessThan(1e-15);
    }
  });

  it('f64 sin and cos hold for large and huge arguments', () => {
    const x = Float64Array.from([1e6, 1.7e12, 7e13, 1e14, 1e22, 1e300, -1.7e12]);
    const sin = apply('sin', x);
    const cos = apply('cos', x);
    for (let i = 0; i < x.length; i++) {
      expect(sin[i]).toBeCloseTo(Math.sin(x[i]), 14);
      expect(cos[i]).toBeCloseTo(Math.cos(x[i]), 14);
    }
  });

  it('f64 sin and cos of huge arguments of every exponent are within 2 units in the last place', () => {
    // Math.sin itself is within 1. The largest double; the double that is closest to a multiple of π/2.
    const hard = [Number.MAX_VALUE, 6381956970095103 * 2 ** 797];
    const every = Array.from(
      { length: 978 * 8 },
      (_, i) => (1 + ((i * 0.6180339887498949) % 1)) * 2 ** (46 + (i >> 3)),
    );
    const x = Float64Array.from([...hard, ...every].flatMap((value) => [value, -value]));
    for (const [got, want] of [
      [apply('sin', x), x.map(Math.sin)],
      [apply('cos', x), x.map(Math.cos)],
    ]) {
      const worst = Math.max(...got.map((value, i) => Math.abs(value - want[i]) / 2 ** exponentOf(want[i])));
      expect(worst).toBeLessThanOrEqual(2 * 2 ** -52);
    }
  });
});

import * as ops from 'skein/tensor';
import { edges, type Input, input, makeCases, type OpCase } from '../case.js';

type Unary = (x: ops.Tensor) => ops.Tensor;

function unary(op: string, run: Unary, range: Omit<Input, 'shape'> = {}): OpCase[] {
  const sizes = Object.fromEntries(edges.map((n) => [`n=${n}`, [input([n], range)]]));
  return makeCases(op, run, { ...sizes, matrix: [input([5, 33], range)], scalar: [input([], range)] });
}

const positive = { lo: 0.2, hi: 3 };
const kink = { away: 0.05 };

const pairs: Record<string, readonly [readonly number[], readonly number[]]> = {
  ...Object.fromEntries(edges.map((n) => [`n=${n}`, [[n], [n]] as const])),
  'matrix and row': [[7, 33], [33]],
  'matrix and column': [
    [7, 33],
    [7, 1],
  ],
  'row and column': [
    [1, 9],
    [7, 1],
  ],
  'scalar and matrix': [[], [4, 5]],
  'three axes': [
    [2, 1, 5],
    [3, 1],
  ],
  'leading ones': [
    [1, 1, 4],
    [6, 4],
  ],
  empty: [[0, 3], [3]],
};

function binary(
  op: string,
  run: (a: ops.Tensor, b: ops.Tensor) => ops.Tensor,
  a: Omit<Input, 'shape'> = {},
  b = a,
): OpCase[] {
  return makeCases(
    op,
    run,
    Object.fromEntries(Object.entries(pairs).map(([name, [p, q]]) => [name, [input(p, a), input(q, b)]])),
  );
}

function comparison(op: string, run: (a: ops.Tensor, b: ops.Tensor) => ops.Tensor): OpCase[] {
  return binary(op, (a, b) => run(a, b)).map((c) => ({ ...c, forwardOnly: true as const }));
}

export const elementwiseCases: OpCase[] = [
  ...unary('neg', ops.neg),
  ...unary('abs', ops.abs, kink),
  ...unary('sign', ops.sign, kink),
  ...unary('square', ops.square),
  ...unary('sqrt', ops.sqrt, positive),
  ...unary('reciprocal', ops.reciprocal, positive),
  ...unary('exp', ops.exp),
  ...unary('log', ops.log, positive),
  ...unary('sin', ops.sin, { lo: -6, hi: 6 }),
  ...unary('cos', ops.cos, { lo: -6, hi: 6 }),
  ...unary('tanh', ops.tanh),
  ...unary('sigmoid', ops.sigmoid, { lo: -6, hi: 6 }),
  ...unary('relu', ops.relu, kink),
  ...unary('leakyRelu', (x) => ops.leakyRelu(x, 0.2), kink),
  ...unary('elu', (x) => ops.elu(x, 1.3), kink),
  ...unary('gelu', ops.gelu, { lo: -4, hi: 4 }),
  ...unary('softplus', ops.softplus, { lo: -6, hi: 6 }),
  ...unary('logSigmoid', ops.logSigmoid, { lo: -6, hi: 6 }),
  ...unary('clamp', (x) => ops.clamp(x, -1, 1), { lo: -0.9, hi: 0.9 }),
  ...unary('clamp', (x) => ops.clamp(x, 0.4), { lo: 0.5, hi: 2 }),
  ...binary('add', ops.add),
  ...binary('sub', ops.sub),
  ...binary('mul', ops.mul),
  ...binary('div', ops.div, {}, { lo: 0.5, hi: 2 }),
  ...binary('pow', ops.pow, { lo: 0.5, hi: 2 }, { lo: -2, hi: 2 }),
  ...binary('maximum', ops.maximum, { lo: 0, hi: 1 }, { lo: 1.1, hi: 2 }),
  ...binary('maximum', ops.maximum, { lo: 1.1, hi: 2 }, { lo: 0, hi: 1 }),
  ...binary('minimum', ops.minimum, { lo: 0, hi: 1 }, { lo: 1.1, hi: 2 }),
  ...makeCases('add', (a) => ops.add(a, 2.5), { 'with a number': [input([3, 4])] }),
  ...makeCases('sub', (a) => ops.sub(1, a), { 'number first': [input([3, 4])] }),
  ...makeCases('pow', (a) => ops.pow(a, 3), { 'cube of negatives': [input([9], { lo: -2, hi: -0.5 })] }),
  ...comparison('eq', ops.eq),
  ...comparison('ne', ops.ne),
  ...comparison('lt', ops.lt),
  ...comparison('le', ops.le),
  ...comparison('gt', ops.gt),
  ...comparison('ge', ops.ge),
  ...makeCases('where', (a, b) => ops.where(ops.gt(a.detach(), 0), a, b), {
    same: [input([4, 9]), input([4, 9])],
    broadcast: [input([4, 9]), input([9])],
  }),
  ...makeCases('where', (a) => ops.where(ops.gt(a.detach(), 0), a, 0), { 'with a number': [input([33])] }),
  ...makeCases(
    'cast',
    (a) => ops.cast(a, a.dtype === 'f32' ? 'f64' : 'f32'),
    { floats: [input([17])] },
    {
      loose: [1e6, 'a value that passes through f32 keeps 24 bits, also in the f64 run'],
    },
  ),
  ...makeCases(
    'cast',
    (a) => ops.cast(ops.cast(a, 'i32'), a.dtype),
    { 'through i32': [input([17], { lo: -50, hi: 50 })] },
    { forwardOnly: true },
  ),
  ...makeCases(
    'cast',
    (a) => ops.cast(ops.cast(a, 'bf16'), a.dtype),
    { 'through bf16': [input([17])] },
    { forwardOnly: true },
  ),
  ...makeCases(
    'cast',
    (a) => ops.cast(ops.cast(a, 'f16'), a.dtype),
    { 'through f16': [input([17])] },
    { forwardOnly: true },
  ),
];

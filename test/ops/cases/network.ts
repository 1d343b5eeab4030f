import * as ops from 'skein/tensor';
import { gruGates, rnnGates } from '#internal/tensor/ops/cells.js';
import { bceWithLogitsElements, crossEntropyRows } from '#internal/tensor/ops/cross-entropy.js';
import { linearPair } from '#internal/tensor/ops/matmul.js';
import { batchNorm, columnStats } from '#internal/tensor/ops/norm.js';
import { defaultRandom } from '#internal/tensor/random.js';
import { edges, input, makeCases, type OpCase } from '../case.js';

const ids = (n: number, bound: number): Int32Array =>
  Int32Array.from({ length: n }, (_, i) => (i * 7 + 3) % bound);
const matrices = {
  small: [input([3, 4]), input([4, 5])],
  row: [input([1, 17]), input([17, 1])],
  ...Object.fromEntries(edges.map((n) => [`m=${n}`, [input([n, 9]), input([9, 5])]])),
  ...Object.fromEntries(edges.map((n) => [`k=${n}`, [input([3, n]), input([n, 6])]])),
  ...Object.fromEntries(edges.map((n) => [`n=${n}`, [input([4, 7]), input([7, n])]])),
};

export const networkCases: OpCase[] = [
  ...makeCases('matmul', ops.matmul, {
    ...matrices,
    'vector · matrix': [input([4]), input([4, 5])],
    'matrix · vector': [input([3, 4]), input([4])],
    'vector · vector': [input([9]), input([9])],
    'batched rows': [input([2, 3, 4]), input([4, 5])],
    batched: [input([3, 2, 4]), input([3, 4, 5])],
    'batch broadcast': [input([2, 1, 3, 4]), input([5, 4, 2])],
  }),
  ...makeCases('matmul', (a, b) => ops.matmul(ops.transpose(a), b), {
    'a transposed': [input([8, 3]), input([8, 5])],
  }),
  ...makeCases('matmul', (a, b) => ops.matmul(a, ops.transpose(b)), {
    'b transposed': [input([3, 8]), input([5, 8])],
  }),
  ...makeCases('linear', (x, w, b) => ops.linear(x, w, b), {
    matrix: [input([5, 4]), input([3, 4]), input([3])],
    vector: [input([4]), input([3, 4]), input([3])],
    cube: [input([2, 3, 4]), input([6, 4]), input([6])],
    empty: [input([0, 4]), input([3, 4]), input([3])],
  }),
  ...makeCases('linearPair', (a, v, b, w, c) => linearPair(a, v, b, w, c), {
    'two maps': [input([5, 4]), input([3, 4]), input([5, 7]), input([3, 7]), input([3])],
    rows: [input([129, 8]), input([9, 8]), input([129, 1]), input([9, 1]), input([9])],
    'no rows': [input([0, 4]), input([3, 4]), input([0, 2]), input([3, 2]), input([3])],
  }),
  ...makeCases('linearPair', (a, v, b, w) => linearPair(a, v, b, w), {
    'no bias': [input([5, 4]), input([3, 4]), input([5, 2]), input([3, 2])],
  }),
  ...makeCases('linearPair', (a, v, b, w, c) => linearPair(a, v, b, w, c, { relu: true }), {
    relu: [input([33, 4]), input([9, 4]), input([33, 7]), input([9, 7]), input([9])],
  }),
  ...makeCases('linear', (x, w) => ops.linear(x, w), { 'no bias': [input([5, 4]), input([3, 4])] }),
  ...makeCases('crossEntropyRows', (x) => crossEntropyRows(x, ids(x.shape[0], x.shape[1])), {
    ...Object.fromEntries(edges.slice(1).map((n) => [`classes=${n}`, [input([5, n])]])),
    'no rows': [input([0, 4])],
  }),
  ...makeCases('crossEntropyRows', (x) => crossEntropyRows(x, [1, -1, 0]), { ignored: [input([3, 4])] }),
  ...makeCases('crossEntropyTotal', (x) => ops.crossEntropyTotal(x, ids(x.shape[0], x.shape[1])), {
    ...Object.fromEntries(edges.slice(1).map((n) => [`classes=${n}`, [input([5, n])]])),
    'no rows': [input([0, 4])],
  }),
  ...makeCases(
    'crossEntropyTotal',
    (x) => ops.mul(ops.crossEntropyTotal(x, [1, -1, 0], { factor: 0.3 }), 2),
    {
      'ignored, scaled': [input([3, 4])],
    },
  ),
  ...makeCases(
    'crossEntropyTotal',
    (x) => {
      const weights = ops.fromArray([0.5, 0, 2], { dtype: x.dtype as ops.FloatDType });
      return ops.crossEntropyTotal(x, [1, 2, 0], { weights });
    },
    { weighted: [input([3, 4])] },
  ),
  ...makeCases('bceWithLogitsElements', bceWithLogitsElements, {
    vector: [input([33], { lo: -5, hi: 5 }), input([33], { lo: 0, hi: 1 })],
    matrix: [input([3, 4]), input([3, 4], { lo: 0, hi: 1 })],
  }),
  // A fresh generator for each call, so that every evaluation of the case draws the same mask.
  ...makeCases(
    'dropout',
    (x) => ops.dropout(x, 0.4, defaultRandom().split(5)),
    Object.fromEntries(edges.map((n) => [`n=${n}`, [input([n])]])),
  ),
  ...makeCases(
    'dropout',
    (x) => ops.dropout(x, 0.4, { random: defaultRandom().split(5), rowIds: Int32Array.of(7, 3, 2e9, 0) }),
    Object.fromEntries([1, 3, 8, 33].map((n) => [`rows by id, width ${n}`, [input([4, n])]])),
  ),
  ...makeCases(
    'layerNorm',
    (x) => ops.layerNorm(x),
    Object.fromEntries([2, 7, 8, 9, 127, 128, 129].map((n) => [`n=${n}`, [input([4, n])]])),
  ),
  ...makeCases('layerNorm', (x, g, b) => ops.layerNorm(x, g, b, 1e-3), {
    affine: [input([5, 9]), input([9]), input([9])],
    cube: [input([2, 3, 8]), input([8]), input([8])],
  }),
  ...makeCases('batchNorm', (x) => batchNorm(x, columnStats(x.detach())), {
    plain: [input([6, 9])],
    tall: [input([129, 5])],
  }),
  ...makeCases('batchNorm', (x, g, b) => batchNorm(x, columnStats(x.detach()), g, b, 1e-3), {
    affine: [input([7, 8]), input([8]), input([8])],
  }),
  ...makeCases(
    'columnStats',
    (x) => ops.concat(Object.values(columnStats(x))),
    { matrix: [input([9, 17])] },
    { forwardOnly: true },
  ),
  ...makeCases('gatherRows', (x) => ops.gatherRows(x, ids(11, x.shape[0])), {
    ...Object.fromEntries(edges.slice(1).map((n) => [`width=${n}`, [input([5, n])]])),
    vector: [input([5])],
    cube: [input([5, 2, 3])],
  }),
  ...makeCases('gatherRows', (x) => ops.gatherRows(x, []), { 'no ids': [input([5, 3])] }),
  ...makeCases('scatterAddRows', (x) => ops.scatterAddRows(x, ids(x.shape[0], 6), 8), {
    ...Object.fromEntries(edges.map((n) => [`rows=${n}`, [input([n, 5])]])),
    wide: [input([20, 129])],
    vector: [input([9])],
  }),
  ...(['sum', 'mean', 'max', 'min'] as const).flatMap((op) =>
    makeCases('segmentReduce', (x) => ops.segmentReduce(x, [0, 3, 3, 4, x.shape[0]], op), {
      [`${op} vector`]: [input([9], { distinct: true })],
      [`${op} matrix`]: [input([12, 17], { distinct: true })],
      [`${op} long`]: [input([140, 3], { distinct: true })],
    }),
  ),
  ...makeCases('gruGates', (gi, gh, h) => gruGates(gi, gh, h, new Int32Array([2, 0])), {
    'some rows kept': [input([3, 12]), input([3, 12]), input([3, 4])],
  }),
  ...makeCases('gruGates', (gi, gh, h) => gruGates(gi, gh, h), {
    small: [input([3, 12]), input([3, 12]), input([3, 4])],
    wide: [input([2, 99]), input([2, 99]), input([2, 33])],
  }),
  ...makeCases('rnnGates', (a, b) => rnnGates(a, b), { tanh: [input([3, 9]), input([3, 9])] }),
  ...makeCases('rnnGates', (a, b) => rnnGates(a, b, 'relu'), {
    relu: [input([3, 9], { lo: 0.1, hi: 1 }), input([3, 9], { lo: 0.1, hi: 1 })],
  }),
  ...makeCases('timeEncode', ops.timeEncode, {
    vector: [input([5], { lo: 0, hi: 4 }), input([9]), input([9])],
    matrix: [input([2, 3], { lo: 0, hi: 4 }), input([33]), input([33])],
  }),
];

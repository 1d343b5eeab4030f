import * as ops from 'skein/tensor';
import { edges, input, makeCases, type OpCase } from '../case.js';

const shapes = {
  vector: [input([9])],
  matrix: [input([5, 8])],
  cube: [input([3, 4, 5])],
  empty: [input([0, 4])],
};

export const structureCases: OpCase[] = [
  ...makeCases('reshape', (x) => ops.reshape(x, [-1, 2]), {
    matrix: [input([4, 3])],
    cube: [input([2, 3, 4])],
  }),
  ...makeCases('transpose', (x) => ops.transpose(x), {
    matrix: [input([5, 8])],
    cube: [input([3, 4, 5])],
    wide: [input([2, 129])],
  }),
  ...makeCases('transpose', (x) => ops.transpose(x, 0, 2), { 'outer axes': [input([3, 4, 5])] }),
  ...makeCases('permute', (x) => ops.permute(x, [2, 0, 1]), { cube: [input([3, 4, 5])] }),
  ...makeCases('slice', (x) => ops.slice(x, 1, 3), { rows: [input([5, 4])] }),
  ...makeCases('slice', (x) => ops.slice(x, 1, -1, 1), { columns: [input([5, 4])] }),
  ...makeCases('split', (x) => ops.concat(ops.split(x, 2, 1).reverse(), 1), { columns: [input([3, 5])] }),
  ...makeCases('concat', (a, b) => ops.concat([a, b]), {
    rows: [input([2, 3]), input([4, 3])],
    empty: [input([0, 3]), input([4, 3])],
  }),
  ...makeCases('concat', (a, b) => ops.concat([a, b, a], -1), { columns: [input([3, 2]), input([3, 4])] }),
  ...makeCases('stack', (a, b) => ops.stack([a, b], 1), { matrices: [input([3, 2]), input([3, 2])] }),
  ...makeCases('unsqueeze', (x) => ops.unsqueeze(x, 1), shapes),
  ...makeCases('squeeze', (x) => ops.squeeze(x), { ones: [input([1, 3, 1])] }),
  ...makeCases('squeeze', (x) => ops.squeeze(x, 0), { 'one axis': [input([1, 3, 1])] }),
  ...makeCases('expand', (x) => ops.expand(x, [4, 3, 5]), {
    row: [input([5])],
    middle: [input([3, 1])],
    column: [input([4, 1, 1])],
  }),
  ...makeCases('contiguous', (x) => ops.contiguous(ops.transpose(x)), { matrix: [input([5, 8])] }),
  ...makeCases('clone', (x) => ops.clone(x), shapes),
  ...makeCases('sum', (x) => ops.sum(x), {
    ...shapes,
    scalar: [input([])],
    ...Object.fromEntries(edges.map((n) => [`n=${n}`, [input([n])]])),
  }),
  ...makeCases('sum', (x) => ops.sum(x, 0), { ...shapes, tall: [input([129, 17])] }),
  ...makeCases('sum', (x) => ops.sum(x, -1, { keepDims: true }), { ...shapes, wide: [input([3, 129])] }),
  ...makeCases('sum', (x) => ops.sum(x, [0, 2]), { 'outer axes': [input([3, 4, 5])] }),
  ...makeCases('sum', (x) => ops.sum(x, [1, 2]), { 'inner axes': [input([3, 4, 5])] }),
  ...makeCases('mean', (x) => ops.mean(x), { matrix: [input([5, 8])] }),
  ...makeCases('mean', (x) => ops.mean(x, 1), { rows: [input([5, 9])] }),
  ...makeCases('variance', (x) => ops.variance(x, 0), { columns: [input([7, 3])] }),
  ...makeCases('variance', (x) => ops.variance(x, 1, { correction: 0, keepDims: true }), {
    rows: [input([3, 8])],
  }),
  ...makeCases('norm', (x) => ops.norm(x, 1), { rows: [input([4, 9], { lo: 0.3, hi: 1 })] }),
  ...makeCases('max', (x) => ops.max(x), { all: [input([4, 9], { distinct: true })] }),
  ...makeCases(
    'max',
    (x) => ops.max(x, 1),
    Object.fromEntries(
      edges.filter((n) => n > 0).map((n) => [`n=${n}`, [input([3, n], { distinct: true })]]),
    ),
  ),
  ...makeCases('max', (x) => ops.max(x, 0, { keepDims: true }), {
    columns: [input([6, 9], { distinct: true })],
  }),
  ...makeCases('min', (x) => ops.min(x, 1), { middle: [input([3, 4, 5], { distinct: true })] }),
  ...makeCases(
    'argmax',
    (x) => ops.cast(ops.argmax(x), x.dtype),
    { rows: [input([5, 33], { distinct: true })] },
    { forwardOnly: true },
  ),
  ...makeCases(
    'argmin',
    (x) => ops.cast(ops.argmin(x, 0), x.dtype),
    { columns: [input([5, 33], { distinct: true })] },
    { forwardOnly: true },
  ),
  ...makeCases('softmax', (x) => ops.softmax(x), {
    ...Object.fromEntries(edges.slice(1).map((n) => [`n=${n}`, [input([3, n])]])),
    empty: [input([0, 5])],
  }),
  ...makeCases('softmax', (x) => ops.softmax(x, 0), { columns: [input([5, 8])] }),
  ...makeCases('logSoftmax', (x) => ops.logSoftmax(x), {
    ...Object.fromEntries(edges.slice(1).map((n) => [`n=${n}`, [input([3, n])]])),
    vector: [input([47])],
  }),
];

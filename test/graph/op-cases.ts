/** Cases of message passing as tensor functions, on graphs with multi-edges, loops and isolated nodes. */
import { fn, type Graph, SparseMatrix } from 'skein/graph';
import type { Tensor } from 'skein/tensor';
import { input, makeCases, type OpCase } from '../ops/case.js';
import { bipartiteGraph, randomGraph } from './graphs.js';

const g = randomGraph(11, 30);
const pair = bipartiteGraph();
const large = randomGraph(3000, 40000, 3);
const E = g.numEdges;
const scale = (n: number, t: Tensor): Float32Array | Float64Array => {
  const values = Array.from({ length: n }, (_, i) => 0.5 + ((i * 7) % 5) / 4);
  return t.dtype === 'f32' ? Float32Array.from(values) : Float64Array.from(values);
};

const aggregateCases: OpCase[] = [
  ...(['sum', 'mean', 'max', 'min'] as const).flatMap((reduce) => [
    ...makeCases('aggregate', (x) => g.aggregate(x, { reduce }), {
      [`${reduce} 1`]: [input([11], { distinct: true })],
      [`${reduce} 7`]: [input([11, 7], { distinct: true })],
      [`${reduce} 16`]: [input([11, 16], { distinct: true })],
      [`${reduce} 47`]: [input([11, 47], { distinct: true })],
      [`${reduce} 129`]: [input([11, 129], { distinct: true })],
    }),
    ...makeCases('aggregate', (x) => pair.aggregate(x, { reduce }), {
      [`${reduce} bipartite`]: [input([9, 5], { distinct: true })],
    }),
    ...makeCases('aggregate', (x, w) => g.aggregate(x, { reduce, weight: w }), {
      [`${reduce} weighted`]: [input([11, 9]), input([E], { lo: 0.5, hi: 1.5 })],
      [`${reduce} weighted column`]: [input([11, 16]), input([E, 1], { lo: 0.5, hi: 1.5 })],
      [`${reduce} heads`]: [input([11, 3, 5]), input([E, 3], { lo: 0.5, hi: 1.5 })],
      [`${reduce} heads of 16`]: [input([11, 2, 16]), input([E, 2, 1], { lo: 0.5, hi: 1.5 })],
      [`${reduce} elementwise`]: [input([11, 4]), input([E, 4], { lo: 0.5, hi: 1.5 })],
    }),
    ...makeCases('aggregate', (x) => large.aggregate(x, { reduce }), {
      [`${reduce} large`]: [input([3000, 33], { distinct: reduce === 'max' || reduce === 'min' })],
    }),
  ]),
  ...(['sum', 'mean'] as const).flatMap((reduce) => [
    ...makeCases('aggregate', (x) => g.aggregate(x, { reduce, self: true }), {
      [`${reduce} with itself`]: [input([11, 6])],
    }),
    ...makeCases(
      'aggregate',
      (x, w) =>
        g.aggregate(x, {
          reduce,
          weight: w,
          self: true,
          srcScale: scale(11, x),
          dstScale: scale(11, x),
        }),
      { [`${reduce} scaled, weighted, with itself`]: [input([11, 6]), input([E])] },
    ),
  ]),
];

const edgeCases: OpCase[] = [
  ...makeCases('srcToEdges', (x) => g.srcToEdges(x), { rows: [input([11, 3, 2])] }),
  ...makeCases('dstToEdges', (x) => g.dstToEdges(x), { rows: [input([11, 5])] }),
  ...makeCases('toPositions', (x) => g.toPositions(x), { rows: [input([E, 5])] }),
  ...makeCases('toEdgeIds', (x) => g.toEdgeIds(x), { rows: [input([E, 2, 2])] }),
  ...makeCases('aggregateEdges', (x) => g.aggregateEdges(x, 'mean'), { mean: [input([E, 4])] }),
  ...makeCases('edgeSoftmax', (x) => g.edgeSoftmax(x), {
    'one head': [input([E, 1])],
    'eight heads': [input([E, 8], { lo: -5, hi: 5 })],
  }),
  ...makeCases('edgeSoftmax', (x) => large.edgeSoftmax(x), { large: [input([large.numEdges, 2])] }),
  ...makeCases('dotScores', (a, b) => g.dotScores(a, b), {
    'two heads': [input([11, 2, 9]), input([11, 2, 9])],
    'one head of 64': [input([11, 1, 64]), input([11, 1, 64])],
  }),
  ...makeCases('dotScores', (a, b) => pair.dotScores(a, b), {
    bipartite: [input([9, 3, 4]), input([6, 3, 4])],
  }),
  ...makeCases('additiveScores', (a, b, w) => g.additiveScores(a, b, w, null, 0.2), {
    'three heads': [input([11, 3, 5]), input([11, 3, 5]), input([3, 5])],
  }),
  ...makeCases('additiveScores', (a, b, w, e) => pair.additiveScores(a, b, w, e, 0.1), {
    'with edges': [input([9, 2, 8]), input([6, 2, 8]), input([2, 8]), input([20, 2, 8])],
  }),
];

const attend = (graph: Graph, dropout: number) => (v: Tensor, a: Tensor, b: Tensor, e?: Tensor) =>
  graph.attention(v, a, b, { dropout, edgeScore: e ?? null });
const attentionCases: OpCase[] = [
  ...makeCases('attention', attend(g, 0), {
    'two heads': [input([11, 2, 5]), input([11, 2]), input([11, 2])],
    'eight heads of 8': [input([11, 8, 8]), input([11, 8]), input([11, 8])],
    'with edge scores': [input([11, 2, 5]), input([11, 2]), input([11, 2]), input([E, 2])],
    'large scores': [
      input([11, 1, 3]),
      input([11, 1], { lo: -60, hi: 60 }),
      input([11, 1], { lo: -60, hi: 60 }),
    ],
  }),
  ...makeCases('attention', attend(g, 0.4), {
    dropout: [input([11, 2, 5]), input([11, 2]), input([11, 2])],
  }),
  ...makeCases('attention', attend(pair, 0), { bipartite: [input([9, 3, 4]), input([9, 3]), input([6, 3])] }),
  ...makeCases('attention', attend(large, 0.1), {
    large: [input([3000, 2, 17]), input([3000, 2]), input([3000, 2])],
  }),
];

/** A message by field names, reduced. */
const byName =
  (message: (typeof fn)['uAddV'], ends: 'uv' | 'ue' | 've', reduce: 'sum' | 'max') =>
  (a: Tensor, b: Tensor) =>
    g.localScope(() => {
      (ends[0] === 'u' ? g.srcdata : g.dstdata).a = a;
      (ends[1] === 'e' ? g.edata : g.dstdata).b = b;
      g.updateAll(message('a', 'b', 'm'), fn[reduce]('m', 'y'));
      return g.dstdata.y;
    });
const nodes = [input([11, 4], { away: 0.3 }), input([11, 4], { away: 0.3 })];
const nodeAndEdge = [input([11, 4], { away: 0.3 }), input([E, 4], { away: 0.3 })];
const messageCases: OpCase[] = [
  ...makeCases('uAddV', byName(fn.uAddV, 'uv', 'sum'), { sum: nodes }),
  ...makeCases('uSubV', byName(fn.uSubV, 'uv', 'max'), { max: nodes }),
  ...makeCases('uMulV', byName(fn.uMulV, 'uv', 'sum'), { sum: nodes }),
  ...makeCases('uDivV', byName(fn.uDivV, 'uv', 'sum'), { sum: nodes }),
  ...makeCases('uDotV', byName(fn.uDotV, 'uv', 'sum'), { sum: nodes }),
  ...makeCases('uAddE', byName(fn.uAddE, 'ue', 'sum'), { sum: nodeAndEdge }),
  ...makeCases('uMulE', byName(fn.uMulE, 'ue', 'sum'), { sum: nodeAndEdge }),
  ...makeCases('vSubE', byName(fn.vSubE, 've', 'sum'), { sum: nodeAndEdge }),
];

const sparse = SparseMatrix.fromCsr(
  Int32Array.of(0, 2, 2, 5),
  Int32Array.of(1, 4, 0, 1, 3),
  Float32Array.of(1, -2, 0.5, 3, 1),
  [3, 5],
);
const sparseCases = makeCases('SparseMatrix.matmul', (w) => sparse.matmul(w), { '3 by 5': [input([5, 6])] });

export const graphCases: readonly OpCase[] = [
  ...aggregateCases,
  ...edgeCases,
  ...attentionCases,
  ...messageCases,
  ...sparseCases,
];

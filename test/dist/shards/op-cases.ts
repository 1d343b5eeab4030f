/**
 * Operations of a `MessageGraph`, as a table: each takes named tensors and gives tensors with one row per destination, or
 * per edge in the order of edge ids. Runners compare results and all gradients with those on one machine.
 */
import { fn, type MessageGraph, messageHasParameters } from 'skein/graph';
import { type FloatDType, leakyRelu, matmul, mul, type Tensor } from 'skein/tensor';

export type Rows = 'node' | 'edge' | 'parameter';

export interface OpCase {
  readonly name: string;
  /** Shapes without the first axis for rows of nodes and edges. */
  readonly inputs: Readonly<Record<string, readonly [Rows, ...number[]]>>;
  /** Values from few whole numbers, so that ties occur. */
  readonly ties?: boolean;
  readonly weighted?: boolean;
  readonly out?: 'node' | 'edge';
  run(graph: MessageGraph, t: Readonly<Record<string, Tensor>>): Tensor;
}

function scales(dtype: FloatDType, ids: Int32Array): Float32Array | Float64Array {
  const factors = Float32Array.from(ids, (id) => 1 + (id % 5) / 4);
  return dtype === 'f32' ? factors : Float64Array.from(factors);
}

/** Ids of own nodes in the graph on one machine: set by the runner. */
export const place: { nodes: Int32Array } = { nodes: new Int32Array(0) };

const reductions = ['sum', 'mean', 'max', 'min'] as const;

export const opCases: readonly OpCase[] = [
  ...reductions.flatMap((reduce): OpCase[] => [
    {
      name: `aggregate ${reduce}`,
      inputs: { x: ['node', 5] },
      run: (g, { x }) => g.aggregate(x, { reduce }),
    },
    {
      name: `aggregate ${reduce}, ties`,
      inputs: { x: ['node', 3] },
      ties: true,
      run: (g, { x }) => g.aggregate(x, { reduce }),
    },
    {
      name: `aggregate ${reduce}, weight per edge`,
      inputs: { x: ['node', 4], w: ['edge'] },
      run: (g, { x, w }) => g.aggregate(x, { reduce, weight: g.toPositions(w) }),
    },
    {
      name: `aggregate ${reduce}, weight per head`,
      inputs: { x: ['node', 2, 3], w: ['edge', 2] },
      run: (g, { x, w }) => g.aggregate(x, { reduce, weight: g.toPositions(w) }),
    },
    {
      name: `user message, ${reduce}`,
      inputs: { x: ['node', 3], e: ['edge', 3], w: ['parameter', 3, 2] },
      run: (g, { x, e, w }) => {
        g.srcdata.h = x;
        g.dstdata.k = mul(x, 2);
        g.edata.e = e;
        const message = messageHasParameters(
          ({ src, dst, data }) => ({ m: matmul(leakyRelu(src.h.add(dst.k).mul(data.e)), w) }),
          () => [w],
        );
        g.updateAll(message, fn[reduce]('m', 'y'));
        return g.dstdata.y;
      },
    },
    {
      name: `updateAll uMulV, ${reduce}`,
      inputs: { x: ['node', 3] },
      run: (g, { x }) => {
        g.srcdata.h = x;
        g.dstdata.v = x;
        g.updateAll(fn.uMulV('h', 'v', 'm'), fn[reduce]('m', 'y'));
        return g.dstdata.y;
      },
    },
  ]),
  {
    name: 'aggregate with scales and self',
    inputs: { x: ['node', 4] },
    run: (g, { x }) => {
      const scale = scales(x.dtype as FloatDType, place.nodes);
      return g.aggregate(x, { srcScale: scale, dstScale: scale, self: true });
    },
  },
  {
    name: 'aggregate mean with self',
    inputs: { x: ['node', 4] },
    run: (g, { x }) => g.aggregate(x, { reduce: 'mean', self: true }),
  },
  {
    name: 'aggregate on a graph with self loops added',
    inputs: { x: ['node', 4] },
    weighted: true,
    run: (g, { x }) => {
      const looped = g.withSelfLoops();
      return looped.aggregate(x, { weight: looped.positionWeights(x.dtype as FloatDType) });
    },
  },
  {
    name: 'srcToEdges',
    inputs: { x: ['node', 2, 2] },
    out: 'edge',
    run: (g, { x }) => g.toEdgeIds(g.srcToEdges(x)),
  },
  {
    name: 'dstToEdges',
    inputs: { x: ['node', 3] },
    out: 'edge',
    run: (g, { x }) => g.toEdgeIds(g.dstToEdges(x)),
  },
  {
    name: 'edgeSoftmax, aggregateEdges',
    inputs: { e: ['edge', 2] },
    run: (g, { e }) => g.aggregateEdges(mul(g.edgeSoftmax(g.toPositions(e)), g.toPositions(e)), 'sum'),
  },
  {
    name: 'dotScores',
    inputs: { x: ['node', 2, 3], y: ['node', 2, 3] },
    out: 'edge',
    run: (g, { x, y }) => g.toEdgeIds(g.dotScores(x, y)),
  },
  {
    name: 'additiveScores',
    inputs: { x: ['node', 2, 3], y: ['node', 2, 3], a: ['parameter', 2, 3] },
    out: 'edge',
    run: (g, { x, y, a }) => g.toEdgeIds(g.additiveScores(x, y, a, null, 0.2)),
  },
  {
    name: 'additiveScores with edges',
    inputs: { x: ['node', 2, 3], y: ['node', 2, 3], a: ['parameter', 2, 3], e: ['edge', 2, 3] },
    out: 'edge',
    run: (g, { x, y, a, e }) => g.toEdgeIds(g.additiveScores(x, y, a, g.toPositions(e), 0.2)),
  },
  {
    name: 'attention',
    inputs: { z: ['node', 2, 3], el: ['node', 2], er: ['node', 2] },
    run: (g, { z, el, er }) => g.attention(z, el, er),
  },
  {
    name: 'attention with edge scores',
    inputs: { z: ['node', 2, 3], el: ['node', 2], er: ['node', 2], e: ['edge', 2] },
    run: (g, { z, el, er, e }) => g.attention(z, el, er, { edgeScore: g.toPositions(e), slope: 0.1 }),
  },
  {
    name: 'user message per edge',
    inputs: { x: ['node', 3], e: ['edge', 3] },
    out: 'edge',
    run: (g, { x, e }) => {
      g.srcdata.h = x;
      g.dstdata.k = mul(x, x);
      g.edata.e = e;
      g.applyEdges(({ src, dst, data }) => ({ out: src.h.mul(dst.k).add(data.e) }));
      return g.edata.out;
    },
  },
];

/** Messages by name: what they mean, in plain loops, and that every way to say the same gives the same. */
import {
  type EdgeBatch,
  edgeSoftmax,
  fn,
  Graph,
  HeteroGraph,
  messageHasParameters,
  SparseMatrix,
} from 'skein/graph';
import {
  fromArray,
  fromTypedArray,
  grad,
  leakyRelu,
  manualSeed,
  mul,
  ones,
  rand,
  scope,
  type Tensor,
  zeros,
} from 'skein/tensor';
import { ValueError } from 'skein/util';
import { beforeEach, describe, expect, it } from 'vitest';
import { bipartiteGraph, randomGraph } from './graphs.js';

beforeEach(() => manualSeed(1));

const close = (got: Tensor, want: ArrayLike<number>): void => {
  const values = got.dataSync();
  expect(values.length).toBe(want.length);
  for (let i = 0; i < values.length; i++) expect(values[i]).toBeCloseTo(want[i], 5);
};

/** The reduction of `message(edge)` over the edges into each node, in edge-id order. */
function plain(
  g: Graph,
  width: number,
  op: 'sum' | 'mean' | 'max' | 'min',
  message: (u: number, v: number, e: number, f: number) => number,
): number[] {
  const { src, dst } = g.edges();
  const rows: number[][][] = Array.from({ length: g.numDstNodes }, () => []);
  for (let e = 0; e < src.length; e++)
    rows[dst[e]].push(Array.from({ length: width }, (_, f) => message(src[e], dst[e], e, f)));
  return rows.flatMap((messages) =>
    Array.from({ length: width }, (_, f) => {
      const values = messages.map((m) => m[f]);
      if (values.length === 0) return 0;
      if (op === 'max') return Math.max(...values);
      if (op === 'min') return Math.min(...values);
      const sum = values.reduce((a, b) => a + b, 0);
      return op === 'sum' ? sum : sum / values.length;
    }),
  );
}

describe.each(['sum', 'mean', 'max', 'min'] as const)('updateAll with %s', (op) => {
  const g = randomGraph(12, 40, 5);
  const E = g.numEdges;

  it('of every message', () => {
    const u = rand([12, 3], { lo: 0.5, hi: 2 });
    const v = rand([12, 3], { lo: 0.5, hi: 2 });
    const e = rand([E, 3], { lo: 0.5, hi: 2 });
    const at = (t: Tensor, i: number, f: number): number => t.dataSync()[i * 3 + f];
    const value = {
      u: (x: number, _y: number, _e: number, f: number) => at(u, x, f),
      v: (_x: number, y: number, _e: number, f: number) => at(v, y, f),
      e: (_x: number, _y: number, i: number, f: number) => at(e, i, f),
    };
    const apply = {
      Add: (a: number, b: number) => a + b,
      Sub: (a: number, b: number) => a - b,
      Mul: (a: number, b: number) => a * b,
      Div: (a: number, b: number) => a / b,
    };
    g.srcdata.u = u;
    g.dstdata.v = v;
    g.edata.e = e;
    const run = (message: ReturnType<(typeof fn)['copyU']>): Tensor => {
      g.updateAll(message, fn[op]('m', 'y'));
      return g.dstdata.y;
    };
    close(run(fn.copyU('u', 'm')), plain(g, 3, op, value.u));
    close(run(fn.copyE('e', 'm')), plain(g, 3, op, value.e));
    for (const l of ['u', 'v', 'e'] as const) {
      for (const r of ['u', 'v', 'e'] as const) {
        if (l === r) continue;
        for (const word of ['Add', 'Sub', 'Mul', 'Div'] as const) {
          const name = `${l}${word}${r.toUpperCase()}` as 'uAddV';
          const want = plain(g, 3, op, (x, y, i, f) =>
            apply[word](value[l](x, y, i, f), value[r](x, y, i, f)),
          );
          close(run(fn[name](l, r, 'm')), want);
        }
        const dot = plain(g, 1, op, (x, y, i) =>
          [0, 1, 2].reduce((sum, f) => sum + value[l](x, y, i, f) * value[r](x, y, i, f), 0),
        );
        close(run(fn[`${l}Dot${r.toUpperCase()}` as 'uDotV'](l, r, 'm')), dot);
      }
    }
  });

  it('of a user function', () => {
    g.ndata.h = rand([12, 2]);
    g.edata.w = rand([E, 1]);
    const message = messageHasParameters(
      (edges) => ({ m: mul(edges.src.h.sub(edges.dst.h), edges.data.w) }),
      () => [],
    );
    g.updateAll(message, fn[op]('m', 'y'));
    const h = g.ndata.h.dataSync();
    const w = g.edata.w.dataSync();
    close(
      g.ndata.y,
      plain(g, 2, op, (u, v, e, f) => (h[u * 2 + f] - h[v * 2 + f]) * w[e]),
    );
  });
});

describe('messages', () => {
  it('send the gradient of a maximum to the lowest edge id of equals', () => {
    const g = randomGraph(4, 0);
    expect(g.numEdges).toBe(0);
    const two = HeteroGraph.fromEdges(
      { a: 3, b: 1 },
      {
        'a,to,b': [
          [2, 0, 1],
          [0, 0, 0],
        ],
      },
    ).relation('to');
    const x = fromArray([[5], [5], [5]]).setRequiresGrad();
    two.aggregate(x, { reduce: 'max' }).sum().backward();
    expect(x.grad?.toArray()).toEqual([[0], [0], [1]]);
  });

  it('refuse what does not fit', () => {
    const g = randomGraph(5, 9);
    g.ndata.h = rand([5, 2]);
    g.edata.w = rand([9, 3]);
    expect(() => g.updateAll(fn.copyU('h', 'm'), fn.sum('n', 'y'))).toThrow(/reduction of the message "m"/);
    expect(() => g.updateAll(fn.copyU('k', 'm'), fn.sum('m', 'y'))).toThrow(/"k"\. It has: h/);
    expect(() => g.updateAll(() => ({ m: rand([4, 1]) }), fn.sum('m', 'y'))).toThrow(/9 rows/);
    expect(() => g.updateAll(() => ({ n: rand([9, 1]) }), fn.sum('m', 'y'))).toThrow(/a message "m"/);
    expect(() => g.updateAll(fn.uMulE('h', 'w', 'm'), fn.sum('m', 'y'))).toThrow(/broadcast|shape/i);
    expect(() => g.updateAll(fn.copyU('h', 'm'), { op: 'median' } as never)).toThrow(ValueError);
    expect(() => g.aggregate(rand([4, 2]))).toThrow(/5 rows \(one per source\)/);
    expect(() => g.aggregate(rand([5, 2]), 'mean' as never)).toThrow(
      'expected an object for options, got "mean"',
    );
    expect(() => g.aggregate(rand([5, 2]), { reduc: 'mean' } as never)).toThrow('Did you mean reduce?');
    expect(() => g.aggregate(rand([5, 2]), { reduce: 'max', self: true })).toThrow(/reduce 'sum' or 'mean'/);
    expect(() => g.dotScores(rand([5, 1, 2]), rand([5, 1, 3]))).toThrow(/shape \[5, 1, 2\]/);
    expect(() => bipartiteGraph().aggregate(rand([9, 1]), { self: true })).toThrow(/among the sources/);
  });

  it('score edges by features of width 0 as 0', () => {
    const g = randomGraph(5, 9);
    for (const heads of [1, 2]) {
      const x = rand([5, heads, 0]);
      const zeros = new Array(9 * heads).fill(0);
      expect([...g.dotScores(x, x).dataSync()]).toEqual(zeros);
      expect([...g.additiveScores(x, x, rand([heads, 0]), null, 0.2).dataSync()]).toEqual(zeros);
    }
  });

  it('leave no field behind a local scope, even after an error', () => {
    const g = randomGraph(5, 9);
    g.ndata.h = rand([5, 2]);
    expect(() =>
      g.localScope(() => {
        g.ndata.h = rand([5, 1]);
        g.edata.w = rand([9]);
        throw new Error('stop');
      }),
    ).toThrow('stop');
    expect(g.ndata.h.shape).toEqual([5, 2]);
    expect(Object.keys(g.edata)).toEqual([]);
    expect('h' in g.ndata).toBe(true);
  });

  it('see edges in the order of edge ids, and so does edgeSoftmax', () => {
    const g = Graph.fromEdges([0, 1, 2, 2], [1, 2, 0, 1], { numNodes: 3 });
    g.ndata.h = fromArray([[0], [1], [2]]);
    const mine = fromArray([[10], [20], [30], [40]]);
    const message = (edges: EdgeBatch) => ({ m: edges.src.h.add(mine) });
    g.applyEdges(message);
    expect(g.edata.m.toArray()).toEqual([[10], [21], [32], [42]]);
    g.updateAll(message, fn.sum('m', 'y'));
    expect(g.ndata.y.toArray()).toEqual([[32], [52], [21]]);
    close(edgeSoftmax(g, fromArray([[0], [0], [0], [5]])), [
      1 / (1 + Math.exp(5)),
      1,
      1,
      1 / (1 + Math.exp(-5)),
    ]);
    expect(String(g)).toBe('Graph(3 nodes, 4 edges; ndata: h [3, 1], y [3, 1]; edata: m [4, 1])');
  });

  it('softmax over the edges of each node sums to one', () => {
    const g = randomGraph(12, 40, 5);
    const y = g.aggregateEdges(g.edgeSoftmax(rand([40, 3], { lo: -9, hi: 9 })));
    const degrees = g.inDegrees();
    close(
      y,
      Array.from({ length: 36 }, (_, i) => (degrees[Math.floor(i / 3)] === 0 ? 0 : 1)),
    );
  });

  it('attention equals scores, softmax and a weighted sum', () => {
    const g = randomGraph(12, 40, 5);
    const [v, a, b] = [rand([12, 2, 4]), rand([12, 2]), rand([12, 2])];
    const scores = leakyRelu(g.srcToEdges(a).add(g.dstToEdges(b)), 0.2);
    const want = g.aggregate(v, { weight: g.edgeSoftmax(scores) });
    close(g.attention(v, a, b), want.dataSync());
  });
});

describe('HeteroGraph', () => {
  const make = (): HeteroGraph =>
    HeteroGraph.fromEdges(
      { author: 3, paper: 4 },
      {
        'author,writes,paper': [
          [0, 1, 2, 0],
          [0, 0, 2, 3],
        ],
        'paper,cites,paper': { src: [0, 1], dst: [1, 3], edgeWeight: Float32Array.of(2, 3) },
        'paper,by,author': [[0], [2]],
      },
    );

  it('has types, triples, relation graphs with shared frames', () => {
    const g = make();
    expect(g.nodeTypes).toEqual(['author', 'paper']);
    expect(g.edgeTypes.map((t) => t.join())).toEqual([
      'author,writes,paper',
      'paper,cites,paper',
      'paper,by,author',
    ]);
    expect([g.numNodes(), g.numNodes('paper'), g.numEdges(), g.numEdges('writes')]).toEqual([7, 4, 7, 4]);
    g.nodes('author').h = fromArray([[1], [10], [100]]);
    g.relation('writes').updateAll(fn.copyU('h', 'm'), fn.sum('m', 'h'));
    expect(g.nodes('paper').h.toArray()).toEqual([[11], [0], [100], [1]]);
    expect(g.relation(['paper', 'cites', 'paper']).edgeWeight).toEqual(Float32Array.of(2, 3));
  });

  it('combines relations that reach the same nodes', () => {
    const g = make();
    g.nodes('author').h = fromArray([[1], [10], [100]]);
    g.nodes('paper').h = fromArray([[1], [2], [3], [4]]);
    const step = [fn.copyU('h', 'm'), fn.sum('m', 'y')] as const;
    g.multiUpdateAll({ writes: step, cites: step }, 'sum');
    expect(g.nodes('paper').y.toArray()).toEqual([[11], [1], [100], [3]]);
    g.multiUpdateAll({ writes: step, cites: step }, 'max');
    expect(g.nodes('paper').y.toArray()).toEqual([[11], [1], [100], [2]]);
  });

  it('becomes one graph, and gets reverse relations', () => {
    const { graph, nodeType, edgeType, nodeOffsets } = make().toHomogeneous();
    expect(nodeOffsets).toEqual({ author: 0, paper: 3 });
    expect([...nodeType]).toEqual([0, 0, 0, 1, 1, 1, 1]);
    expect([...edgeType]).toEqual([0, 0, 0, 0, 1, 1, 2]);
    expect([...graph.edges().dst]).toEqual([3, 3, 5, 6, 4, 6, 2]);
    const both = make().withReverseRelations();
    expect(both.edgeTypes.length).toBe(6);
    expect([...both.relation('rev_writes').edges().src]).toEqual([0, 0, 2, 3]);
  });

  it('rejects unknown and ambiguous names', () => {
    const g = make();
    expect(() => g.relation('reads')).toThrow(/known edge type.*Known: author,writes,paper/);
    expect(() => g.nodes('venue')).toThrow(/Known: author, paper/);
    expect(() => HeteroGraph.fromEdges({ a: 1 }, { 'a,b': [[], []] })).toThrow(
      /source type,relation,destination type/,
    );
    expect(() => HeteroGraph.fromEdges({ a: 1 }, { 'a,r,c': [[], []] })).toThrow(/node types of numNodes/);
    const twice = HeteroGraph.fromEdges({ a: 1, b: 1 }, { 'a,r,b': [[], []], 'b,r,a': [[], []] });
    expect(() => twice.relation('r')).toThrow(/unambiguous/);
  });
});

describe('SparseMatrix', () => {
  const dense = fromArray([
    [0, 2, 0],
    [0, 0, 0],
    [1, 0, 3],
  ]);
  const sparse = SparseMatrix.fromDense(dense);

  it('multiplies as the dense one, takes rows, goes back', () => {
    expect(sparse.numEntries).toBe(3);
    const w = rand([3, 5]);
    close(sparse.matmul(w), dense.matmul(w).dataSync());
    expect(sparse.toDense().toArray()).toEqual(dense.toArray());
    expect(sparse.gatherRows([2, 2, 1]).toDense().toArray()).toEqual([
      [1, 0, 3],
      [1, 0, 3],
      [0, 0, 0],
    ]);
    scope(() => sparse.matmul(w));
    close(sparse.matmul(w), dense.matmul(w).dataSync());
  });

  it('drops entries and keeps the expectation', () => {
    const wide = SparseMatrix.fromDense(fromTypedArray(new Float32Array(20000).fill(1), [1, 20000]));
    const values = wide.dropout(0.25).values;
    const zeros = values.filter((v) => v === 0).length;
    expect(Math.abs(zeros / 20000 - 0.25)).toBeLessThan(0.02);
    expect(values.every((v) => v === 0 || Math.abs(v - 4 / 3) < 1e-6)).toBe(true);
  });

  it('keeps what was dropped for the gradient when a scope ends', () => {
    const wide = SparseMatrix.fromDense(fromTypedArray(new Float32Array(20000).fill(1), [20, 1000]));
    const gradientOf = (run: (fn: () => Tensor) => Tensor): number[] => {
      manualSeed(5);
      const w = ones([1000, 2]).setRequiresGrad();
      const y = run(() => wide.dropout(0.5).matmul(w));
      for (let i = 0; i < 20; i++) zeros([20000]);
      return [...(grad(y.sum(), [w])[0] as Tensor).dataSync()];
    };
    expect(gradientOf(scope)).toEqual(gradientOf((fn) => fn()));
  });

  it('rejects what does not fit', () => {
    const make = (values: number[], columns = 3): SparseMatrix =>
      SparseMatrix.fromCsr(Int32Array.of(0, 1, 2), Int32Array.of(0, 2), Float32Array.from(values), [
        2,
        columns,
      ]);
    expect(() => make([1, Number.NaN])).toThrow(/finite values.*NaN in row 1, column 2/);
    expect(() => make([1])).toThrow(/2 values/);
    expect(() => make([1, 1], 2)).toThrow(/ids from 0 to 1/);
    expect(() => sparse.matmul(rand([2, 2]))).toThrow(/\[3, F\]/);
    expect(() => sparse.gatherRows([3])).toThrow(/0 to 2/);
  });
});

it('updateAll computes more fields of the destinations by a third argument', () => {
  const g = randomGraph(6, 20);
  g.ndata.h = rand([6, 3]);
  g.updateAll(fn.copyU('h', 'm'), fn.sum('m', 'total'), ({ data }) => ({ twice: mul(data.total, 2) }));
  close(
    g.ndata.twice,
    [...g.ndata.total.dataSync()].map((x) => 2 * x),
  );
  const relation = 'follows' as never;
  expect(() => g.updateAll(fn.copyU('h', 'm'), fn.sum('m', 'total'), relation)).toThrow(
    'updateAll: expected a function of nodes for apply, got "follows". Choose a relation with relation(name).',
  );
});

/** Structure: what edges become, what is refused, and the graphs that are made from graphs. */
import {
  addSelfLoops,
  Block,
  disjointUnion,
  edgeSubgraph,
  Graph,
  inBlock,
  removeSelfLoops,
  reverse,
  subgraph,
  toUndirected,
} from 'skein/graph';
import { fromArray, fromTypedArray } from 'skein/tensor';
import { ShapeError, ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { bipartiteGraph, randomGraph } from './graphs.js';

describe('rows are named by what they are in the whole graph', () => {
  // Slots: 2→0; 0→1, 0→1; 1→2, 2→2. Node 3 has no edges.
  const graph = Graph.fromEdges([0, 2, 1, 0, 2], [1, 0, 2, 1, 2], { numNodes: 4 });

  it('on a whole graph', () => {
    expect([graph.rowIds('src'), graph.rowIds('dst')]).toEqual([null, null]);
    expect([...(graph.rowIds('positions') ?? [])]).toEqual([1, 0, 3, 2, 4]);
    expect(Graph.fromEdges([1, 0], [0, 1], { numNodes: 2 }).rowIds('positions')).toBe(null);
  });

  it('with added loops, which go by their node', () => {
    expect([...(graph.withSelfLoops().rowIds('positions') ?? [])]).toEqual([1, -1, 0, 3, -2, 2, 4, -4]);
  });

  it('on blocks, with and without loops', () => {
    const block = inBlock(graph, [3, 1]);
    expect([...(block.rowIds('src') ?? [])]).toEqual([3, 1, 0]);
    expect([...(block.rowIds('dst') ?? [])]).toEqual([3, 1]);
    expect([...(block.rowIds('positions') ?? [])]).toEqual([0, 3]);
    expect([...(block.withSelfLoops().rowIds('positions') ?? [])]).toEqual([-4, 0, 3, -2]);
  });
});

describe('Graph rejects', () => {
  const cases: [string, () => unknown, RegExp][] = [
    [
      'no number of nodes',
      () => Graph.fromEdges([0], [1], {} as never),
      /either numNodes, or numSrc and numDst/,
    ],
    ['both kinds of sizes', () => Graph.fromEdges([0], [1], { numNodes: 2, numSrc: 2 }), /either numNodes/],
    [
      'a source out of range',
      () => Graph.fromEdges([0, 7], [1, 1], { numNodes: 3 }),
      /ids from 0 to 2 for src, got "7 at position 1"/,
    ],
    [
      'a negative destination',
      () => Graph.fromEdges([0], [-1], { numNodes: 3 }),
      /dst, got "-1 at position 0"/,
    ],
    ['any edge without nodes', () => Graph.fromEdges([0], [0], { numNodes: 0 }), /no ids/],
    ['lists of different length', () => Graph.fromEdges([0, 1], [1], { numNodes: 3 }), /2 ids \(as src\)/],
    ['a fraction', () => Graph.fromEdges([0.5], [1], { numNodes: 3 }), /whole numbers/],
    ['too few weights', () => Graph.fromEdges([0], [1], { numNodes: 2, edgeWeight: [] }), /1 weights/],
    [
      'a weight that is not finite',
      () => Graph.fromEdges([0], [1], { numNodes: 2, edgeWeight: [Number.NaN] }),
      /finite weights.*NaN at position 0/,
    ],
    [
      'offsets that fall',
      () => Graph.fromCsc(Int32Array.of(0, 2, 1, 2), Int32Array.of(0, 1)),
      /ascending.*1 after 2 at position 2/,
    ],
    [
      'offsets that miss edges',
      () => Graph.fromCsc(Int32Array.of(0, 1), Int32Array.of(0, 0)),
      /offsets from 0 to 2/,
    ],
    [
      'fractional offsets',
      () => Graph.fromCsc(Float64Array.of(0, 0.5, 1), Int32Array.of(0)),
      /ascending whole numbers/,
    ],
    ['a node twice in a subgraph', () => subgraph(randomGraph(5, 9), [1, 1]), /every node once, got 1/],
    ['numNodes of a bipartite graph', () => bipartiteGraph().numNodes, /numSrcNodes and numDstNodes/],
    ['ndata of a bipartite graph', () => bipartiteGraph().ndata, /Use srcdata and dstdata/],
    ['loops of a bipartite graph', () => removeSelfLoops(bipartiteGraph()), /bipartite/],
  ];
  it.each(cases)('%s', (_name, act, message) => {
    expect(act).toThrow(message);
  });

  it('a field with the wrong rows, and a field that was not set', () => {
    const g = randomGraph(5, 9);
    expect(() => {
      g.ndata.h = fromArray([1, 2]);
    }).toThrow(ShapeError);
    expect(() => g.ndata.nothing).toThrow(/"nothing"\. It has no fields yet/);
    expect(() => {
      g.edata.w = 3 as never;
    }).toThrow(ValueError);
  });
});

describe('Graph', () => {
  it('sorts by destination, keeps edge ids, repeats and isolated nodes', () => {
    const g = Graph.fromEdges([3, 0, 1, 0, 2], [1, 2, 1, 2, 2], { numNodes: 5 });
    expect(g.numNodes).toBe(5);
    expect(g.numEdges).toBe(5);
    expect([...g.adjacency.offsets]).toEqual([0, 0, 2, 5, 5, 5]);
    expect([...g.adjacency.indices]).toEqual([3, 1, 0, 0, 2]);
    expect([...(g.adjacency.edgeIds as Int32Array)]).toEqual([0, 2, 1, 3, 4]);
    expect([...g.inDegrees()]).toEqual([0, 2, 3, 0, 0]);
    expect([...g.inDegrees([2, 0, 2])]).toEqual([3, 0, 3]);
    expect([...g.outDegrees(Int32Array.of(1))]).toEqual([g.outDegrees()[1]]);
    expect(() => g.inDegrees([5])).toThrow(
      'inDegrees: expected ids from 0 to 4 for nodes, got "5 at position 0"',
    );
    expect([...g.outDegrees()]).toEqual([2, 1, 1, 1, 0]);
    expect(g.edges()).toEqual({ src: Int32Array.of(3, 0, 1, 0, 2), dst: Int32Array.of(1, 2, 1, 2, 2) });
  });

  it('has the same edges by source', () => {
    const g = randomGraph(40, 300);
    const { offsets, indices, positions } = g.adjacency.out();
    for (let u = 0; u < 40; u++) {
      for (let p = offsets[u]; p < offsets[u + 1]; p++) {
        expect(g.adjacency.indices[positions[p]]).toBe(u);
        expect(g.adjacency.destinations()[positions[p]]).toBe(indices[p]);
        if (p > offsets[u]) expect(positions[p]).toBeGreaterThan(positions[p - 1]);
      }
    }
  });

  it('does not change with the arrays it was made from', () => {
    const src = Int32Array.of(0, 1);
    const g = Graph.fromEdges(src, [1, 1], { numNodes: 2 });
    src[0] = 1;
    expect([...g.adjacency.indices]).toEqual([0, 1]);
  });

  it('works with Float64 offsets as with Int32 ones', () => {
    const g = randomGraph(30, 200);
    const wide = Graph.fromCsc(Float64Array.from(g.adjacency.offsets), g.adjacency.indices);
    const x = fromTypedArray(
      Float32Array.from({ length: 30 * 6 }, (_, i) => Math.sin(i)),
      [30, 6],
    );
    for (const reduce of ['sum', 'mean', 'max', 'min'] as const)
      expect(wide.aggregate(x, { reduce }).dataSync()).toEqual(g.aggregate(x, { reduce }).dataSync());
    const v = x.reshape([30, 2, 3]);
    const s = fromTypedArray(
      Float32Array.from({ length: 60 }, (_, i) => Math.cos(i)),
      [30, 2],
    );
    expect(wide.attention(v, s, s).dataSync()).toEqual(g.attention(v, s, s).dataSync());
  });

  it('takes edges without any, and no nodes at all', () => {
    const none = Graph.fromEdges([], [], { numNodes: 3 });
    expect(none.aggregate(fromArray([[1], [2], [3]])).toArray()).toEqual([[0], [0], [0]]);
    expect(Graph.fromEdges([], [], { numNodes: 0 }).numEdges).toBe(0);
  });

  it('gives edge data in the order of edge ids', () => {
    const g = Graph.fromEdges([2, 0, 1], [1, 2, 0], { numNodes: 3 });
    g.ndata.h = fromArray([[10], [20], [30]]);
    g.applyEdges({ op: 'copy', lhs: { target: 'u', field: 'h' }, rhs: null, out: 'm' });
    expect(g.edata.m.toArray()).toEqual([[30], [10], [20]]);
  });
});

describe('graphs from graphs', () => {
  const g = Graph.fromEdges([0, 1, 1, 2, 3], [1, 1, 0, 0, 2], { numNodes: 5, edgeWeight: [1, 2, 3, 4, 5] });
  const list = (graph: Graph): number[][] => {
    const { src, dst } = graph.edges();
    return [...src].map((u, i) => [u, dst[i], graph.edgeWeight?.[i] ?? 1]);
  };

  it('reverse', () => {
    expect(list(reverse(g))).toEqual([
      [1, 0, 1],
      [1, 1, 2],
      [0, 1, 3],
      [0, 2, 4],
      [2, 3, 5],
    ]);
    const turned = reverse(bipartiteGraph());
    expect([turned.numSrcNodes, turned.numDstNodes]).toEqual([6, 9]);
  });

  it('self loops added, added where missing, removed', () => {
    expect(addSelfLoops(g).numEdges).toBe(10);
    const remaining = addSelfLoops(g, { remaining: true });
    expect(list(remaining)).toEqual([...list(g), [0, 0, 1], [2, 2, 1], [3, 3, 1], [4, 4, 1]]);
    expect([...(remaining.addedLoops as Int32Array)]).toEqual([0, 2, 3, 4]);
    expect(list(removeSelfLoops(g))).toEqual([
      [0, 1, 1],
      [1, 0, 3],
      [2, 0, 4],
      [3, 2, 5],
    ]);
  });

  it('undirected: both directions once, the larger weight', () => {
    const both = toUndirected(g);
    expect(list(both).sort()).toEqual(
      [
        [1, 0, 3],
        [2, 0, 4],
        [0, 1, 3],
        [1, 1, 2],
        [0, 2, 4],
        [3, 2, 5],
        [2, 3, 5],
      ].sort(),
    );
  });

  it('subgraph and edgeSubgraph', () => {
    const part = subgraph(g, [2, 0, 1]);
    expect(list(part.graph)).toEqual([
      [1, 2, 1],
      [2, 2, 2],
      [2, 1, 3],
      [0, 1, 4],
    ]);
    expect([...part.edgeIds]).toEqual([0, 1, 2, 3]);
    expect([...edgeSubgraph(g, (_u, v) => v === 0).edgeIds]).toEqual([2, 3]);
  });

  it('disjointUnion', () => {
    const two = disjointUnion([g, Graph.fromEdges([0], [1], { numNodes: 2 })]);
    expect(two.numNodes).toBe(7);
    expect(list(two).at(-1)).toEqual([5, 6, 1]);
  });

  it('inBlock has all edges into its nodes, which come first', () => {
    const block = inBlock(g, [0, 2]);
    expect([...(block.srcIds as Int32Array)]).toEqual([0, 2, 1, 3]);
    expect([...(block.dstIds as Int32Array)]).toEqual([0, 2]);
    expect([...(block.parentEdgeIds as Int32Array)]).toEqual([2, 3, 4]);
    const x = fromArray([[1], [2], [3], [4], [5]]);
    const rows = fromArray([[1], [3], [2], [4]]);
    const whole = g.aggregate(x, { weight: g.positionWeights('f32') }).toArray() as number[][];
    expect(block.aggregate(rows, { weight: block.positionWeights('f32') }).toArray()).toEqual([
      whole[0],
      whole[2],
    ]);
    expect([...block.normDegrees(true).src]).toEqual([8, 6, 3, 1]);
  });
});

describe('arrays that were given', () => {
  const offsets = (): Int32Array => Int32Array.of(0, 1, 2);
  const indices = (): Int32Array => Int32Array.of(0, 1);
  it.each<[string, () => unknown, RegExp]>([
    [
      'edge ids beyond the edges',
      () => Graph.fromCsc(offsets(), indices(), { edgeIds: Int32Array.of(5, 0) }),
      /edgeIds, got "5 at/,
    ],
    [
      'an edge id twice',
      () => Graph.fromCsc(offsets(), indices(), { edgeIds: Int32Array.of(0, 0) }),
      /every edge id once/,
    ],
    [
      'plain arrays',
      () => Graph.fromCsc([0, 1] as never, [0] as never),
      /Int32Array or a Float64Array for offsets/,
    ],
    ['plain indices', () => Graph.fromCsc(offsets(), [0, 1] as never), /an Int32Array for indices/],
    [
      'weights beyond f32',
      () => Graph.fromEdges([0], [1], { numNodes: 2, edgeWeight: [1e300] }),
      /finite weights/,
    ],
    [
      'no weights',
      () => Graph.fromEdges([0], [1], { numNodes: 2, edgeWeight: null as never }),
      /edgeWeight, got null/,
    ],
    [
      'too few block weights',
      () => Block.fromCsc(offsets(), indices(), 2, { weights: new Float32Array(1) }),
      /2 \(one per edge\) for weights/,
    ],
    [
      'block ids beyond the parent',
      () =>
        Block.fromCsc(offsets(), indices(), 2, { srcIds: Int32Array.of(0, 77), parent: randomGraph(5, 9) }),
      /srcIds, got "77/,
    ],
    ['half a source', () => Block.fromCsc(offsets(), indices(), 2.5), /numSrc/],
    [
      'too few scales',
      () =>
        randomGraph(5, 9).aggregate(fromTypedArray(new Float32Array(5), [5, 1]), {
          srcScale: new Float32Array(1),
        }),
      /5 factors/,
    ],
    [
      'scales of another type',
      () =>
        randomGraph(5, 9).aggregate(fromTypedArray(new Float32Array(5), [5, 1]), {
          dstScale: new Float64Array(5),
        }),
      /Float32Array \(x is f32\)/,
    ],
  ])('are refused: %s', (_name, act, message) => {
    expect(act).toThrow(message);
  });

  it('may change afterwards', () => {
    const [o, i] = [offsets(), indices()];
    const g = Graph.fromCsc(o, i);
    o.fill(2 ** 30);
    i.fill(2 ** 30);
    expect(g.aggregate(fromArray([[1], [2]])).toArray()).toEqual([[1], [2]]);
    expect(Graph.fromCsc(offsets(), i.fill(1), { share: true }).adjacency.indices).toBe(i);
  });
});

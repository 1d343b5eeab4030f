/** Hotness scores: exact small cases, and hit rates against an oracle that knows the batches before they are drawn. */
import { Graph } from 'skein/graph';
import { hotness, NeighborSampler } from 'skein/sample';
import { Random, ShapeError, ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import {
  type DrawGraph,
  degreeHotness,
  hotnessPolicies,
  presampleHotness,
  pushHotness,
} from '#internal/sample/hot/hotness.js';
import { selectHottest } from '#internal/util/hottest.js';

const numNodes = 20_000;
const numEdges = 300_000;
const fanouts = [10, 5];
const batchSize = 256;

/** Edges (row, drawn) as a graph by row. */
function byRow(rows: Int32Array, drawn: Int32Array, n: number): DrawGraph {
  const indptr = new Int32Array(n + 1);
  for (const v of rows) indptr[v + 1]++;
  for (let v = 0; v < n; v++) indptr[v + 1] += indptr[v];
  const next = indptr.slice();
  const indices = new Int32Array(rows.length);
  rows.forEach((v, e) => {
    indices[next[v]++] = drawn[e];
  });
  return { indptr, indices };
}

/** Node numbers that say nothing about degree or age. */
function anyNumbers(random: Random): Int32Array {
  const numbers = Int32Array.from({ length: numNodes }, (_, v) => v);
  for (let i = numNodes - 1; i > 0; i--) {
    const j = random.nextInt(i + 1);
    [numbers[i], numbers[j]] = [numbers[j], numbers[i]];
  }
  return numbers;
}

/** Degrees ∝ rank^−1/2, a power law of exponent 3; every edge in both directions. */
function undirectedPowerLaw(seed: number): DrawGraph {
  const random = new Random(seed);
  const numbers = anyNumbers(random);
  const pick = () => numbers[Math.floor(numNodes * random.nextFloat() ** 2)];
  const rows = new Int32Array(numEdges);
  const drawn = new Int32Array(numEdges);
  for (let e = 0; e < numEdges; e += 2) {
    rows[e] = drawn[e + 1] = pick();
    drawn[e] = rows[e + 1] = pick();
  }
  return byRow(rows, drawn, numNodes);
}

/** Each node cites fifteen earlier ones, half of them at random, half of them as an earlier citation does. */
function directedCitations(seed: number): DrawGraph {
  const random = new Random(seed);
  const numbers = anyNumbers(random);
  const each = numEdges / numNodes;
  const cited = new Int32Array(numEdges);
  for (let e = 0; e < numEdges; e++) {
    const v = Math.floor(e / each);
    const copies = v > 0 && random.nextFloat() < 0.5;
    cited[e] = copies ? cited[random.nextInt(v * each)] : random.nextInt(Math.max(1, v));
  }
  const rows = cited.map((_, e) => numbers[Math.floor(e / each)]);
  return byRow(
    rows,
    cited.map((u) => numbers[u]),
    numNodes,
  );
}

/** Nodes of every batch of `epochs` epochs over `seeds`. */
function* batchesOf(graph: DrawGraph, seeds: Int32Array, epochs: number): Generator<Int32Array> {
  const sampler = new NeighborSampler(
    Graph.fromCsc(graph.indptr as Int32Array, graph.indices as Int32Array),
    {
      fanouts,
      seed: 77,
    },
  );
  for (let epoch = 0; epoch < epochs; epoch++) {
    const random = new Random(5, epoch);
    const order = seeds.slice();
    for (let i = order.length - 1; i > 0; i--) {
      const j = random.nextInt(i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    for (let step = 0; step * batchSize < order.length; step++)
      yield sampler.sample(order.subarray(step * batchSize, (step + 1) * batchSize), { epoch, step }).nodeIds;
  }
}

describe.each([
  ['undirected power-law', undirectedPowerLaw(1)],
  ['directed, citation-like', directedCitations(2)],
])('hit rate at 10 %% cached, %s', (name, graph) => {
  const random = new Random(9);
  const seeds = Int32Array.from({ length: numNodes }, (_, v) => v).filter(() => random.nextFloat() < 0.3);
  const counts = new Float64Array(numNodes);
  for (const ids of batchesOf(graph, seeds, 4)) for (const v of ids) counts[v]++;
  const asked = counts.reduce((a, b) => a + b, 0);
  const rate = (scores: ArrayLike<number>): number =>
    selectHottest(scores, numNodes / 10).reduce((sum, v) => sum + counts[v], 0) / asked;
  const oracle = rate(counts);
  const options = { fanouts, batchSize, seeds };
  const degree = rate(degreeHotness(graph));

  it('push is within 5 % of an oracle, and no worse than degree', () => {
    const push = rate(hotness(graph, options));
    expect(push / oracle).toBeGreaterThan(0.95);
    expect(push).toBeGreaterThanOrEqual(degree);
  });

  it('pre-sampling 20 batches comes near', () => {
    expect(rate(presampleHotness(graph, { ...options, seed: 3 })) / oracle).toBeGreaterThan(0.9);
  });

  it('row degree is no better than chance on a directed graph', () => {
    const row = rate(counts.map((_, v) => graph.indptr[v + 1] - graph.indptr[v]));
    if (name.startsWith('directed')) expect(row).toBeLessThan(0.15);
    else expect(row).toBe(degree);
    expect(degree / oracle).toBeGreaterThan(0.9);
  });
});

describe('push', () => {
  // 0 draws one of 1 and 2, both draw 3.
  const graph: DrawGraph = { indptr: Int32Array.of(0, 2, 3, 4, 4), indices: Int32Array.of(1, 2, 3, 3) };
  const of = (options: object) => [
    ...pushHotness(graph, { seeds: Int32Array.of(0), batchSize: 1, ...options }),
  ];

  it('is the probability to be in a batch', () => {
    expect(of({ fanouts: [1] })).toEqual([1, 0.5, 0.5, 0]);
    expect(of({ fanouts: [-1, -1] })).toEqual([1, 1, 1, 1]);
    // The two draws of 0 are taken as independent: 1 − ½·½.
    expect(of({ fanouts: [1, 1] })).toEqual([1, 0.5, 0.5, 0.75]);
    expect(of({ fanouts: [] })).toEqual([1, 0, 0, 0]);
    expect(of({ fanouts: [2], replace: true })).toEqual([1, 0.75, 0.75, 0]);
  });

  it('starts from batch size / seeds', () => {
    expect(of({ fanouts: [-1], seeds: Int32Array.of(0, 3) })).toEqual([0.5, 0.5, 0.5, 0.5]);
    expect([...pushHotness(graph, { fanouts: [0], batchSize: 2 })]).toEqual([0.5, 0.5, 0.5, 0.5]);
  });

  it('equals the observed frequency if there is one path to every node', () => {
    const tree = byRow(Int32Array.of(0, 0, 0, 1, 1, 2), Int32Array.of(1, 2, 3, 4, 5, 6), 7);
    const counts = presampleHotness(tree, { fanouts: [2, 1], seeds: Int32Array.of(0), batches: 6000 });
    const want = pushHotness(tree, { fanouts: [2, 1], seeds: Int32Array.of(0), batchSize: 1 });
    counts.forEach((count, v) => {
      expect(count / 6000).toBeCloseTo(want[v], 1);
    });
  });

  it('rejects values that are not graphs, seeds out of range and unknown policies', () => {
    expect(() => hotness({ indptr: Int32Array.of(0, 2), indices: Int32Array.of(0) })).toThrow(ShapeError);
    expect(() => of({ seeds: Int32Array.of(4) })).toThrow('ids from 0 to 3 for seeds, got 4');
    expect(() => hotness(graph, { policy: 'luck' as 'push' })).toThrow(
      'expected push, degree, presample for policy, got "luck"',
    );
  });
});

describe('graphs', () => {
  it('are read by incoming edges, as samplers read them', () => {
    const graph = Graph.fromEdges([0, 1, 2, 3], [1, 2, 0, 0], { numNodes: 4 });
    const { offsets, indices } = graph.adjacency;
    for (const policy of hotnessPolicies)
      expect(hotness(graph, { policy })).toEqual(hotness({ indptr: offsets, indices }, { policy }));
  });

  it.each([null, undefined, {}, { indptr: [0, 1], indices: [0] }])('refuses %o', (graph) => {
    expect(() => hotness(graph as never)).toThrow(
      /expected a Graph, a SparseMatrix or \{ indptr, indices \}/,
    );
  });
});

describe('selectHottest', () => {
  it('takes the highest scores, the lowest ids of equal ones, in the order of ids', () => {
    const scores = [1, 5, 5, 0, 5, 2];
    expect([...selectHottest(scores, 0)]).toEqual([]);
    expect([...selectHottest(scores, 2)]).toEqual([1, 2]);
    expect([...selectHottest(scores, 4)]).toEqual([1, 2, 4, 5]);
    expect([...selectHottest(scores, 9)]).toEqual([0, 1, 2, 3, 4, 5]);
    expect([...selectHottest([0, 0, 0], 2)]).toEqual([0, 1]);
    expect(() => selectHottest([1, Number.NaN], 1)).toThrow(ValueError);
  });
});

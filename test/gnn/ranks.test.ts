/** Ranks by tiles against ranks from all scores, with ties on purpose; filters; metrics of known ranks. */
import {
  Comparator,
  CosineCompare,
  countScores,
  DotCompare,
  EdgeFilter,
  L1Compare,
  L2Compare,
  RankAccumulator,
  RankCounter,
  type RankCounts,
  rankingMetrics,
  ranksOf,
  tieRules,
} from 'skein/gnn';
import {
  abs,
  fromTypedArray,
  gatherRows,
  manualSeed,
  neg,
  rand,
  slice,
  sub,
  sum,
  type Tensor,
  tensor,
} from 'skein/tensor';
import { describe, expect, it } from 'vitest';

class Manhattan extends Comparator {
  pairs(a: Tensor, b: Tensor): Tensor {
    return neg(sum(abs(sub(a, b)), 1));
  }
}

const nodes = 130;
const queries = 400;
const width = 4;
const columns = 3;

/** Rows of 0, 1 and 2 only: many scores are equal. */
function table(rows: number, seed: number): Tensor {
  manualSeed(seed);
  const values = rand([rows, width]).dataSync() as Float32Array;
  return fromTypedArray(
    values.map((v) => Math.floor(v * 3)),
    [rows, width],
  );
}

const rows = table(nodes, 1);
const query = table(queries, 2);
const edges = Int32Array.from({ length: columns * 900 }, (_, i) =>
  i % columns === 1 ? (i * 7) % 5 : (Math.imul(i, 2654435761) >>> 5) % nodes,
);
const src = Int32Array.from({ length: queries }, (_, q) => edges[q * columns]);
const relations = Int32Array.from({ length: queries }, (_, q) => edges[q * columns + 1]);
const targetIds = Int32Array.from({ length: queries }, (_, q) => edges[q * columns + 2]);
const filter = new EdgeFilter([edges.subarray(0, 600), edges.subarray(600)], { numNodes: nodes });
const trueTails = filter.lists('src', src, relations);

function counts(comparator: Comparator, filtered: boolean, tile: number): RankCounts {
  const options = { target: gatherRows(rows, targetIds), targetIds, filter: filtered ? trueTails : null };
  const counter = new RankCounter(comparator, query, options);
  for (let first = 0; first < nodes; first += tile)
    counter.add(slice(rows, first, Math.min(nodes, first + tile)), first);
  return counter.counts();
}

/** From all scores, one pair at a time. */
function bruteForce(comparator: Comparator, filtered: boolean): RankCounts {
  const result = {
    greater: new Int32Array(queries),
    equal: new Int32Array(queries),
    candidates: new Int32Array(queries),
  };
  for (let q = 0; q < queries; q++) {
    const repeated = gatherRows(query, new Int32Array(nodes).fill(q));
    const scores = comparator.pairs(repeated, rows).dataSync();
    const listed = new Set(
      filtered ? trueTails.ids.subarray(trueTails.offsets[q], trueTails.offsets[q + 1]) : [],
    );
    for (let v = 0; v < nodes; v++) {
      if (v === targetIds[q] || listed.has(v)) continue;
      result.candidates[q]++;
      if (scores[v] > scores[targetIds[q]]) result.greater[q]++;
      else if (scores[v] === scores[targetIds[q]]) result.equal[q]++;
    }
  }
  return result;
}

describe.each([
  ['dot', new DotCompare()],
  ['l2', new L2Compare()],
  ['l1', new L1Compare()],
  ['cosine', new CosineCompare()],
  ['a comparator of the user', new Manhattan()],
] as const)('%s', (_name, comparator) => {
  it.each([false, true])('counts what all scores say, filtered %s, whatever the tile', (filtered) => {
    const want = bruteForce(comparator, filtered);
    expect(want.equal.reduce((a, b) => a + b)).toBeGreaterThan(queries);
    for (const tile of [nodes, 50, 1]) expect(counts(comparator, filtered, tile)).toEqual(want);
  });
});

it('gives every positive rank 1 when nothing but itself is left', () => {
  const all = Int32Array.from({ length: nodes }, (_, i) => i);
  const options = {
    target: slice(rows, 3, 4),
    targetIds: Int32Array.of(3),
    filter: { offsets: Int32Array.of(0, nodes), ids: all },
  };
  const counter = new RankCounter(new DotCompare(), slice(query, 0, 1), options);
  counter.add(rows, 0);
  expect(counter.counts()).toEqual({
    greater: Int32Array.of(0),
    equal: Int32Array.of(0),
    candidates: Int32Array.of(0),
  });
});

it('lists true ends in both directions, with and without relations', () => {
  const typed = new EdgeFilter([Int32Array.of(0, 0, 2, 0, 1, 3, 0, 0, 1), Int32Array.of(1, 0, 2)], {
    numNodes: 4,
  });
  expect(typed.lists('src', Int32Array.of(0, 0, 3), Int32Array.of(0, 1, 0))).toEqual({
    offsets: Int32Array.of(0, 2, 3, 3),
    ids: Int32Array.of(1, 2, 3),
  });
  expect(typed.lists('dst', Int32Array.of(2), Int32Array.of(0)).ids).toEqual(Int32Array.of(0, 1));
  const plain = new EdgeFilter([Int32Array.of(0, 2, 0, 1, 3, 2)], { numNodes: 4, columns: 2 });
  expect(plain.lists('src', Int32Array.of(0), null).ids).toEqual(Int32Array.of(1, 2));
});

it('ranks scores in hand by each rule', () => {
  const positive = tensor([0.5, 2.5, 5, 7.5, 100, 250]);
  const negative = tensor([
    [0.5, 10],
    [2.5, -1],
    [5, 1],
    [7.5, -5],
    [100, 20],
    [250, 10],
  ]);
  const found = tieRules.map((ties) => [...ranksOf(countScores(positive, negative), ties)]);
  expect(found).toEqual([
    [2, 1, 1, 1, 1, 1],
    [2.5, 1.5, 1.5, 1.5, 1.5, 1.5],
    [3, 2, 2, 2, 2, 2],
  ]);
});

it('reports over all, by direction and by relation', () => {
  const accumulator = new RankAccumulator({ ties: 'pessimistic', hits: [1, 2] });
  const one = { greater: Int32Array.of(0, 1), equal: Int32Array.of(0, 0), candidates: Int32Array.of(10, 10) };
  const two = { greater: Int32Array.of(1, 2), equal: Int32Array.of(0, 1), candidates: Int32Array.of(10, 0) };
  accumulator.add(one, { direction: 'rhs', relations: Int32Array.of(4, 7) });
  accumulator.add(two, { direction: 'lhs', relations: Int32Array.of(4, 4) });
  const report = accumulator.report();
  expect(report).toMatchObject({
    count: 4,
    mr: 9 / 4,
    mrr: (1 + 1 / 2 + 1 / 2 + 1 / 4) / 4,
    'hits@1': 1 / 4,
    'hits@2': 3 / 4,
  });
  expect(report.auc).toBeCloseTo((1 + 0.9 + 0.9 + 1) / 4, 12);
  expect(report.byDirection.rhs?.mr).toBe(1.5);
  expect(report.byRelation.get(7)).toMatchObject({ count: 1, mr: 2 });
  expect([...report.byRelation.keys()]).toEqual([4, 7]);
  expect([...accumulator.ranks()]).toEqual([1, 2, 2, 4]);
  accumulator.clear();
  expect(accumulator.report().count).toBe(0);
});

it('knows the metrics of ranks alone', () => {
  const metrics = rankingMetrics([1, 2, 4]);
  expect(metrics).toMatchObject({ count: 3, mr: 7 / 3, 'hits@1': 1 / 3, 'hits@3': 2 / 3, 'hits@100': 1 });
  expect(metrics.auc).toBeUndefined();
  expect(rankingMetrics([]).mrr).toBeNaN();
});

it('refuses what does not fit, by name', () => {
  const options = { target: query, targetIds: new Int32Array(queries) };
  const make = (extra: object) => () => new RankCounter(new DotCompare(), query, { ...options, ...extra });
  expect(make({ targetIds: new Int32Array(3) })).toThrow(/3 ids/);
  expect(make({ filter: { offsets: Int32Array.of(0), ids: new Int32Array(0) } })).toThrow(/filter/);
  const offsets = new Int32Array(queries + 1).fill(2);
  offsets[0] = 0;
  expect(make({ filter: { offsets, ids: Int32Array.of(4, 3) } })).toThrow(/3 after 4/);
  const counter = make({})();
  counter.add(slice(rows, 0, 10), 0);
  expect(() => counter.add(slice(rows, 0, 10), 5)).toThrow(/not been counted/);
  expect(() => counter.add(tensor([[1, 2]]), 10)).toThrow(/rows of 4/);
  expect(() => ranksOf(counter.counts(), 'fair' as 'realistic')).toThrow(/optimistic/);
  expect(() => new EdgeFilter([Int32Array.of(1, 2)], { numNodes: 3 })).toThrow(/rows of 3/);
  expect(() =>
    new EdgeFilter([Int32Array.of(9, 0, 2)], { numNodes: 3 }).lists('src', Int32Array.of(0), null),
  ).toThrow(/ids from 0 to 2/);
});

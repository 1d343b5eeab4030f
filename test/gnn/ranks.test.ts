/** Ranks by tiles against ranks from all scores, with ties; filters; metrics of known ranks. */
import {
  Comparator,
  CosineCompare,
  DotCompare,
  L1Compare,
  L2Compare,
  ModulusCompare,
  SquaredL2Compare,
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
import { BiasedSquaredL2Compare } from '#internal/gnn/decoders/comparator.js';
import { RankCounter, type RankCounts } from '#internal/gnn/rank-counter.js';
import { FilterIndex } from '#internal/train/tasks/links/filter-index.js';

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
const column = (begin: number, end: number, which: number): Int32Array =>
  Int32Array.from({ length: end - begin }, (_, i) => edges[(begin + i) * columns + which]);
const part = (begin: number, end: number) => ({
  src: column(begin, end, 0),
  relations: column(begin, end, 1),
  dst: column(begin, end, 2),
});
const filter = new FilterIndex([part(0, 200), part(200, 900)], nodes, 5);
const trueTails = filter.lists(src, relations, true);

function counts(comparator: Comparator, filtered: boolean, tile: number): RankCounts {
  const options = { target: gatherRows(rows, targetIds), targetIds, filter: filtered ? trueTails : null };
  const counter = new RankCounter(comparator, query, options);
  for (let first = 0; first < nodes; first += tile)
    counter.add(slice(rows, first, Math.min(nodes, first + tile)), first);
  return counter.counts();
}

/** Counts from all scores, pair by pair. */
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
  ['squaredL2', new SquaredL2Compare()],
  ['modulus', new ModulusCompare()],
  ['biasedSquaredL2', new BiasedSquaredL2Compare()],
  ['a custom comparator', new Manhattan()],
] as const)('%s', (_name, comparator) => {
  it.each([false, true])('equals counts from all scores, filtered %s, for any tile size', (filtered) => {
    const want = bruteForce(comparator, filtered);
    expect(want.equal.reduce((a, b) => a + b)).toBeGreaterThan(queries);
    for (const tile of [nodes, 50, 1]) expect(counts(comparator, filtered, tile)).toEqual(want);
  });
});

it('gives every positive rank 1 if it is the only candidate', () => {
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
  const list = (...ids: number[]) => Int32Array.from(ids);
  const typed = new FilterIndex(
    [
      { src: list(0, 0, 0), relations: list(0, 1, 0), dst: list(2, 3, 1) },
      { src: list(1), relations: list(0), dst: list(2) },
    ],
    4,
    2,
  );
  expect(typed.lists(list(0, 0, 3), list(0, 1, 0), true)).toEqual({
    offsets: list(0, 2, 3, 3),
    ids: list(1, 2, 3),
  });
  expect(typed.lists(list(2), list(0), false).ids).toEqual(list(0, 1));
  expect([typed.has(0, 1, 3), typed.has(0, 0, 3)]).toEqual([true, false]);
  const plain = new FilterIndex([{ src: list(0, 0, 3), dst: list(2, 1, 2) }], 4, 1);
  expect(plain.lists(list(0), null, true).ids).toEqual(list(1, 2));
});

it('rejects mismatched arguments', () => {
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
});

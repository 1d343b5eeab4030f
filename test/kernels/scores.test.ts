/** Scores, the fused softmax loss and ranks: native against the twins, ties on purpose, threads, short and empty chunks. */
import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels, scoreOps } from '#internal/native/index.js';
import {
  expectClose,
  expectSameBytes,
  expectSameBytesForThreads,
  type FloatType,
  floatTypes,
  randomFloats,
  randomIds,
  zeros,
} from './harness.js';

const native = nativeKernels as Kernels;
const implementations = nativeKernels === null ? [referenceKernels] : [referenceKernels, nativeKernels];

interface Sizes {
  readonly edges: number;
  readonly chunks: number;
  readonly n: number;
  readonly width: number;
  readonly rows?: number;
}

/** Off the edges of tiles, panels and bands; chunks that are short, empty, or alone and split into parts. */
const sizes: readonly Sizes[] = [
  { edges: 0, chunks: 1, n: 3, width: 4 },
  { edges: 1, chunks: 1, n: 1, width: 1 },
  { edges: 7, chunks: 3, n: 5, width: 3 },
  { edges: 5, chunks: 4, n: 33, width: 17 },
  { edges: 100, chunks: 7, n: 31, width: 50 },
  { edges: 129, chunks: 2, n: 65, width: 100 },
  { edges: 600, chunks: 1, n: 40, width: 33 },
  { edges: 40, chunks: 2, n: 600, width: 130 },
  { edges: 20, chunks: 1, n: 9, width: 600 },
];

/** Moduli need an even number of columns. */
const even = (op: number, width: number): number =>
  scoreOps[op] === 'modulus' ? 2 * Math.ceil(width / 2) : width;

function inputs(type: FloatType, { edges, chunks, n, width, rows = 37 }: Sizes) {
  return {
    query: randomFloats(type, edges * width, 1, -0.5, 0.5),
    target: randomFloats(type, edges * width, 2, -0.5, 0.5),
    rows: randomFloats(type, rows * width, 3, -0.5, 0.5),
    negatives: randomIds(chunks * n, rows, 4),
    rowCount: rows,
  };
}

function scores(k: Kernels, op: number, type: FloatType, given: Sizes): FloatArray[] {
  const size = { ...given, width: even(op, given.width) };
  const { edges, chunks, n, width } = size;
  const { query, rows, negatives, rowCount } = inputs(type, size);
  const out = zeros(type, edges * n + 1).fill(7);
  k.chunkedScores({ op, query, rows, negatives, out, edges, width, chunks, n });
  const gy = randomFloats(type, edges * n, 5);
  const gQuery = zeros(type, edges * width + 1).fill(7);
  const gRows = zeros(type, rowCount * width).fill(1);
  const sum = zeros(type, rowCount * width).fill(1);
  k.chunkedScoresBackward({
    op,
    gy,
    y: out,
    query,
    rows,
    negatives,
    gQuery,
    gRows,
    edges,
    width,
    rowCount,
    chunks,
    n,
  });
  k.chunkedScoresBackward({
    op,
    gy,
    y: out,
    query,
    rows,
    negatives,
    gQuery: null,
    gRows: sum,
    edges,
    width,
    rowCount,
    chunks,
    n,
  });
  expectSameBytes(sum, gRows);
  return [out, gQuery, gRows];
}

function pairs(k: Kernels, op: number, type: FloatType, count: number, columns: number): FloatArray[] {
  const width = even(op, columns);
  const [a, b] = [randomFloats(type, count * width, 1), randomFloats(type, count * width, 2)];
  const [y, ga, gb] = [count, count * width, count * width].map((size) => zeros(type, size + 1).fill(7));
  k.pairScores(op, a, b, y, count, width);
  k.pairScoresBackward({ op, gy: randomFloats(type, count, 3), y, a, b, ga, gb, pairs: count, width });
  return [y, ga, gb];
}

function softmaxLoss(k: Kernels, type: FloatType, size: Sizes, masked: boolean, spread = 1): FloatArray[] {
  const { edges, chunks, n, width } = size;
  const { query, target, rows, negatives, rowCount } = inputs(type, size);
  for (let i = 0; i < query.length; i++) query[i] *= spread;
  // Edge i loses i % 3 negatives.
  const offsets = new Int32Array(edges + 1);
  const positions: number[] = [];
  for (let i = 0; i < edges; i++) {
    for (let j = 0; j < Math.min(i % 3, n); j++) positions.push((i * 5 + j) % n);
    offsets[i + 1] = positions.length;
  }
  const mask = masked ? [offsets, Int32Array.from(positions)] : [null, null];
  const [loss, alone] = [zeros(type, edges + 1).fill(7), zeros(type, edges + 1).fill(7)];
  const [gQuery, gTarget] = [zeros(type, edges * width + 1).fill(7), zeros(type, edges * width + 1).fill(7)];
  const gRows = zeros(type, rowCount * width).fill(1);
  const run = (to: FloatArray, ...g: (FloatArray | null)[]): void =>
    k.chunkedSoftmaxLoss({
      query,
      target,
      rows,
      negatives,
      maskOffsets: mask[0],
      maskPositions: mask[1],
      loss: to,
      gQuery: g[0],
      gTarget: g[1],
      gRows: g[2],
      edges,
      width,
      rowCount,
      chunks,
      n,
      scale: 0.5,
    });
  run(loss, gQuery, gTarget, gRows);
  run(alone, null, null, null);
  expectSameBytes(alone, loss);
  return [loss, gQuery, gTarget, gRows];
}

/** Rows from a handful of values, so that many scores are equal to the positive's. */
function ranks(k: Kernels, op: number, type: FloatType, nodes: number, queries: number, filtered: boolean) {
  // Two moduli: sums of three would depend on the order of roundings.
  const width = scoreOps[op] === 'modulus' ? 4 : 5;
  const table = randomFloats(type, nodes * width, 3, 0, 3).map(Math.floor) as FloatArray;
  const query = randomFloats(type, queries * width, 4, 0, 3).map(Math.floor) as FloatArray;
  const ids = randomIds(queries, nodes, 5);
  const own = zeros(type, queries * width);
  for (let q = 0; q < queries; q++) own.set(table.subarray(ids[q] * width, (ids[q] + 1) * width), q * width);
  const positive = zeros(type, queries);
  k.pairScores(op, query, own, positive, queries, width);
  const lists = Array.from({ length: queries }, (_, q) =>
    [...randomIds(q % 9, nodes, q + 7), ...(q % 2 ? [ids[q]] : [])].sort((a, b) => a - b),
  );
  const offsets = Int32Array.from([0, ...lists.map((_, q) => lists.slice(0, q + 1).flat().length)]);
  const listed = Int32Array.from(lists.flat());
  const [greater, equal] = [new Int32Array(queries), new Int32Array(queries)];
  for (let first = 0; first < nodes; first += 100) {
    const count = Math.min(100, nodes - first);
    const tile = table.slice(first * width, (first + count) * width);
    const [o, l] = filtered ? [offsets, listed] : [null, null];
    k.rankTile({
      op,
      query,
      positive,
      positiveIds: ids,
      tile,
      first,
      filterOffsets: o,
      filterIds: l,
      greater,
      equal,
      queries,
      width,
      count,
    });
  }
  return [greater, equal];
}

describe.skipIf(nativeKernels === null).each(scoreOps.map((name, op) => [name, op] as const))(
  '%s',
  (_name, op) => {
    it.each(floatTypes)('of pairs: native = reference %s', (type) => {
      for (const count of [0, 1, 7, 8, 9, 600]) {
        for (const width of [1, 7, 16, 100]) {
          const want = pairs(referenceKernels, op, type, count, width);
          for (const [i, got] of pairs(native, op, type, count, width).entries())
            expectClose(got, want[i], type);
        }
      }
    });

    it.each(floatTypes)('of chunks: native = reference %s', (type) => {
      for (const size of sizes) {
        const want = scores(referenceKernels, op, type, size);
        // Gradients of rows sum over hundreds of edges.
        for (const [i, got] of scores(native, op, type, size).entries()) expectClose(got, want[i], type, 20);
      }
    });

    it.each(floatTypes)('has the same bits for a pair alone and in a chunk %s', (type) => {
      const width = even(op, 103);
      const { query, rows, negatives } = inputs(type, { edges: 23, chunks: 1, n: 45, width });
      const out = zeros(type, 23 * 45);
      native.chunkedScores({ op, query, rows, negatives, out, edges: 23, width, chunks: 1, n: 45 });
      for (let j = 0; j < 45; j++) {
        const row = rows.subarray(negatives[j] * width, (negatives[j] + 1) * width);
        const one = zeros(type, 23);
        const repeated = zeros(type, 23 * width);
        for (let i = 0; i < 23; i++) repeated.set(row, i * width);
        native.pairScores(op, query, repeated, one, 23, width);
        expect([...one]).toEqual(Array.from({ length: 23 }, (_, i) => out[i * 45 + j]));
      }
    });

    it.each(floatTypes)('ranks with ties: native = reference %s', (type) => {
      for (const filtered of [false, true]) {
        for (const [nodes, queries] of [
          [1, 3],
          [33, 7],
          [250, 120],
        ]) {
          const want = ranks(referenceKernels, op, type, nodes, queries, filtered);
          expect(ranks(native, op, type, nodes, queries, filtered)).toEqual(want);
        }
      }
    });
  },
);

describe.skipIf(nativeKernels === null)('softmax loss of chunks', () => {
  it.each(floatTypes)('native = reference %s', (type) => {
    for (const size of sizes) {
      for (const masked of [false, true]) {
        const want = softmaxLoss(referenceKernels, type, size, masked);
        for (const [i, got] of softmaxLoss(native, type, size, masked).entries())
          expectClose(got, want[i], type, 5);
      }
    }
  });

  it.each(floatTypes)('of far-spread scores: native = reference %s', (type) => {
    const size = { edges: 50, chunks: 3, n: 40, width: 20 };
    const want = softmaxLoss(referenceKernels, type, size, true, 500);
    for (const [i, got] of softmaxLoss(native, type, size, true, 500).entries())
      expectClose(got, want[i], type, 50);
  });
});

describe('softmax loss of one edge', () => {
  it('is 0 with no gradient when every negative is masked', () => {
    for (const k of implementations) {
      const out = [1, 2, 2, 2].map((size) => new Float32Array(size));
      const one = Float32Array.of(1, 2);
      const [loss, gQuery, gTarget, gRows] = out;
      k.chunkedSoftmaxLoss({
        ...{ query: one, target: one, rows: one, negatives: Int32Array.of(0) },
        ...{ maskOffsets: Int32Array.of(0, 1), maskPositions: Int32Array.of(0) },
        ...{ loss, gQuery, gTarget, gRows },
        ...{ edges: 1, width: 2, rowCount: 1, chunks: 1, n: 1, scale: 1 },
      });
      expect(out.map((a) => a.every((v) => v === 0))).toEqual([true, true, true, true]);
    }
  });
});

it('counts what cannot be compared as higher', () => {
  for (const k of implementations) {
    const [greater, equal] = [new Int32Array(1), new Int32Array(1)];
    const tile = Float32Array.of(1, 2, 3);
    k.rankTile({
      op: 0,
      query: Float32Array.of(NaN),
      positive: Float32Array.of(NaN),
      positiveIds: Int32Array.of(0),
      tile,
      first: 0,
      filterOffsets: null,
      filterIds: null,
      greater,
      equal,
      queries: 1,
      width: 1,
      count: 3,
    });
    expect([greater[0], equal[0]]).toEqual([2, 0]);
  }
});

it('gives the same bytes for any number of threads', () => {
  expectSameBytesForThreads((k) =>
    floatTypes.flatMap((type) => [
      ...scoreOps.flatMap((_, op) => [
        ...scores(k, op, type, { edges: 300, chunks: 4, n: 50, width: 20 }),
        ...scores(k, op, type, { edges: 700, chunks: 1, n: 50, width: 20 }),
        ...pairs(k, op, type, 3000, 9),
        ...ranks(k, op, type, 250, 600, true),
      ]),
      ...softmaxLoss(k, type, { edges: 1000, chunks: 10, n: 100, width: 50, rows: 900 }, true),
      ...softmaxLoss(k, type, { edges: 1000, chunks: 1, n: 100, width: 50, rows: 900 }, false),
    ]),
  );
});

/** Attention of nodes at many times, and features of pairs: native against the twin, edge sizes, threads, independence of rows. */
import { TemporalGraph } from 'skein/graph';
import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
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

interface Case {
  readonly degrees: readonly number[];
  readonly numTimes: number;
  readonly fanout: number;
  readonly heads: number;
  readonly time: number;
  readonly hidden: number;
  readonly slope?: number;
  readonly type?: FloatType;
}

const tableRows = 30;

function attend(kernels: Kernels, c: Case, times = timesOf(c)): FloatArray {
  const { degrees, numTimes, fanout, heads, time, hidden, slope = 1, type = 'f32' } = c;
  const n = degrees.length;
  const offsets = new Int32Array(n + 1);
  for (const [i, degree] of degrees.entries()) offsets[i + 1] = offsets[i] + degree;
  const edges = offsets[n];
  const eventRows = new Int32Array(edges);
  for (let i = 0; i < n; i++)
    for (let p = offsets[i]; p < offsets[i + 1]; p++) eventRows[p] = 3 * (p - offsets[i]) + (i % 3);
  const y = zeros(type, n * times.length * hidden).fill(9);
  kernels.momentAttention({
    fixed: randomFloats(type, edges * heads, 1),
    mapped: randomFloats(type, tableRows * heads * hidden, 2),
    mappedRows: randomIds(edges, tableRows, 3),
    ...{ eventRows, eventTimes: Float64Array.from(eventRows, (row) => 10 * row), offsets },
    query: randomFloats(type, n * heads * time, 4, -0.3, 0.3),
    own: randomFloats(type, n * hidden, 5),
    w: randomFloats(type, time, 6, 0, 1),
    b: randomFloats(type, time, 7, -1, 1),
    merge: randomFloats(type, heads * time * hidden, 8, -0.3, 0.3),
    cutoffs: Int32Array.from(times, (t) => Math.ceil(t / 10)),
    ...{
      times,
      y,
      numNodes: n,
      numTimes: times.length,
      fanout,
      heads,
      dimTime: time,
      hidden,
      scale: 0.7,
      slope,
    },
  });
  expect(numTimes).toBeGreaterThanOrEqual(times.length);
  return y;
}

function timesOf({ numTimes }: Case): Float64Array {
  return Float64Array.from({ length: numTimes }, (_, i) => 7.25 * i);
}

const degrees = [0, 1, 10, 0, 3, 16, 17, 40, 2, 0];
const cases: Record<string, Case> = {
  'no nodes': { degrees: [], numTimes: 3, fanout: 4, heads: 2, time: 4, hidden: 3 },
  'no times': { degrees, numTimes: 0, fanout: 4, heads: 2, time: 4, hidden: 3 },
  'no events': { degrees: [0, 0], numTimes: 3, fanout: 4, heads: 2, time: 4, hidden: 3 },
  'one of each': { degrees, numTimes: 20, fanout: 1, heads: 1, time: 1, hidden: 1 },
  'whole lanes': { degrees, numTimes: 33, fanout: 16, heads: 2, time: 16, hidden: 32, slope: 0.2 },
  'odd sizes, five heads': { degrees, numTimes: 17, fanout: 19, heads: 5, time: 33, hidden: 31 },
  'as in evaluation': { degrees, numTimes: 40, fanout: 10, heads: 2, time: 100, hidden: 100 },
};

describe.skipIf(nativeKernels === null)('momentAttention: native = reference', () => {
  describe.each(Object.entries(cases))('%s', (_, c) => {
    it.each(floatTypes)('%s', (type) =>
      expectClose(attend(native, { ...c, type }), attend(referenceKernels, { ...c, type }), type, 30),
    );
  });

  it('gives the same bytes for every number of threads', () => {
    const c = { degrees: [...degrees, ...degrees], numTimes: 37, fanout: 10, heads: 2, time: 50, hidden: 40 };
    expectSameBytesForThreads((kernels) => [attend(kernels, c)]);
  });

  it('a row has the same bits alone, and whatever times come before it', () => {
    const c: Case = { degrees, numTimes: 40, fanout: 10, heads: 2, time: 100, hidden: 100 };
    const times = timesOf(c);
    const all = attend(native, c);
    for (const order of [[39], [39, 5, 21], [0, 39]]) {
      const some = attend(
        native,
        c,
        Float64Array.from(order, (i) => times[i]),
      );
      for (const [k, i] of order.entries())
        for (let node = 0; node < degrees.length; node++) {
          const row = (y: FloatArray, of: number, at: number): FloatArray =>
            y.slice((node * of + at) * 100, (node * of + at + 1) * 100);
          expectSameBytes(row(some, order.length, k), row(all, 40, i));
        }
    }
  });
});

/** Events with ties of time; node 19 has none. */
function stream(): TemporalGraph {
  const [src, dst] = [randomIds(400, 9, 1), randomIds(400, 9, 2).map((id) => id + 9)];
  const time = Float64Array.from({ length: 400 }, (_, i) => 2.5 * Math.floor(i / 3));
  return new TemporalGraph({ src, dst, time }, { numNodes: 20 });
}

function describePairs(kernels: Kernels, graph: TemporalGraph, perQuery: number, depth = 64): Float32Array {
  const times = Float64Array.of(0, 10, 40, 41, 200, 90, 400);
  const cutoffs = Int32Array.from(times, (t) => graph.cutoff(t));
  const nodes = Int32Array.from({ length: 20 }, (_, i) => i);
  const src = Int32Array.of(0, 1, 2, 3, 4, 19, 9);
  const dst = perQuery === 0 ? nodes : Int32Array.from({ length: 20 * 7 }, (_, i) => (i * 11) % 20);
  const out = new Float32Array(20 * 7 * 22).fill(9);
  const { numEvents, numNodes: _, ...lists } = graph.moment();
  kernels.pairFeatures({
    ...{ ...lists, limit: numEvents, src, times, cutoffs, numQueries: 7 },
    ...{ dst, numDst: 20, perQuery, depth, out },
  });
  return out;
}

describe.skipIf(nativeKernels === null)('pairFeatures: native = reference', () => {
  const graph = stream();
  it.each([
    [0, 64],
    [1, 64],
    [0, 3],
  ])('one list for each query: %i, depth %i', (perQuery, depth) => {
    const want = describePairs(referenceKernels, graph, perQuery, depth);
    expectClose(describePairs(native, graph, perQuery, depth), want, 'f32');
    expect(want.some((value) => value === 1)).toBe(true);
  });

  it('gives the same bytes for every number of threads', () =>
    expectSameBytesForThreads((kernels) => [describePairs(kernels, graph, 0)]));

  it('refuses lists that lead outside', () => {
    const { numEvents, numNodes: _, ...lists } = graph.moment();
    const query = {
      src: Int32Array.of(0),
      times: Float64Array.of(50),
      cutoffs: Int32Array.of(60),
      numQueries: 1,
    };
    const args = { limit: numEvents, ...query, dst: Int32Array.of(9), numDst: 1, perQuery: 0, depth: 4 };
    const out = new Float32Array(22);
    for (const wrong of [
      { starts: lists.starts.map(() => 1 << 30) },
      { rows: lists.rows.map((row, i) => (i === lists.starts[0] - 1 ? row : -5)) },
    ])
      expect(() => native.pairFeatures({ ...lists, ...args, ...wrong, out })).toThrow(/out of range/);
  });
});

import { TemporalGraph } from 'skein/graph';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import { randomStream } from '../graph/temporal-streams.js';
import { edgeSizes, expectSameBytes, expectSameBytesForThreads, randomFloats, randomIds } from './harness.js';

const stream = randomStream(5000, 60, 3);
const graph = new TemporalGraph(stream, { numNodes: 60 });
const weights = Float32Array.from({ length: 5000 }, (_, i) => (i % 3 === 0 ? 0 : (i % 11) + 0.1));

interface HopOptions {
  readonly numDst?: number;
  readonly strategy?: number;
  readonly fanout?: number;
  readonly from?: number;
  readonly to?: number;
  readonly propTime?: boolean;
  readonly unique?: boolean;
  readonly step?: number;
  readonly capacity?: number;
  /** Known cutoffs at the call: none, all, or bounds. */
  readonly known?: 'none' | 'all' | 'bounds';
}

function runHop(kernels: Kernels, options: HopOptions) {
  const { numDst = 40, strategy = 0, fanout = 5, from = Infinity, to = 0, known = 'none' } = options;
  const { propTime = false, unique = true, step = 7 } = options;
  const capacity = options.capacity ?? numDst * (fanout < 0 ? 600 : fanout);
  const { starts, neighbors, rows, time, numEvents } = graph.moment();
  const nodes = new Int32Array(numDst + capacity);
  const times = new Float64Array(numDst + capacity);
  const cutoffs = new Int32Array(numDst + capacity).fill(-1, 0, numDst);
  nodes.set(randomIds(numDst, 60, 5));
  times.set(randomFloats('f64', numDst, 6, -1, stream.time[4999] + 1));
  for (let i = 0; i < numDst && known !== 'none'; i++) {
    const cutoff = graph.cutoff(times[i]);
    cutoffs[i] = known === 'all' ? cutoff : -2 - Math.min(numEvents, cutoff + i);
  }
  const indptr = new Int32Array(numDst + 1);
  const sources = new Int32Array(capacity);
  const eventRows = new Int32Array(capacity);
  const spans = new Float32Array(capacity);
  const count = kernels.sampleTemporalHop({
    starts,
    neighbors,
    rows,
    time,
    limit: numEvents,
    weights: strategy === 2 ? weights : null,
    nodes,
    times,
    cutoffs,
    numDst,
    strategy,
    fanout,
    from,
    to,
    propTime,
    unique,
    key: Uint32Array.of(1, 2, 3, 2 ** 32 - 1),
    step,
    tag: 257,
    indptr,
    sources,
    eventRows,
    spans,
    capacity,
  });
  const edges = count < 0 ? 0 : indptr[numDst];
  const views = [
    ...[nodes, times, cutoffs].map((values) => values.subarray(0, Math.max(0, count))),
    ...[indptr, ...[sources, eventRows, spans].map((values) => values.subarray(0, edges))],
  ];
  return { count, edges, views };
}

const cases: [string, HopOptions][] = [
  ['recent', {}],
  ['recent, all', { fanout: -1 }],
  ['fan-out 0', { fanout: 0 }],
  ['uniform', { strategy: 1 }],
  ['uniform, many', { strategy: 1, fanout: 70 }],
  ['weighted', { strategy: 2 }],
  ['weighted, all', { strategy: 2, fanout: -1 }],
  ['window', { from: 90, to: 30 }],
  ['uniform in a window', { strategy: 1, fanout: 3, from: 400, to: 0 }],
  ['time of the destination', { strategy: 1, propTime: true }],
  ['rows not shared', { unique: false }],
  ['cutoffs known', { known: 'all' }],
  ['cutoffs bounded', { known: 'bounds', strategy: 1 }],
  ['step beyond 2^31', { strategy: 1, step: 2 ** 32 - 1 }],
];

describe('sampleTemporalHop', () => {
  describe.skipIf(nativeKernels === null)('native = reference', () => {
    it.each(cases)('%s', (_, options) => {
      for (const numDst of edgeSizes) {
        const want = runHop(referenceKernels, { ...options, numDst });
        const got = runHop(nativeKernels as Kernels, { ...options, numDst });
        expect(got.count).toBe(want.count);
        for (const [i, view] of got.views.entries()) expectSameBytes(view, want.views[i], `output ${i}`);
      }
    });

    it('gives the same bytes for any number of threads', () => {
      for (const [, options] of cases)
        expectSameBytesForThreads((kernels) => runHop(kernels, { ...options, numDst: 3000 }).views);
    });
  });

  it.each([
    ['reference', referenceKernels],
    ['native', nativeKernels],
  ] as const)('reports the capacity it needs, %s', (_, kernels) => {
    if (kernels === null) return;
    const enough = runHop(kernels, { fanout: -1 });
    const short = runHop(kernels, { fanout: -1, capacity: enough.edges - 1 });
    expect(short.count).toBe(-1 - enough.edges);
    expect(runHop(kernels, { fanout: -1, capacity: enough.edges }).count).toBe(enough.count);
  });

  it('finds the same for every kind of known cutoffs', () => {
    const plain = runHop(referenceKernels, { strategy: 1 });
    for (const known of ['all', 'bounds'] as const)
      expect(runHop(referenceKernels, { strategy: 1, known }).views).toEqual(plain.views);
  });
});

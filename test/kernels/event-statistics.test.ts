/** Running statistics of events: C++ and TypeScript agree, and the number of threads changes nothing. */
import { describe, expect, it } from 'vitest';
import { pairNumbers } from '#internal/native/event-kernels.js';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import { emptyArrays } from '#internal/temporal/statistics/statistics-arrays.js';
import { randomStream } from '../graph/temporal-streams.js';
import { expectClose, expectSameBytes, expectSameBytesForThreads } from './harness.js';

const numNodes = 70;
const { src, dst, time } = randomStream(3000, numNodes, 5, 2);
const numQueries = 100;
const perQuery = 33;

function run(kernels: Kernels, width: number = pairNumbers.all) {
  const arrays = emptyArrays({ nodes: numNodes, pairs: 4096, related: 200_000 });
  const queryBefore = Int32Array.from({ length: numQueries }, (_, q) => 30 * q);
  const out = new Float32Array(numQueries * perQuery * width);
  const count = kernels.eventStatistics({
    ...arrays,
    ...{ numNodes, pairRoom: 4096, slotCount: arrays.pairSlots.length, relatedRoom: 200_000 },
    clock: Float64Array.of(100, 2, 0.5, 0.1, 0.02, 0.001),
    ...{ src, dst, times: time, numEvents: 3000 },
    // Some sources have no past yet.
    ...{ querySrc: Int32Array.from({ length: numQueries }, (_, q) => (q * 11) % numNodes), queryBefore },
    queryTimes: Float64Array.from(queryBefore, (row) => time[row] + 0.25),
    offsets: Int32Array.from({ length: numQueries + 1 }, (_, q) => q * perQuery),
    candidates: Int32Array.from({ length: numQueries * perQuery }, (_, i) => (i * 7) % numNodes),
    numQueries,
    shift: new Float32Array(width).fill(0.1),
    scale: new Float32Array(width).fill(0.05),
    ...{ out, width },
  });
  return { ...arrays, out, count };
}

describe.runIf(nativeKernels !== null)('eventStatistics', () => {
  it('is the same in C++ and TypeScript', () => {
    const [own, twin] = [run(nativeKernels as Kernels), run(referenceKernels)];
    expect(own.count).toBe(3000);
    expect(twin.count).toBe(3000);
    for (const name of ['nodeInts', 'pairInts', 'pairSlots', 'relatedIds', 'totals', 'slots'] as const)
      expectSameBytes(own[name], twin[name], name);
    for (const name of ['nodeTimes', 'pairTimes', 'relatedCounts'] as const)
      expectSameBytes(own[name], twin[name], name);
    expectClose(own.nodeValues, twin.nodeValues, 'f32');
    expectClose(own.pairValues, twin.pairValues, 'f32');
    expectClose(own.out, twin.out, 'f32');
    expect(own.slots.every((slot) => slot === 0)).toBe(true);
    // Every number takes several values.
    const first = own.out.subarray(0, pairNumbers.all);
    const varies = Array.from(first, (value, f) =>
      own.out.some((x, i) => i % pairNumbers.all === f && x !== value),
    );
    expect(varies.indexOf(false)).toBe(-1);
  });

  it('has the same numbers without those of the opposite direction', () => {
    const [all, some] = [
      run(nativeKernels as Kernels).out,
      run(nativeKernels as Kernels, pairNumbers.reverse).out,
    ];
    const begins = all.filter((_, i) => i % pairNumbers.all < pairNumbers.reverse);
    expectSameBytes(some, begins);
  });

  it('has the same bytes for any number of threads', () => {
    expectSameBytesForThreads((kernels) => {
      const { nodeValues, pairValues, out } = run(kernels);
      return [nodeValues, pairValues, out];
    });
  });
});

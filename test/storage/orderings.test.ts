/** Buffer orderings: golden swap counts, every bucket once, one partition at a time, the same plan for the same key. */
import fc from 'fast-check';
import { type EdgeBucketOptions, type EdgeBucketOrdering, planEdgeBuckets } from 'skein/storage';
import { describe, expect, test } from 'vitest';
import { countSwaps } from '#internal/storage/orderings/assign.js';
import { betaSwaps, swapLowerBound } from '#internal/storage/orderings/beta.js';
import type { BufferPlan } from '#internal/storage/orderings/edge-buckets.js';
import { planNodePartitions } from '#internal/storage/orderings/node-partitions.js';

const plan = (ordering: EdgeBucketOrdering, partitions: number, capacity: number, more = {}): BufferPlan =>
  planEdgeBuckets({ ordering, partitions, capacity, seed: 3, epoch: 1, ...more } as EdgeBucketOptions);

/** Every bucket once, in a state that holds both its partitions; states full, without repetition. */
function checkPlan({ states, buckets }: BufferPlan, partitions: number, capacity: number): void {
  const seen = new Int32Array(partitions * partitions);
  expect(buckets.length).toBe(states.length);
  states.forEach((state, s) => {
    expect(new Set(state).size).toBe(Math.min(capacity, partitions));
    expect([...buckets[s]]).toEqual([...buckets[s]].sort((x, y) => x - y));
    for (const bucket of buckets[s]) {
      seen[bucket]++;
      if (state.includes(Math.floor(bucket / partitions)) && state.includes(bucket % partitions)) continue;
      throw new Error(`bucket ${bucket} in state ${state}`);
    }
  });
  expect(seen.every((n) => n === 1)).toBe(true);
}

/** Partitions that stay are in the slot they had. */
function checkSlots(states: readonly Int32Array[]): void {
  expect([...states[0]]).toEqual([...states[0]].sort((x, y) => x - y));
  for (let s = 1; s < states.length; s++) {
    states[s].forEach((k, slot) => {
      const before = states[s - 1].indexOf(k);
      if (before >= 0 && before !== slot) throw new Error(`partition ${k} moved from ${before} to ${slot}`);
    });
  }
}

describe('BETA', () => {
  test.each([
    [4, 2, 5, 5],
    [6, 3, 7, 6],
    [8, 4, 9, 8],
    [16, 4, 42, 38],
    [16, 8, 17, 14],
    [32, 8, 78, 67],
    [64, 16, 150, 127],
    [100, 16, 363, 322],
  ])('%i partitions, %i in memory: %i swaps where at least %i are needed', (p, c, swaps, bound) => {
    expect(betaSwaps(p, c)).toBe(swaps);
    expect(swapLowerBound(p, c)).toBe(bound);
    for (const ordering of ['OLD_BETA', 'NEW_BETA', 'ALL_BETA', 'COMET'] as const) {
      const { states, buckets } = plan(ordering, p, c);
      expect(countSwaps(states)).toBe(swaps);
      // One partition per swap.
      expect(states.length).toBe(swaps + 1);
      checkPlan({ states, buckets }, p, c);
      checkSlots(states);
    }
  });

  test('OLD_BETA trains a bucket as soon as it can, so each new partition brings at least itself', () => {
    const { states, buckets } = plan('OLD_BETA', 8, 3);
    expect(buckets[0].length).toBe(9);
    const first = new Map<number, number>();
    states.forEach((state, s) => {
      for (const a of state) for (const b of state) if (!first.has(a * 8 + b)) first.set(a * 8 + b, s);
    });
    buckets.forEach((list, s) => {
      for (const bucket of list) expect(first.get(bucket)).toBe(s);
    });
  });

  test('NEW_BETA is uniform over the states that hold a bucket', () => {
    // Two partitions stay together for as long as they are both resident: count where their bucket goes.
    const counts = new Map<string, number>();
    for (let epoch = 0; epoch < 3000; epoch++) {
      const { states, buckets } = plan('NEW_BETA', 4, 3, { epoch });
      const holders = states.flatMap((state, s) => (state.includes(0) && state.includes(1) ? [s] : []));
      const chosen = buckets.findIndex((list) => list.includes(1));
      const key = `${holders.indexOf(chosen)}/${holders.length}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const two = [counts.get('0/2') ?? 0, counts.get('1/2') ?? 0];
    expect(two[0] + two[1]).toBeGreaterThan(300);
    // Five standard deviations of a fair coin.
    expect(Math.abs(two[0] - two[1])).toBeLessThan(5 * Math.sqrt(two[0] + two[1]));
  });

  test('ALL_BETA leaves no state idle and spreads the work evenly', () => {
    const load = (ordering: EdgeBucketOrdering): number[] =>
      plan(ordering, 16, 4).buckets.map((list) => list.length);
    expect(Math.min(...load('ALL_BETA'))).toBeGreaterThan(3);
    expect(Math.max(...load('ALL_BETA'))).toBeLessThan(Math.max(...load('OLD_BETA')));
  });
});

describe('COMET', () => {
  test('groups are swapped together and drawn again every epoch', () => {
    const options = { fineToCoarseRatio: 4 };
    const first = plan('COMET', 32, 8, { ...options, epoch: 0 });
    checkPlan(first, 32, 8);
    checkSlots(first.states);
    expect(first.states.length).toBe(betaSwaps(8, 2) + 1);
    expect(countSwaps(first.states)).toBe(4 * betaSwaps(8, 2));
    const sets = (p: BufferPlan): string[] =>
      p.states.map((state) => [...state].sort((a, b) => a - b).join());
    const second = plan('COMET', 32, 8, { ...options, epoch: 1 });
    expect(sets(second)).not.toEqual(sets(first));
    const together = (p: BufferPlan, a: number): string =>
      Array.from({ length: 32 }, (_, b) => p.states.every((s) => s.includes(a) === s.includes(b))).join();
    expect(together(first, 0)).not.toBe(together(second, 0));
  });

  test('cached partitions never leave', () => {
    const { states, buckets } = plan('COMET', 12, 6, { fineToCoarseRatio: 2, cachePartitions: 1 });
    checkPlan({ states, buckets }, 12, 6);
    for (const state of states) expect([...state.slice(0, 2)]).toEqual([0, 1]);
    expect(countSwaps(states)).toBe(2 * betaSwaps(5, 2));
  });

  test('greedy assignment on request', () => {
    const { buckets } = plan('COMET', 8, 4, { randomlyAssign: false });
    expect(buckets[0].length).toBe(16);
  });
});

describe('walks', () => {
  test('Hilbert on 4 partitions with 2 in memory: 9 misses against 5', () => {
    const hilbert = plan('HILBERT', 4, 2);
    checkPlan(hilbert, 4, 2);
    checkSlots(hilbert.states);
    expect(countSwaps(hilbert.states)).toBe(9);
    expect(countSwaps(plan('OLD_BETA', 4, 2).states)).toBe(5);
  });

  test('no walk beats the lower bound', () => {
    for (const ordering of ['SEQUENTIAL', 'HILBERT'] as const) {
      for (const [p, c] of [
        [6, 3],
        [16, 4],
        [13, 5],
      ]) {
        const walked = plan(ordering, p, c);
        checkPlan(walked, p, c);
        expect(countSwaps(walked.states)).toBeGreaterThanOrEqual(betaSwaps(p, c));
      }
    }
  });
});

describe('any sizes', () => {
  const sizes = fc.tuple(fc.integer({ min: 1, max: 14 }), fc.integer({ min: 2, max: 16 }));
  const orderings = fc.constantFrom<EdgeBucketOrdering>(
    ...(['COMET', 'OLD_BETA', 'NEW_BETA', 'ALL_BETA', 'SEQUENTIAL', 'HILBERT'] as const),
  );

  test('every bucket once, and the same plan for the same key', () => {
    fc.assert(
      fc.property(sizes, orderings, fc.nat(1e9), fc.nat(100), ([p, c], ordering, seed, epoch) => {
        const options = { ordering, partitions: p, capacity: c, seed, epoch };
        const made = planEdgeBuckets(options);
        checkPlan(made, p, c);
        checkSlots(made.states);
        expect(planEdgeBuckets(options)).toEqual(made);
        expect(countSwaps(made.states)).toBeGreaterThanOrEqual(swapLowerBound(p, c));
      }),
      { numRuns: 150 },
    );
  });

  test('two-level plans', () => {
    const two = fc.record({
      ratio: fc.integer({ min: 1, max: 4 }),
      groups: fc.integer({ min: 2, max: 8 }),
      places: fc.integer({ min: 2, max: 6 }),
      cache: fc.integer({ min: 0, max: 2 }),
    });
    fc.assert(
      fc.property(two, fc.nat(1e6), ({ ratio, groups, places, cache }, epoch) => {
        const p = (groups + cache) * ratio;
        const c = (places + cache) * ratio;
        const made = plan('COMET', p, c, { epoch, fineToCoarseRatio: ratio, cachePartitions: cache });
        checkPlan(made, p, c);
        checkSlots(made.states);
      }),
      { numRuns: 80 },
    );
  });

  test('everything in memory: one state in order', () => {
    for (const capacity of [5, 7]) {
      const { states, buckets } = plan('COMET', 5, capacity);
      expect(states.map((s) => [...s])).toEqual([[0, 1, 2, 3, 4]]);
      expect([...buckets[0]]).toEqual(Array.from({ length: 25 }, (_, i) => i));
    }
  });
});

describe('CUSTOM', () => {
  const states = [
    [0, 1],
    [0, 2],
    [2, 1],
  ];
  test('covers what the states cover', () => {
    const made = plan('CUSTOM', 3, 2, { states });
    checkPlan(made, 3, 2);
    expect(made.states.map((s) => [...s])).toEqual([
      [0, 1],
      [0, 2],
      [1, 2],
    ]);
    checkPlan(plan('CUSTOM', 3, 2, { states, randomlyAssign: true }), 3, 2);
  });

  test('a pair that never meets, a short state, a wrong or repeated partition', () => {
    expect(() => plan('CUSTOM', 3, 2, { states: states.slice(0, 2) })).toThrow(
      'got none with partitions 1 and 2. Their edges would never be trained',
    );
    expect(() => plan('CUSTOM', 3, 2, { states: [[0]] })).toThrow(
      'expected 2 partitions for states[0], got [0]',
    );
    expect(() => plan('CUSTOM', 3, 2, { states: [[0, 3]] })).toThrow('expected partitions from 0 to 2');
    expect(() => plan('CUSTOM', 3, 2, { states: [[1, 1]] })).toThrow('expected every partition once');
    expect(() => plan('CUSTOM', 3, 2)).toThrow('expected at least one state for states');
  });
});

describe('wrong sizes', () => {
  test('named with what to do', () => {
    expect(() => plan('COMET', 8, 1)).toThrow('use a capacity of at least 2 of the 8');
    expect(() => plan('COMET', 8, 4, { fineToCoarseRatio: 3 })).toThrow(
      'expected a multiple of fineToCoarseRatio 3 for partitions, got 8',
    );
    expect(() => plan('COMET', 8, 4, { fineToCoarseRatio: 4 })).toThrow('two must be free for swaps');
    expect(() => plan('COMET', 8, 4, { cachePartitions: 3 })).toThrow(
      'expected at most 2 for cachePartitions',
    );
    expect(() => plan('BETA' as 'COMET', 8, 4)).toThrow('expected one of COMET, OLD_BETA');
    expect(() => plan('COMET', 0, 4)).toThrow('for partitions, got 0');
  });
});

describe('node classification', () => {
  const options = { partitions: 10, capacity: 4, seed: 5, epoch: 0 } as const;

  test('DISPERSED brings every partition in, one at a time, and uses each training node where it is resident', () => {
    const counts = Array.from({ length: 10 }, (_, k) => k * 7);
    const made = planNodePartitions({ ...options, ordering: 'DISPERSED', trainNodesPerPartition: counts });
    expect(made.states.length).toBe(7);
    expect(countSwaps(made.states)).toBe(6);
    checkSlots(made.states);
    expect(new Set(made.states.flatMap((s) => [...s])).size).toBe(10);
    made.assigned.forEach((list, k) => {
      expect(list.length).toBe(counts[k]);
      for (const s of list) expect(made.states[s]).toContain(k);
    });
    const grouped = planNodePartitions({
      ...options,
      ordering: 'DISPERSED',
      fineToCoarseRatio: 2,
      trainNodesPerPartition: counts,
    });
    expect(grouped.states.length).toBe(4);
  });

  test('SEQUENTIAL keeps the training partitions and changes the rest every epoch', () => {
    const counts = [9, 4, 0, 0, 0, 0, 0, 0, 0, 0];
    const states = (epoch: number): number[] => {
      const made = planNodePartitions({
        ...options,
        epoch,
        ordering: 'SEQUENTIAL',
        trainNodesPerPartition: counts,
      });
      expect(made.states.length).toBe(1);
      expect([...made.assigned[0]]).toEqual(new Array(9).fill(0));
      return [...made.states[0]];
    };
    expect(states(0).slice(0, 2)).toEqual([0, 1]);
    expect(new Set([0, 1, 2, 3, 4].map((epoch) => states(epoch).join())).size).toBeGreaterThan(1);
    expect(states(3)).toEqual(states(3));
  });

  test('refusals', () => {
    const full = new Array(10).fill(1);
    expect(() =>
      planNodePartitions({ ...options, ordering: 'SEQUENTIAL', trainNodesPerPartition: full }),
    ).toThrow(
      'expected training nodes in at most 4 partitions (capacity) for trainNodesPerPartition, got "10 partitions". The SEQUENTIAL ordering keeps them all in memory',
    );
    expect(() =>
      planNodePartitions({
        ...options,
        ordering: 'CUSTOM',
        states: [[0, 1, 2, 3]],
        trainNodesPerPartition: full,
      }),
    ).toThrow('got none with partition 4, which has 1 training nodes');
    expect(() =>
      planNodePartitions({ ...options, ordering: 'DISPERSED', trainNodesPerPartition: [1] }),
    ).toThrow('expected 10 counts for trainNodesPerPartition, got 1');
  });
});

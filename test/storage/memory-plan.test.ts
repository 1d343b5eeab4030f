/**
 * The memory planner: fits the budget, minimises IO, predicts the actual IO, and states the least budget in its error.
 */
import fc from 'fast-check';
import {
  type MemoryPlanOptions,
  PartitionBuffer,
  PartitionLayout,
  planEdgeBuckets,
  planMemory,
} from 'skein/storage';
import { describe, expect, test } from 'vitest';
import { TableFiles } from '#internal/storage/table-files.js';
import { formatBytes } from '#internal/util/size.js';
import { column, scratchFolder } from './tables.js';

const folder = scratchFolder();
const GiB = 2 ** 30;
const table: MemoryPlanOptions = { rows: 5_000_000, rowBytes: 800, edges: 50_000_000, memoryBudget: GiB };

describe('choice', () => {
  test('a table that fits stays in memory', () => {
    const plan = planMemory({ ...table, memoryBudget: 8 * GiB });
    expect(plan.inMemory).toBe(true);
    expect(plan.capacity).toBe(plan.partitions);
    expect(plan.predictedIoBytesPerEpoch).toBe(0);
    expect(plan.report).toContain('everything fits in memory: no IO during an epoch');
    expect(planMemory({ ...table, rows: 1000 }).partitions).toBe(1);
  });

  test('less memory means more IO, never more memory than allowed', () => {
    let before = 0;
    for (const budget of [3.9, 3, 2, 1.5, 1, 0.75, 0.5]) {
      const plan = planMemory({ ...table, memoryBudget: budget * GiB });
      expect(plan.memoryBytes).toBeLessThanOrEqual(budget * GiB);
      expect(plan.predictedIoBytesPerEpoch).toBeGreaterThanOrEqual(before * 0.999);
      before = plan.predictedIoBytesPerEpoch;
    }
  });

  test('fixed partitions: only the capacity is chosen', () => {
    const plan = planMemory({ ...table, partitions: 16, memoryBudget: 1.3 * GiB });
    expect(plan.partitions).toBe(16);
    expect(plan.capacity).toBe(2);
    // Two at a time: every pair of partitions needs a state of its own.
    expect(plan.swaps).toBe((16 * 15) / 2 - 1);
    const grouped = planMemory({ ...table, partitions: 64, fineToCoarseRatio: 4, memoryBudget: 2 * GiB });
    expect(grouped.capacity % 4).toBe(0);
  });

  test('features are read but not written', () => {
    const plan = planMemory({ rows: 5_000_000, rowBytes: 0, fixedRowBytes: 800, memoryBudget: GiB });
    expect(plan.writeBytesPerEpoch).toBe(0);
    expect(plan.readBytesPerEpoch).toBeGreaterThan(plan.tableBytes);
  });

  test('any table and budget: fits and covers, or says what would', () => {
    const any = fc.record({
      rows: fc.integer({ min: 1, max: 20_000_000 }),
      rowBytes: fc.integer({ min: 4, max: 4000 }),
      edges: fc.integer({ min: 0, max: 10_000_000 }),
      memoryBudget: fc.integer({ min: 2 ** 20, max: 2 ** 33 }),
    });
    fc.assert(
      fc.property(any, (options) => {
        let least: number;
        try {
          const plan = planMemory(options);
          expect(plan.memoryBytes).toBeLessThanOrEqual(options.memoryBudget);
          expect(plan.capacity).toBeGreaterThanOrEqual(Math.min(2, plan.partitions));
          expect(new PartitionLayout(options.rows, plan.partitions).partitions).toBe(plan.partitions);
          return;
        } catch (error) {
          least = Number(/\((\d+) bytes\)/.exec((error as Error).message)?.[1]);
        }
        expect(least).toBeGreaterThan(options.memoryBudget);
        expect(planMemory({ ...options, memoryBudget: least }).memoryBytes).toBeLessThanOrEqual(least);
        expect(() => planMemory({ ...options, memoryBudget: least - 1 })).toThrow('expected at least');
      }),
      { numRuns: 200 },
    );
  });
});

test('the prediction is what a buffer really moves', async () => {
  const rows = 40_000;
  const options = { rows, rowBytes: 64, fixedRowBytes: 32, memoryBudget: 3 * 2 ** 20, reservedBytes: 0 };
  const plan = planMemory({ ...options, partitions: 8 });
  expect(plan.inMemory).toBe(false);
  const { partitions, capacity } = plan;
  const files = await TableFiles.create(await folder(), {
    layout: new PartitionLayout(rows, partitions),
    columns: [column('x', 8), column('x.sum', 8), column('features', 8, { writable: false })],
  });
  const buffer = new PartitionBuffer(files, capacity);
  buffer.setOrdering(planEdgeBuckets({ ordering: 'COMET', partitions, capacity, seed: 1, epoch: 0 }).states);
  const { read, written } = files.traffic;
  await buffer.load();
  for (;;) {
    buffer.markDirty();
    if (!buffer.hasSwap()) break;
    await buffer.performNextSwap();
  }
  await buffer.unload();
  expect(files.traffic.read - read).toBe(plan.readBytesPerEpoch);
  expect(files.traffic.written - written).toBe(plan.writeBytesPerEpoch);
});

test('the report reads like this', () => {
  expect(planMemory({ ...table, partitions: 16, memoryBudget: 1.5 * GiB }).report).toBe(
    [
      'table 3.73 GiB: 5,000,000 rows of 800 bytes',
      '16 partitions of 238 MiB, 3 in memory',
      'memory 1.45 GiB of 1.50 GiB: buffer 715 MiB, transfers 493 MiB, edges 20.1 MiB, reserved 256 MiB',
      'IO per epoch 30.8 GiB: 62 swaps, 15.7 GiB read, 15.1 GiB written',
    ].join('\n'),
  );
});

test('refusals', () => {
  expect(() => planMemory({ ...table, memoryBudget: 2 ** 28 })).toThrow(
    /expected at least .* MiB \(\d+ bytes\) for memoryBudget, got "256 MiB". That is 128 partitions with 2 in memory/,
  );
  expect(() => planMemory({ ...table, rows: 0 })).toThrow('for rows, got 0');
  expect(() => planMemory({ ...table, partitions: 10, fineToCoarseRatio: 4 })).toThrow('a multiple of');
  expect(() => planMemory({ ...table, rowBytes: 2 ** 20, partitions: 2, memoryBudget: 2 ** 50 })).toThrow(
    'expected partitions below 4 GiB for a partition',
  );
  expect([0, 1023, 1536, 3 * GiB].map(formatBytes)).toEqual([
    '0 bytes',
    '1023 bytes',
    '1.50 KiB',
    '3.00 GiB',
  ]);
});

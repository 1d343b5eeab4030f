/** Partition arithmetic: exact sizes of the last partitions, every row in one partition. */
import fc from 'fast-check';
import { PartitionLayout } from 'skein/storage';
import { expect, test } from 'vitest';

test('the last partition has the rows that are left', () => {
  const sizes = (layout: PartitionLayout): number[] => [0, 1, 2, 3, 4].map((k) => layout.rowsOf(k));
  expect(sizes(new PartitionLayout(45, 5))).toEqual([9, 9, 9, 9, 9]);
  expect(sizes(new PartitionLayout(46, 5))).toEqual([10, 10, 10, 10, 6]);
  expect(sizes(new PartitionLayout(6, 5))).toEqual([2, 2, 2, 0, 0]);
  expect(sizes(new PartitionLayout(45, 5, { size: 10 }))).toEqual([10, 10, 10, 10, 5]);
  expect(() => new PartitionLayout(45, 5, { size: 8 })).toThrow('from 9 to 45 for size, got 8');
});

test('pieces keep the boundaries of the partitions they belong to', () => {
  const layout = new PartitionLayout(61, 12, { pieces: 3 });
  const all = Array.from({ length: 12 }, (_, k) => k);
  expect(all.map((k) => layout.rowsOf(k))).toEqual([6, 6, 4, 6, 6, 4, 6, 6, 4, 6, 6, 1]);
  const whole = new PartitionLayout(61, 4);
  expect([0, 3, 6, 9].map((k) => layout.start(k))).toEqual([0, 1, 2, 3].map((k) => whole.start(k)));
  expect(layout.span).toBe(whole.size);
  expect(layout.equals(new PartitionLayout(61, 12))).toBe(false);
  expect(layout.equals(new PartitionLayout(61, 12, { pieces: 3 }))).toBe(true);
  expect(() => new PartitionLayout(61, 12, { pieces: 5 })).toThrow('for partitions / pieces, got 2.4');
  expect(() => new PartitionLayout(61, 12, { pieces: 3, size: 7 })).toThrow('for size, got 7');
});

test('every row is in exactly one partition', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.nat(1000), fc.nat(7), (rows, r, more) => {
      const wholes = 1 + (r % rows);
      const pieces = 1 + (more % Math.floor(rows / wholes));
      const layout = new PartitionLayout(rows, wholes * pieces, { pieces });
      for (let k = 0; k < wholes; k++)
        expect(layout.start(k * pieces)).toBe(new PartitionLayout(rows, wholes).start(k));
      let total = 0;
      for (let k = 0; k < layout.partitions; k++) {
        expect(layout.start(k)).toBe(total);
        total += layout.rowsOf(k);
      }
      expect(total).toBe(rows);
      for (let id = 0; id < rows; id++) {
        const k = layout.partitionOf(id);
        expect(id).toBeGreaterThanOrEqual(layout.start(k));
        expect(id).toBeLessThan(layout.start(k) + layout.rowsOf(k));
      }
    }),
  );
});

test('wrong numbers are refused', () => {
  expect(() => new PartitionLayout(0, 1)).toThrow('for rows, got 0');
  expect(() => new PartitionLayout(3, 4)).toThrow('from 1 to 3 for partitions, got 4');
  expect(() => new PartitionLayout(2 ** 31, 4)).toThrow('for rows, got 2147483648');
  const layout = new PartitionLayout(10, 2);
  expect(() => layout.partitionOf(10)).toThrow('for id, got 10');
  expect(() => layout.rowsOf(2)).toThrow('for k, got 2');
});

/** The number of items per call settles at the target time, whatever a call costs before its first item. */
import { expect, test } from 'vitest';
import { SliceSize } from './slice-size.js';

/** Returns the size after many calls that take a + b·n milliseconds. */
function settle(a: number, b: number, most = Number.POSITIVE_INFINITY): number {
  const size = new SliceSize(10);
  for (let i = 0; i < 100; i++) {
    const n = Math.min(size.value, most);
    size.add(n, a + b * n);
  }
  return size.value;
}

test.each([
  ['cheap items', 0, 0.1, 100, 200],
  ['very cheap items', 0, 0.0001, 10_000, 10_000],
  ['items longer than the target', 0, 500, 1, 2],
  ['a call that costs 4 ms before its items', 4, 0.1, 50, 120],
  ['a call that costs more than the target: half of its time is spent on items', 30, 0.1, 200, 600],
])('%s', (_name, a, b, least, most) => {
  expect(settle(a, b)).toBeGreaterThanOrEqual(least);
  expect(settle(a, b)).toBeLessThanOrEqual(most);
});

test('requests of one item do not make the size one', () => {
  expect(settle(20, 0, 1)).toBeGreaterThan(1);
});

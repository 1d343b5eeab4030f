/** The schedule of a partition buffer as cells and as a picture. */
import { expect, it } from 'vitest';
import { scheduleCells, scheduleChart } from './schedule-chart.js';

const schedule = {
  partitions: 3,
  states: [
    [0, 1],
    [0, 2],
    [1, 2],
  ],
  buckets: [[0, 1], [2, 6, 8], [5]],
};

/** The cells of a path, as [x, y]. */
const cellsOf = (path: string): number[][] =>
  [...path.matchAll(/M([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [Math.floor(Number(x)), Math.floor(Number(y))]);

it('separates partitions that stay, that were read, and those of other states', () => {
  const cells = scheduleCells(schedule, 1);
  expect(cellsOf(cells.past)).toEqual([
    [0, 0],
    [0, 1],
  ]);
  expect(cellsOf(cells.now)).toEqual([[1, 0]]);
  expect(cellsOf(cells.admitted)).toEqual([[1, 2]]);
  expect(cellsOf(cells.later)).toEqual([
    [2, 1],
    [2, 2],
  ]);
});

it('places the bucket a·p + b in row a and column b', () => {
  const { buckets } = scheduleCells(schedule, 1);
  expect(cellsOf(buckets?.done ?? '')).toEqual([
    [0, 0],
    [1, 0],
  ]);
  expect(cellsOf(buckets?.now ?? '')).toEqual([
    [2, 0],
    [0, 2],
    [2, 2],
  ]);
  expect(cellsOf(buckets?.later ?? '')).toEqual([[2, 1]]);
  expect(scheduleCells({ ...schedule, buckets: null }, 1).buckets).toBeNull();
});

it('draws the states around the current one of a long epoch', () => {
  const states = Array.from({ length: 1000 }, (_, i) => [i % 4]);
  const { from, count, past, now, admitted } = scheduleCells({ partitions: 4, states, buckets: null }, 700);
  expect([from, count]).toEqual([640, 120]);
  expect(cellsOf(past)).toHaveLength(60);
  expect(cellsOf(now + admitted)).toEqual([[60, 700 % 4]]);
});

it('is a panel with a title', () => {
  const { body, width, height } = scheduleChart({ title: 'State <2> of 3', schedule, state: 1 });
  expect(body).toContain('State &lt;2&gt; of 3');
  expect(body.match(/<path/g)).toHaveLength(7);
  expect(Math.min(width, height)).toBeGreaterThan(200);
});

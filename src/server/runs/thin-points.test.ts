/** Thinned curves: their ends and extremes are those of the whole ones. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { thinPoints } from './thin-points.js';

interface Point {
  readonly epoch: number;
  readonly loss: number;
  readonly rate: number;
}

const values = [({ loss }: Point) => loss, ({ rate }: Point) => rate];

it('keeps short curves as they are', () => {
  const points = [1, 2, 3].map((epoch) => ({ epoch, loss: 1, rate: 1 }));
  expect(thinPoints(points, 3, values)).toBe(points);
});

it('keeps ends, extremes and order, within the number of points', () => {
  const value = fc.oneof(fc.double(), fc.integer({ min: -5, max: 5 }));
  fc.assert(
    fc.property(
      fc.array(fc.record({ loss: value, rate: value }), { minLength: 1, maxLength: 300 }),
      fc.integer({ min: 10, max: 120 }),
      (rows, most) => {
        const points = rows.map((row, i) => ({ epoch: i + 1, ...row }));
        const thin = thinPoints(points, most, values);
        expect(thin.length).toBeLessThanOrEqual(most);
        expect([thin[0], thin.at(-1)]).toEqual([points[0], points.at(-1)]);
        for (let i = 1; i < thin.length; i++) expect(thin[i].epoch).toBeGreaterThan(thin[i - 1].epoch);
        for (const of of values) {
          const finite = (some: readonly Point[]): number[] => some.map(of).filter(Number.isFinite);
          // Not toBe, which tells 0 from -0.
          expect(Math.min(...finite(thin)) === Math.min(...finite(points))).toBe(true);
          expect(Math.max(...finite(thin)) === Math.max(...finite(points))).toBe(true);
        }
      },
    ),
  );
});

it('keeps a peak of one epoch', () => {
  const points = Array.from({ length: 10_000 }, (_, i) => ({ epoch: i, loss: i === 4321 ? 9 : 1, rate: 2 }));
  expect(thinPoints(points, 100, values).filter(({ loss }) => loss === 9)).toEqual([points[4321]]);
});

/** Platt scaling on scores whose probabilities are known. */
import { expect, it } from 'vitest';
import { Random } from '../../util/philox.js';
import { fitPlatt, probabilityOf } from './platt.js';

/** Scores of true and false items with P(true | score) = 1 / (1 + exp(−(slope · score + intercept))). */
function drawn(count: number, slope: number, intercept: number): [number[], number[]] {
  const random = new Random(7);
  const scores: [number[], number[]] = [[], []];
  for (let i = 0; i < count; i++) {
    const score = 20 * random.nextFloat() + 90;
    const isTrue = random.nextFloat() < probabilityOf({ slope, intercept }, score);
    scores[isTrue ? 0 : 1].push(score);
  }
  return scores;
}

it('recovers the function that the items were drawn with', () => {
  const [slope, intercept] = [0.7, -70.5];
  const fitted = fitPlatt(...drawn(40_000, slope, intercept));
  expect(fitted.slope).toBeCloseTo(slope, 1);
  for (const score of [95, 100, 101, 105])
    expect(probabilityOf(fitted, score)).toBeCloseTo(probabilityOf({ slope, intercept }, score), 1.5);
});

it('has a finite slope for separable scores', () => {
  const fitted = fitPlatt([5, 6, 7], [1, 2, 3]);
  expect(Number.isFinite(fitted.slope)).toBe(true);
  expect(probabilityOf(fitted, 7)).toBeGreaterThan(0.7);
  expect(probabilityOf(fitted, 1)).toBeLessThan(0.3);
});

it.each([
  ['scores that are lower for true items', [1, 2, 3], [5, 6, 7]],
  ['equal scores', [2, 2, 2], [2, 2, 2]],
  ['no scores', [], []],
  ['scores that are not finite', [Number.NaN, 5], [Number.POSITIVE_INFINITY, 5]],
])('gives one half for %s', (_what, positive, negative) => {
  expect(probabilityOf(fitPlatt(positive, negative), 4)).toBeCloseTo(0.5, 6);
});

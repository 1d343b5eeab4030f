/** The evaluation of fault campaigns: a failure is a failure, and a try can be repeated. */
import type { Random } from 'skein/util';
import { expect, test } from 'vitest';
import { evaluateTry, Fault, isFailure, refused, survived, type Verdict } from './campaign.js';

const named = (name: string, run: (random: Random) => Promise<Verdict>) => evaluateTry({ name, run }, 7);

test('the error that a try throws is its verdict', async () => {
  expect(isFailure(await named('a', async () => survived))).toBe(false);
  expect(isFailure(await named('a', async () => refused))).toBe(false);
  for (const ending of ['silent', 'crash', 'hang', 'unnamed', 'leftover'] as const) {
    const verdict = await named('a', () => Promise.reject(new Fault(ending, 'seen')));
    expect(verdict).toEqual({ ending, detail: 'seen' });
    expect(isFailure(verdict)).toBe(true);
  }
  const own = await named('a', () => Promise.reject(new TypeError('mistake')));
  expect(own.ending).toBe('crash');
  expect(own.detail).toContain('mistake');
});

test('random numbers depend on seed and name alone', async () => {
  const drawn: number[] = [];
  const draw = async (random: Random): Promise<Verdict> => {
    drawn.push(random.nextInt(1 << 30));
    return survived;
  };
  for (const name of ['a', 'b', 'a']) await named(name, draw);
  await evaluateTry({ name: 'a', run: draw }, 8);
  expect(drawn[2]).toBe(drawn[0]);
  expect(new Set(drawn).size).toBe(3);
});

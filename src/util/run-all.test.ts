import { expect, test } from 'vitest';
import { runAll } from './run-all.js';

test('every step runs in order, and the first error is thrown', async () => {
  const ran: string[] = [];
  const step = (name: string, fails: boolean) => async () => {
    ran.push(name);
    if (fails) throw new Error(name);
  };
  await expect(
    runAll([step('a', false), step('b', true), step('c', true), step('d', false)]),
  ).rejects.toThrow('b');
  expect(ran).toEqual(['a', 'b', 'c', 'd']);
  await runAll([step('e', false)]);
});

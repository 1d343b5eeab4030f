/** Numbers of names: in memory and through files the same. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { SpillingNameNumbers } from './name-numbers.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-names-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function numbered(
  names: readonly string[],
  budget: number,
): Promise<{ ids: number[]; names: string[] }> {
  const numbers = new SpillingNameNumbers(mkdtempSync(join(folder, 'x')), budget);
  for (const name of names) {
    const bytes = Buffer.from(name);
    numbers.add(bytes, 0, bytes.length);
  }
  const { size, idsPath, names: all } = await numbers.finish();
  const found: string[] = [];
  for await (const block of all() ?? []) found.push(...block);
  expect(found.length).toBe(size);
  const bytes = readFileSync(idsPath);
  return { ids: Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readInt32LE(4 * i)), names: found };
}

test('order of first appearance, however little the table may take', async () => {
  let state = 3;
  const draw = (n: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  const names = Array.from({ length: 60_000 }, () => `n${draw(20_000)}${'é'.repeat(draw(3))}`);
  const order = [...new Set(names)];
  const wanted = {
    ids: names.map(
      (
        (at) => (name) =>
          at.get(name) as number
      )(new Map(order.map((n, i) => [n, i]))),
    ),
    names: order,
  };
  expect(await numbered(names, Infinity)).toEqual(wanted);
  // From the first name on, and in the middle.
  for (const budget of [0, 600_000]) expect(await numbered(names, budget)).toEqual(wanted);
});

test('no names', async () => {
  expect(await numbered([], 0)).toEqual({ ids: [], names: [] });
});

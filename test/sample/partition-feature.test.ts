/** Rows assigned to workers by their requests: every row once, balanced, at the right worker. */
import { partitionFeature } from 'skein/sample';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';

const randomProbs = (workers: number, n: number, seed = 1): Float64Array[] => {
  const random = new Random(seed);
  return Array.from({ length: workers }, () => Float64Array.from({ length: n }, () => random.nextFloat()));
};

describe.each([2, 3, 4, 5, 6, 7, 8])('%i workers', (workers) => {
  it.each([
    [1000, 16],
    [1001, 256],
    [5, 2],
    [0, 4],
  ])('%i nodes, %i at a time: every node once, even shares', (n, chunk) => {
    // Extreme probabilities are where torch-quiver loses nodes.
    for (const probs of [
      randomProbs(workers, n),
      Array.from({ length: workers }, () => new Float64Array(n).fill(1)),
    ]) {
      const { parts, book } = partitionFeature(probs, { chunk });
      expect(parts.flatMap((ids) => [...ids]).sort((a, b) => a - b)).toEqual([...Array(n).keys()]);
      parts.forEach((ids, rank) => {
        expect(ids.every((v) => book[v] === rank)).toBe(true);
      });
      const sizes = parts.map((ids) => ids.length);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(chunk);
    }
  });

  it('a node is assigned to the only worker that requests it', () => {
    const n = 40 * workers;
    const probs = Array.from({ length: workers }, (_, rank) =>
      Float64Array.from({ length: n }, (_, v) => (v % workers === rank ? 0.9 : 0)),
    );
    const { book } = partitionFeature(probs, { chunk: 10 });
    expect([...book]).toEqual(Array.from({ length: n }, (_, v) => v % workers));
  });
});

it('caches the rows of others that are requested most', () => {
  const probs = randomProbs(3, 300, 7);
  const { parts, caches } = partitionFeature(probs, { chunk: 8, cacheSize: '1K', rowBytes: 64 });
  caches.forEach((ids, rank) => {
    expect(ids.length).toBe(16);
    const others = [...Array(300).keys()].filter((v) => !parts[rank].includes(v));
    const best = others.sort((a, b) => probs[rank][b] - probs[rank][a]).slice(0, 16);
    expect([...ids]).toEqual(best.sort((a, b) => a - b));
  });
  expect(partitionFeature(probs, { cacheSize: '1G', rowBytes: 1 }).caches.map((ids) => ids.length)).toEqual([
    200, 200, 200,
  ]);
});

it('one worker has all rows, and errors name the cause', () => {
  expect([...partitionFeature(randomProbs(1, 9)).parts[0]]).toEqual([...Array(9).keys()]);
  expect(() => partitionFeature([])).toThrow('the number of workers');
  expect(() => partitionFeature([[1, 1], [1]])).toThrow('expected 2 probabilities for probs[1], got 1');
  expect(() => partitionFeature([[1, Number.NaN]])).toThrow('a finite number for probs[0][1], got NaN');
  expect(() => partitionFeature(null as never)).toThrow('a list of scores per worker');
  expect(() => partitionFeature([[1]], { cacheSize: '1K' })).toThrow(
    'the bytes of a row together with cacheSize',
  );
});

/** Exact search against a naive one: all comparators' layouts, ties, NaN, tiles, candidates, exclusions. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Tile } from '../../storage/trained-rows.js';
import { Random } from '../../util/philox.js';
import { BestScores, type ScoredNode } from './best-scores.js';
import { kernelScorer } from './block-scorer.js';
import { searchRows } from './search-rows.js';

interface Question {
  readonly count: number;
  readonly exclude: ReadonlySet<number>;
}

/** Sorts all scores. */
function naive(
  scoreOf: (id: number) => number,
  ids: Iterable<number>,
  { count, exclude }: Question,
): ScoredNode[] {
  return Array.from(ids)
    .filter((id) => !exclude.has(id))
    .map((id) => ({ id, score: scoreOf(id) }))
    .filter(({ score }) => !Number.isNaN(score))
    .sort((a, b) => (a.score === b.score ? a.id - b.id : a.score < b.score ? 1 : -1))
    .slice(0, count);
}

function withoutMinusZero(nodes: ScoredNode[]): ScoredNode[] {
  return nodes.map(({ id, score }) => ({ id, score: score + 0 }));
}

async function* tilesOf(rows: Float32Array, width: number, sizes: readonly number[]): AsyncGenerator<Tile> {
  let start = 0;
  const total = rows.length / width;
  for (let i = 0; start < total; i++) {
    const count = Math.min(sizes[i % sizes.length], total - start);
    // A tile is valid until the next one only.
    const tile = rows.slice(start * width, (start + count) * width);
    yield { start, count, rows: tile };
    tile.fill(Number.NaN);
    start += count;
  }
}

it('finds what sorting all scores finds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        seed: fc.integer({ min: 0, max: 1e6 }),
        numNodes: fc.integer({ min: 1, max: 700 }),
        width: fc.integer({ min: 1, max: 9 }),
        queries: fc.integer({ min: 1, max: 5 }),
        tile: fc.array(fc.integer({ min: 1, max: 800 }), { minLength: 1, maxLength: 3 }),
        kept: fc.constantFrom(null, 0.02, 0.4, 0.9),
        scaled: fc.boolean(),
        comparison: fc.constantFrom('dot', 'l1', 'l2'),
      }),
      async ({ seed, numNodes, width, queries, tile, kept, scaled, comparison }) => {
        const random = new Random(seed);
        // Few distinct values, so that many scores are equal; sums of small integers are exact.
        const value = (): number => (random.nextFloat() < 0.002 ? Number.NaN : random.nextInt(3) - 1);
        const rows = Float32Array.from({ length: numNodes * width }, value);
        const query = Float32Array.from({ length: queries * width }, () => random.nextInt(3) - 1);
        const all = Array.from({ length: numNodes }, (_, id) => id);
        const among = kept === null ? null : Int32Array.from(all.filter(() => random.nextFloat() < kept));
        const scale = scaled ? Float32Array.from(all, () => random.nextInt(3) - 1) : null;
        const questions = Array.from({ length: queries }, (_, q) => ({
          count: 1 + random.nextInt(q === 0 ? 2 * numNodes : 8),
          exclude: new Set(all.filter(() => random.nextFloat() < 0.1)),
        }));
        const asked = (from: number, count: number) => ({
          rows: query.subarray(from * width, (from + count) * width),
          ...{ count, width },
        });
        // The same questions together, and in two searches of one pass.
        const first = Math.ceil(queries / 2);
        const search = (from: number, count: number) => ({
          scorer: kernelScorer(comparison, asked(from, count)),
          queries: questions.slice(from, from + count),
          ...{ among, scale },
        });
        const parts =
          first < queries ? [search(0, first), search(first, queries - first)] : [search(0, first)];
        const [together] = await searchRows(tilesOf(rows, width, tile), width, [search(0, queries)]);
        const apart = await searchRows(tilesOf(rows, width, tile), width, parts);
        const scoreOf = (q: number) => (id: number) => {
          let total = 0;
          for (let c = 0; c < width; c++) {
            const [a, b] = [query[q * width + c], rows[id * width + c]];
            total += comparison === 'dot' ? a * b : comparison === 'l1' ? -Math.abs(a - b) : (a - b) ** 2;
          }
          const score = comparison === 'l2' ? -Math.sqrt(Math.max(total, 1e-8)) : total;
          return Math.fround(score) * (scale === null ? 1 : scale[id]) + 0;
        };
        const wanted = questions.map((question, q) => naive(scoreOf(q), among ?? all, question));
        expect(together.map(withoutMinusZero)).toEqual(wanted);
        expect(apart.flat().map(withoutMinusZero)).toEqual(wanted);
      },
    ),
    { numRuns: 150 },
  );
});

it('searches more rows than a block, with candidates in spans and scattered', async () => {
  const random = new Random(3);
  const numNodes = 200_000;
  const rows = Float32Array.from({ length: numNodes * 2 }, () => random.nextInt(100));
  const query = Float32Array.of(1, 2);
  const spread = Int32Array.from({ length: 3_000 }, (_, i) => 40 * i);
  const span = Int32Array.from({ length: 70_001 }, (_, i) => 125_000 + i);
  const among = Int32Array.from([...spread, ...span]);
  const questions = [{ count: 1000, exclude: new Set([125_003]) }];
  const scorer = kernelScorer('dot', { rows: query, count: 1, width: 2 });
  const scoreOf = (id: number): number => rows[2 * id] + 2 * rows[2 * id + 1];
  for (const [list, ids] of [
    [null, Array.from({ length: numNodes }, (_, id) => id)],
    [among, among],
  ] as const) {
    const tiles = tilesOf(rows, 2, [numNodes]);
    const [[found]] = await searchRows(tiles, 2, [{ scorer, queries: questions, among: list, scale: null }]);
    expect(found).toEqual(naive(scoreOf, ids, questions[0]));
  }
});

it('keeps scores of minus infinity, and none that are NaN', () => {
  const best = new BestScores([{ count: 3 }]);
  const block = { first: 0, count: 3, ids: null, isGathered: false };
  const scores = Float32Array.of(Number.NaN, Number.NEGATIVE_INFINITY, 1);
  best.offer({ scores, rowStride: 1, queryStride: 1 }, block);
  expect(best.results()).toEqual([
    [
      { id: 2, score: 1 },
      { id: 1, score: Number.NEGATIVE_INFINITY },
    ],
  ]);
});

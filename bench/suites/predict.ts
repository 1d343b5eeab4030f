/** Questions to a trained model: the best rows of a table of a million nodes, one question and several at once. */
import { BestScores } from '#internal/predict/search/best-scores.js';
import { kernelScorer } from '#internal/predict/search/block-scorer.js';
import { searchRows } from '#internal/predict/search/search-rows.js';
import type { Tile } from '#internal/storage/trained-rows.js';
import { figures, floats } from '../inputs.js';
import type { Case, Suite } from '../suite.js';

const nodes = 1_000_000;
const width = 128;
const best = 10;

/** The ten best rows of each query, by dot products, from first to last. */
const rankCase = (queries: number): Case => ({
  name: `rank_1m_128_x${queries}`,
  peer: `rank_1m_128_x${queries}`,
  bytes: 4 * nodes * width,
  limit: 'copy',
  items: { count: queries, unit: 'questions' },
  long: true,
  ours() {
    const rows = floats(1, [nodes, width]).dataSync() as Float32Array;
    const asked = floats(2, [queries, width]).dataSync() as Float32Array;
    const scorer = kernelScorer('dot', { rows: asked, count: queries, width });
    const options = Array.from({ length: queries }, () => ({ count: best }));
    async function* tiles(): AsyncGenerator<Tile> {
      yield { start: 0, count: nodes, rows };
    }
    let scores: number[] = [];
    return {
      async run() {
        const search = { scorer, queries: options, among: null, scale: null };
        const [found] = await searchRows(tiles(), width, [search]);
        scores = found.flatMap((list) => list.map(({ score }) => score));
      },
      check: () => figures('scores', scores),
    };
  },
});

/** The selection alone: scores of 16 queries that have been computed. */
const selectCase: Case = {
  name: 'select_1m_x16',
  peer: 'select_1m_x16',
  bytes: 4 * nodes * 16,
  limit: 'copy',
  ours() {
    const scores = floats(3, [nodes, 16]).dataSync() as Float32Array;
    let found: number[] = [];
    return {
      run() {
        const heaps = new BestScores(Array.from({ length: 16 }, () => ({ count: best })));
        const block = { first: 0, count: nodes, ids: null, isGathered: false };
        heaps.offer({ scores, rowStride: 16, queryStride: 1 }, block);
        found = heaps.results().flatMap((list) => list.map(({ score }) => score));
      },
      check: () => figures('scores', found),
    };
  },
};

export const predictSuite: Suite = {
  name: 'predict',
  cases: [...[1, 16, 64].map(rankCase), selectCase],
};

/**
 * Scores of queries against a block of rows. Dot products are one matrix product, whose left factor is the block as it is in
 * memory; other comparators use the kernel of scores; custom comparators and decoders score pairs. A score has the bits that
 * `scoreEdges` gives the same edge.
 */
import type { EdgeDecoder } from '../../gnn/index.js';
import { kernels, type ScoreOp, scoreCode } from '../../native/index.js';
import { fromTypedArray, gatherRows, noGrad, scope } from '../../tensor/index.js';
import type { BlockScores } from './best-scores.js';
import { scorePairs } from './score-pairs.js';

export interface BlockScorer {
  /** Rows per block. */
  readonly blockRows: number;
  /** Scores `count` rows; the result is valid until the next call. */
  score(rows: Float32Array, count: number): BlockScores;
}

/** Queries [count, width]. */
export interface QueryVectors {
  readonly rows: Float32Array;
  readonly count: number;
  readonly width: number;
}

/** Number of scores of a block: they stay in a core's cache until they are read. */
const scoresAtOnce = 65536;

function rowsAtOnce(queries: number): number {
  return Math.max(256, Math.floor(scoresAtOnce / queries));
}

/** Returns a scorer by a comparison of the kernels, which are all symmetric: the block takes the part of the queries. */
export function kernelScorer(
  comparison: ScoreOp,
  { rows: query, count: n, width }: QueryVectors,
): BlockScorer {
  const blockRows = rowsAtOnce(n);
  const scores = new Float32Array(blockRows * n);
  const all = Int32Array.from({ length: n }, (_, i) => i);
  const result: BlockScores = { scores, rowStride: n, queryStride: 1 };
  const product = (rows: Float32Array, count: number): void =>
    kernels().gemm({
      ...{ a: rows, b: query, bias: null, c: scores, m: count, n, k: width },
      ...{ transA: false, transB: true, accumulate: false },
    });
  const compare = (rows: Float32Array, count: number): void =>
    kernels().chunkedScores({
      ...{ op: scoreCode[comparison], query: rows, rows: query, negatives: all, out: scores },
      ...{ edges: count, width, chunks: 1, n },
    });
  const fill = comparison === 'dot' ? product : compare;
  return {
    blockRows,
    score: (rows, count) => {
      fill(rows, count);
      return result;
    },
  };
}

/** Returns a scorer by a custom comparator. */
export function comparatorScorer(
  { comparator }: EdgeDecoder,
  { rows: query, count: queries, width }: QueryVectors,
): BlockScorer {
  return {
    blockRows: 1024,
    score: (rows, count) => {
      const scores = noGrad(() =>
        scope(() => {
          const ids = Int32Array.from({ length: count }, (_, i) => i);
          const [asked, block] = [
            fromTypedArray(query, [queries, width]),
            fromTypedArray(rows.subarray(0, count * width), [count, width]),
          ];
          return comparator.chunks(asked, block, ids, 1).dataSync().slice() as Float32Array;
        }),
      );
      return { scores, rowStride: 1, queryStride: count };
    },
  };
}

export interface PairQuestions {
  /** Rows of the known ends. */
  readonly own: QueryVectors;
  /** One per question; null if edges have none. */
  readonly relations: Int32Array | null;
  readonly want: 'tail' | 'head';
}

/** Returns a scorer of edges pair by pair: for custom decoders, and for sources that a decoder predicts by their edges only. */
export function pairScorer(
  decoder: EdgeDecoder,
  { own: { rows: ends, count: queries, width }, relations, want }: PairQuestions,
): BlockScorer {
  return {
    blockRows: 1024,
    score: (rows, count) => {
      const scores = new Float32Array(queries * count);
      for (let q = 0; q < queries; q++)
        noGrad(() =>
          scope(() => {
            const end = fromTypedArray(ends.subarray(q * width, (q + 1) * width), [1, width]);
            const repeated = gatherRows(end, new Int32Array(count));
            const block = fromTypedArray(rows.subarray(0, count * width), [count, width]);
            const [src, dst] = want === 'tail' ? [repeated, block] : [block, repeated];
            const kinds = relations === null ? null : new Int32Array(count).fill(relations[q]);
            scores.set(
              scorePairs(decoder, { src, dst, relations: kinds, rows: block }).dataSync(),
              q * count,
            );
          }),
        );
      return { scores, rowStride: 1, queryStride: count };
    },
  };
}

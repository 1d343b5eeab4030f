/** Queries against all rows: every kind, with and without bias, dropout and label smoothing. */

import { type QueryLossOptions, queryLoss } from '#internal/gnn/ops/query-loss.js';
import type { QueryKind } from '#internal/native/index.js';
import { input, makeCases, type OpCase } from '../case.js';

const small = { lo: -0.7, hi: 0.7 };
const key = Uint32Array.of(3, 1, 4, 1);

/** Options for `queries` queries and `count` rows: lists of 0 to 3 answers, of which some occur twice. */
export function queryOptions(
  kind: QueryKind,
  queries: number,
  count: number,
  smooth = false,
): QueryLossOptions {
  const answers = listsOf(queries, (i) =>
    Array.from({ length: i % 4 }, (_, k) => (3 * i + k * (i % 3)) % count),
  );
  const known = listsOf(queries, (i) => {
    const own = answers.ids.subarray(answers.offsets[i], answers.offsets[i + 1]);
    return [...new Set([...own, i % count, (5 * i + 2) % count])].sort((a, b) => a - b);
  });
  const weights = (from: number, step: number): Float64Array =>
    Float64Array.from({ length: queries }, (_, i) => from + step * (i % 5));
  return {
    kind,
    answers,
    known,
    omega: weights(0.5, 0.25),
    tau: weights(0.125, 0.125),
    sigma: smooth ? weights(0.03125, 0.015625) : new Float64Array(queries),
    offset: kind === 'bce' ? -0.5 : 0,
  };
}

function listsOf(queries: number, list: (i: number) => number[]): { offsets: Int32Array; ids: Int32Array } {
  const all = Array.from({ length: queries }, (_, i) => list(i));
  const offsets = new Int32Array(queries + 1);
  for (const [i, { length }] of all.entries()) offsets[i + 1] = offsets[i] + length;
  return { offsets, ids: Int32Array.from(all.flat()) };
}

export const queryLossCases: OpCase[] = (['softmax', 'masked_softmax', 'bce', 'squares'] as const).flatMap(
  (kind) => [
    ...makeCases(
      'queryLoss',
      (q, table) => queryLoss(q, table, queryOptions(kind, q.shape[0], table.shape[0])),
      {
        [`${kind}, 7 queries, 11 rows`]: [input([7, 9]), input([11, 9])],
        [`${kind}, width 1, 1 row`]: [input([3, 1]), input([1, 1])],
        [`${kind}, no queries`]: [input([0, 4]), input([11, 4])],
      },
    ),
    ...makeCases(
      'queryLoss',
      (q, table, bias) => queryLoss(q, table, { ...queryOptions(kind, 7, 11, true), bias }),
      { [`${kind}, bias, smoothing`]: [input([7, 9]), input([11, 9]), input([11])] },
    ),
    ...makeCases(
      'queryLoss',
      (q, table, bias) =>
        queryLoss(q, table, { ...queryOptions(kind, 7, 11), bias, dropout: { p: 0.4, key } }),
      { [`${kind}, bias, dropout`]: [input([7, 9]), input([11, 9]), input([11])] },
    ),
    ...makeCases(
      'queryLoss',
      (q, table) => queryLoss(q, table, { ...queryOptions(kind, 60, 300, true), dropout: { p: 0.25, key } }),
      { [`${kind}, 60 queries, 300 rows`]: [input([60, 20], small), input([300, 20], small)] },
      { loose: [10, 'sums over 18,000 scores'] },
    ),
  ],
);

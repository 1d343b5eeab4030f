/** The loss of queries against all rows of a table: cross entropy of the softmax over the scores of a query, at its answers. */
import { concat, gatherRows, type Tensor } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import type { IdLists } from '../ops/id-lists.js';
import { queryLoss } from '../ops/query-loss.js';
import type { EdgeDecoder } from './edge-decoder.js';
import type { LossFunction } from './link-losses.js';
import type { QueryRows } from './query-rows.js';
import type { Regularizer } from './regularizer.js';

export interface QueryLossOptions {
  readonly loss: LossFunction;
  readonly regularizer?: Regularizer | null;
  /** Each query counts once, whatever the number of its answers (K_VS_ALL); default: each answer counts once. */
  readonly wholeQueries?: boolean;
}

/**
 * Returns the loss of a batch: with SUM the sum over its answers (or queries, with `wholeQueries`), in both directions; with
 * MEAN their mean.
 */
export function queryLossOf(
  decoder: EdgeDecoder,
  table: Tensor,
  queries: readonly QueryRows[],
  { loss, wholeQueries = false }: QueryLossOptions,
): Tensor {
  if (queries.length === 0) throw new StateError('queryLossOf: expected at least one query, got none.');
  // Both directions in one call: it writes the gradient of the table once.
  const rows = queries.map(({ entities, relations, direction }) =>
    decoder.operator.apply(
      gatherRows(table, entities, { sparse: true }),
      decoder.relationRows(relations, direction),
    ),
  );
  const answers = joinLists(queries.map((side) => side.answers));
  const known = queries.flatMap((side) => side.known ?? []);
  const count = answers.offsets.length - 1;
  const sizes = Float32Array.from({ length: count }, (_, i) => answers.offsets[i + 1] - answers.offsets[i]);
  const total = wholeQueries ? count : answers.ids.length;
  const scale = loss.reduction === 'MEAN' ? 1 / Math.max(1, total) : 1;
  return queryLoss(rows.length === 1 ? rows[0] : concat(rows, 0), table, {
    kind: known.length > 0 ? 'masked_softmax' : 'softmax',
    answers,
    known: known.length > 0 ? joinLists(known) : null,
    omega: sizes.map((size) => scale * (wholeQueries ? 1 : size)),
    tau: sizes.map((size) => scale * (wholeQueries ? 1 / size : 1)),
    sigma: new Float32Array(count),
  });
}

function joinLists(lists: readonly IdLists[]): IdLists {
  if (lists.length === 1) return lists[0];
  const queries = lists.reduce((sum, { offsets }) => sum + offsets.length - 1, 0);
  const offsets = new Int32Array(queries + 1);
  const ids = new Int32Array(lists.reduce((sum, list) => sum + list.ids.length, 0));
  let [row, at] = [0, 0];
  for (const list of lists) {
    ids.set(list.ids, at);
    for (let i = 1; i < list.offsets.length; i++) offsets[++row] = at + list.offsets[i];
    at += list.ids.length;
  }
  return { offsets, ids };
}

/**
 * The loss of queries against all rows of a table: cross entropy of the softmax over the scores of a query, at its
 * answers.
 */
import {
  add,
  fromTypedArray,
  gatherRows,
  logSoftmax,
  matmul,
  mul,
  reshape,
  sum,
  type Tensor,
  transpose,
} from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
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
  const count = (rows: QueryRows): number => (wholeQueries ? rows.entities.length : rows.answers.ids.length);
  const total = queries.reduce((all, rows) => all + count(rows), 0);
  const scale = loss.reduction === 'MEAN' ? 1 / Math.max(1, total) : 1;
  const losses = queries.map((rows) => sideLoss(decoder, table, rows, wholeQueries));
  if (losses.length === 0) throw new StateError('queryLossOf: expected at least one query, got none.');
  return mul(
    losses.reduce((a, b) => add(a, b)),
    -scale,
  );
}

/** Returns the sum of the logarithms of the answers' probabilities. */
function sideLoss(decoder: EdgeDecoder, table: Tensor, rows: QueryRows, wholeQueries: boolean): Tensor {
  const { entities, relations, direction, answers } = rows;
  const ends = gatherRows(table, entities, { sparse: true });
  const query = decoder.operator.apply(ends, decoder.relationRows(relations, direction));
  const chances = logSoftmax(matmul(query, transpose(table)), 1);
  const [count, width] = chances.shape;
  const positions = new Int32Array(answers.ids.length);
  const weights = new Float32Array(positions.length).fill(1);
  for (let i = 0; i < count; i++) {
    const [first, end] = [answers.offsets[i], answers.offsets[i + 1]];
    for (let k = first; k < end; k++) {
      positions[k] = i * width + answers.ids[k];
      if (wholeQueries) weights[k] = 1 / (end - first);
    }
  }
  const picked = gatherRows(reshape(chances, [count * width]), positions);
  return sum(mul(picked, fromTypedArray(weights)));
}

/**
 * Relation prediction as an auxiliary objective (Chen, Minervini, Riedel and Stenetorp, "Relation prediction as an auxiliary
 * training objective for improving multi-relational graph representations", 2021): the relation of every directed example
 * competes with the rows of both tables of relations, or of the only one.
 */
import { concat, gatherRows, type Tensor } from '../../tensor/index.js';
import { concatInt32 } from '../../util/arrays.js';
import { expected, ValueError } from '../../util/errors.js';
import { queryLoss } from '../ops/query-loss.js';
import type { EdgeDecoder } from './edge-decoder.js';
import { type DirectedExamples, eachExample } from './embedding-penalty.js';
import type { RowUse, StepDropout } from './step-dropout.js';

export interface RelationLossOptions {
  readonly scale: number;
  readonly dropout: StepDropout;
  /** The number of each example of a direction in the batch of all workers (default 0, 1, 2, …). */
  readonly ids?: Int32Array | undefined;
}

/** Returns scale · Σ over the examples of the cross entropy of their relation; null without examples. */
export function relationLoss(
  decoder: EdgeDecoder,
  table: Tensor,
  examples: readonly DirectedExamples[],
  how: RelationLossOptions,
): Tensor | null {
  const { scale, dropout } = how;
  const { relations, inverseRelations } = decoder;
  if (relations === null) throw new ValueError(noRelations(decoder, 'no relations'));
  const candidates = inverseRelations === null ? relations : concat([relations, inverseRelations]);
  const queries: Tensor[] = [];
  const answers: Int32Array[] = [];
  for (const list of examples) {
    if (list.predicted.length === 0) continue;
    queries.push(relationQueries(decoder, table, list, how));
    const second = list.direction === 'lhs' && inverseRelations !== null ? relations.shape[0] : 0;
    answers.push(eachExample(list, list.relations as Int32Array).map((id) => second + id));
  }
  if (queries.length === 0) return null;
  const query = queries.length === 1 ? queries[0] : concat(queries);
  const count = query.shape[0];
  const weights = new Float64Array(count).fill(scale);
  const dropped = dropout.draws('relationCandidate', 'rhs');
  return queryLoss(query, candidates, {
    kind: 'softmax',
    answers: { offsets: Int32Array.from({ length: count + 1 }, (_, i) => i), ids: concatInt32(answers) },
    omega: weights,
    tau: weights,
    sigma: new Float64Array(count),
    dropout: dropped === null ? null : { p: dropped.p, key: dropped.random.key },
  });
}

/** Returns the rows whose product with a relation's row is the score of an example with that relation. */
function relationQueries(
  decoder: EdgeDecoder,
  table: Tensor,
  list: DirectedExamples,
  { dropout, ids }: RelationLossOptions,
): Tensor {
  const { direction } = list;
  const rows = (of: Int32Array, use: RowUse): Tensor =>
    dropout.rows(gatherRows(table, of, { sparse: true }), use, direction, ids);
  const ends = [rows(eachExample(list, list.given), 'pairGiven'), rows(list.predicted, 'pairPredicted')];
  // The adjoint's examples are edges as they are: from the predicted source to the given destination.
  const [src, dst] = direction === 'lhs' && decoder.usesAdjoint ? ends.reverse() : ends;
  const { operator, comparator } = decoder;
  const query = comparator.comparison === 'dot' ? operator.relationQuery(src, dst, comparator) : null;
  if (query === null) throw new ValueError(noRelations(decoder, 'one without'));
  return query;
}

const noRelations = (decoder: EdgeDecoder, got: string): string =>
  expected(
    'relationLoss',
    'relations whose score is a dot product, as in DISTMULT and COMPLEX,',
    decoder.constructor.name,
    got,
    'Use no relation prediction.',
  );

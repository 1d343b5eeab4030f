/**
 * The objective of one-against-all training for a batch of queries: the loss of their answers among all rows of a table of
 * entities, relation prediction and penalties.
 *
 * With c answers of a query, n of all, B queries and N candidates, the weights of `queryLoss` under the reduction MEAN are
 *
 *   each answer is an example (ONE_VS_ALL)     ω c/n   τ (1 − ε)/n        σ ε·c/(n·N)
 *   each query is one (K_VS_ALL), softmax      ω 1/B   τ (1 − ε)/(B·Z)    σ 1/(B·N·Z), Z = (1 − ε)·c + 1 (0 and c if ε = 0)
 *   each query is one, BCE and squares         ω 1/B   τ (1 − ε)/B        σ 1/(B·N) (0 if ε = 0)
 *
 * where ε is the label smoothing of the loss. The forms of K_VS_ALL are LibKGE's: labels become (1 − ε)·y + 1/N, and those of
 * a softmax are divided by their sum. SUM multiplies by n, or by B.
 */
import { add, concat, type FloatDType, gatherRows, mul, type Tensor, zeros } from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import type { Random } from '../../util/philox.js';
import { type IdLists, joinIdLists } from '../ops/id-lists.js';
import { type QueryLossOptions, queryLoss } from '../ops/query-loss.js';
import type { EdgeDecoder } from './edge-decoder.js';
import type { LinkObjective } from './edge-objective.js';
import { type DirectedExamples, eachExample, embeddingPenalty } from './embedding-penalty.js';
import {
  BCEWithLogitsLoss,
  CrossEntropyLoss,
  type LossFunction,
  MSELoss,
  SoftmaxCrossEntropy,
} from './link-losses.js';
import type { QueryRows } from './query-rows.js';
import type { Regularizer } from './regularizer.js';
import { relationLoss } from './relation-prediction.js';
import { StepDropout } from './step-dropout.js';

export interface QueryObjective extends Partial<LinkObjective> {
  readonly loss: LossFunction;
  /** Whether a query counts once, whatever the number of its answers (K_VS_ALL); otherwise each answer does (ONE_VS_ALL). */
  readonly wholeQueries?: boolean;
  /** A penalty of the ends of edges, added as it is; an example is half of an edge. */
  readonly regularizer?: Regularizer | null;
  /** The generator of dropout masks, split by seed, epoch and step; null, the default, drops nothing, as in evaluation. */
  readonly random?: Random | null;
}

/**
 * Returns the loss of a batch: a scalar.
 *
 * @param table embeddings of all candidates, [N, d], of which the queries' entities and answers are rows
 * @param queries the queries of each direction
 */
export function queryLossOf(
  decoder: EdgeDecoder,
  table: Tensor,
  queries: readonly QueryRows[],
  objective: QueryObjective,
): Tensor {
  const { loss, wholeQueries = false, regularizer = null, penalty = null, random = null } = objective;
  const kind = kindOf(loss, wholeQueries);
  const isTrained = ({ direction, entities }: QueryRows): boolean =>
    entities.length > 0 && (direction === 'rhs' || decoder.bothDirections);
  const rows = queries.filter(isTrained);
  const examples = rows.map(examplesOf);
  const numQueries = rows.reduce((sum, { entities }) => sum + entities.length, 0);
  const numAnswers = examples.reduce((sum, { predicted }) => sum + predicted.length, 0);
  // Turns a mean over what the loss counts into its reduction.
  const whole = loss.reduction === 'MEAN' ? 1 : wholeQueries ? numQueries : numAnswers;
  const perExample = whole / Math.max(1, numAnswers);
  const dropout = new StepDropout(decoder, random);
  const parts: Tensor[] = [];
  // Recorded before the loss, so that backward adds their sparse rows to the dense gradient of the table.
  if (penalty !== null)
    parts.push(embeddingPenalty(decoder, table, examples, penalty, { perExample, perStep: whole }));
  if (regularizer !== null)
    for (const list of examples) parts.push(regularizerOf(regularizer, decoder, table, list));
  const weight = objective.relationPrediction ?? 0;
  const related =
    weight > 0 ? relationLoss(decoder, table, examples, { scale: weight * perExample, dropout }) : null;
  if (related !== null) parts.push(related);
  const counts = { numCandidates: table.shape[0], numQueries, numAnswers, whole, wholeQueries };
  // Both directions in one call write the gradient of the table once; dropped candidates differ by direction.
  const isJoined = dropout.draws('candidate', 'rhs') === null && rows.length > 0;
  for (const group of isJoined ? [rows] : rows.map((list) => [list]))
    parts.push(lossOfQueries(decoder, table, group, { kind, loss, dropout, counts }));
  return parts.length === 0
    ? zeros([], { dtype: table.dtype as FloatDType })
    : parts.reduce((a, b) => add(a, b));
}

type QueryKind = QueryLossOptions['kind'];
type Weights = Pick<QueryLossOptions, 'omega' | 'tau' | 'sigma'>;

const examplesOf = ({ direction, entities, relations, answers }: QueryRows): DirectedExamples => ({
  direction,
  given: entities,
  relations,
  offsets: answers.offsets,
  predicted: answers.ids,
});

/** Returns the kernels' name of a loss. */
function kindOf(loss: LossFunction, wholeQueries: boolean): Exclude<QueryKind, 'masked_softmax'> {
  const { constructor: kind } = loss;
  const form = wholeQueries ? 'K_VS_ALL' : 'ONE_VS_ALL';
  if (kind === SoftmaxCrossEntropy || kind === CrossEntropyLoss) return 'softmax';
  if (loss instanceof BCEWithLogitsLoss && kind === BCEWithLogitsLoss) {
    if (loss.negatives === 'SUM') return 'bce';
    throw new ValueError(expected(form, 'SUM', 'negatives of BCE_WITH_LOGITS', loss.negatives));
  }
  if (kind === MSELoss) return 'squares';
  throw new ValueError(
    expected(form, 'SOFTMAX_CE, CROSS_ENTROPY, BCE_WITH_LOGITS or MSE', 'loss', loss.constructor.name),
  );
}

interface Counts {
  readonly numCandidates: number;
  readonly numQueries: number;
  readonly numAnswers: number;
  /** Turns a mean into the reduction of the loss. */
  readonly whole: number;
  readonly wholeQueries: boolean;
}

/** Returns ω, τ and σ of each query. */
function weightsOf({ offsets }: IdLists, kind: QueryKind, loss: LossFunction, counts: Counts): Weights {
  const { numCandidates, numQueries, numAnswers, whole, wholeQueries } = counts;
  const smoothing = loss.labelSmoothing;
  const size = offsets.length - 1;
  const [omega, tau, sigma] = [new Float64Array(size), new Float64Array(size), new Float64Array(size)];
  const per = whole / Math.max(1, wholeQueries ? numQueries : numAnswers);
  for (let i = 0; i < size; i++) {
    const count = offsets[i + 1] - offsets[i];
    if (count === 0) continue;
    omega[i] = wholeQueries ? per : per * count;
    // K_VS_ALL adds 1/N to the labels, and divides those of a softmax by their sum.
    const added = smoothing === 0 ? 0 : wholeQueries ? 1 : smoothing * count;
    const total = wholeQueries && kind === 'softmax' ? (1 - smoothing) * count + added : 1;
    tau[i] = (per * (1 - smoothing)) / total;
    sigma[i] = (per * added) / (total * numCandidates);
  }
  return { omega, tau, sigma };
}

/** Returns the loss of queries that have the same candidates. */
function lossOfQueries(
  decoder: EdgeDecoder,
  table: Tensor,
  group: readonly QueryRows[],
  how: {
    readonly kind: QueryKind;
    readonly loss: LossFunction;
    readonly dropout: StepDropout;
    readonly counts: Counts;
  },
): Tensor {
  const { kind, loss, dropout, counts } = how;
  const queries = group.map(({ direction, entities, relations }) => {
    const given = dropout.rows(gatherRows(table, entities, { sparse: true }), 'given', direction);
    const drop = (rows: Tensor, ids?: Int32Array): Tensor => dropout.rows(rows, 'relation', direction, ids);
    return decoder.query(given, relations, direction, drop);
  });
  const [{ direction }] = group;
  const dropped = dropout.draws('candidate', direction);
  // The operation drops elements of the table itself while it reads them, but not of rows computed from it.
  const isDirect = decoder.comparator.comparison === 'dot';
  const candidates = isDirect ? table : dropout.rows(table, 'candidate', direction);
  const query = queries.length === 1 ? queries[0] : concat(queries);
  const products = decoder.comparator.products(query, candidates, kind !== 'softmax');
  if (products === null)
    throw new ValueError(
      expected(
        'queryLossOf',
        'a comparator whose scores are products, as DOT,',
        'comparator',
        decoder.comparator.constructor.name,
        'Use DOT, COSINE or SQUARED_L2, or training with negatives.',
      ),
    );
  const answers = joinIdLists(group.map((list) => list.answers));
  const known = group.flatMap((list) => list.known ?? []);
  return queryLoss(products.query, products.table, {
    ...{ ...weightsOf(answers, kind, loss, counts), answers, bias: products.bias },
    known: known.length > 0 ? joinIdLists(known) : null,
    kind: kind === 'softmax' && known.length > 0 ? 'masked_softmax' : kind,
    offset: loss instanceof BCEWithLogitsLoss ? loss.offset : 0,
    dropout: isDirect && dropped !== null ? { p: dropped.p, key: dropped.random.key } : null,
  });
}

/** Returns the penalty of the ends and relations of examples, each half of an edge. */
function regularizerOf(
  regularizer: Regularizer,
  decoder: EdgeDecoder,
  table: Tensor,
  list: DirectedExamples,
): Tensor {
  const rows = (ids: Int32Array): Tensor => gatherRows(table, ids, { sparse: true });
  const { relations } = list;
  const related = relations === null ? null : decoder.relationRows(eachExample(list, relations));
  return mul(regularizer.forward(rows(eachExample(list, list.given)), rows(list.predicted), related), 0.5);
}

/**
 * The loss of queries against all rows of a table, as one-against-all training of link prediction needs it: scores, loss and
 * gradients without a matrix of scores for the whole batch. Forward computes the gradients, while the scores exist.
 */
import {
  type FloatArray,
  kernels,
  type QueryKind,
  queryCode,
  queryKinds,
  type RandomKey,
  reduceCode,
} from '../../native/index.js';
import { Tensor } from '../../tensor/index.js';
import { checkSameFloat, checkShapeIs, pack } from '../../tensor/ops/common.js';
import { formatShape } from '../../tensor/shape.js';
import { checkNumber, expected, ShapeError, ValueError } from '../../util/errors.js';
import { fusedLoss, type Gradients, type ReadyGradients } from './fused-loss.js';
import { checkIdLists, type IdLists } from './id-lists.js';
import { checkMatrix } from './scores.js';

/** Dropout of the table's elements: inverted, and a function of key, row and column. */
export interface TableDropout {
  /** Probability of dropping an element, rounded to a multiple of 2⁻¹⁶. */
  readonly p: number;
  readonly key: RandomKey;
}

/**
 * With the scores s of a query (query · row + bias), its weights ω, τ, σ, and y the sum of τ for every time that a row is one of its c
 * answers, and of σ, the loss of a query is
 * - softmax: ω·log Σ eˢ − Σ y·s
 * - masked_softmax: Σₒ (ω/c)·log(eˢᵒ + Z) − (τ + σ/c)·sₒ over answers o, minus σ·Σ s over the rows of Z, where Z = Σ eˢ leaves
 *   out known rows and answers, so that true answers do not compete
 * - bce: Σ ω·log(1 + eˢ) − y·s, with `offset` added to every s
 * - squares: ω·Σ (s − y/ω)², 0 if ω is 0
 */
export interface QueryLossOptions {
  readonly kind: QueryKind;
  /** The answers of each query: row numbers in any order; one that occurs twice counts twice. */
  readonly answers: IdLists;
  /** Rows that do not compete, which only masked_softmax reads. */
  readonly known?: IdLists | null;
  /** ω of each query [B]. */
  readonly omega: FloatArray;
  /** τ of each query [B]. */
  readonly tau: FloatArray;
  /** σ of each query [B]. */
  readonly sigma: FloatArray;
  /** Added to the scores of bce; 0 by default. */
  readonly offset?: number;
  /** Added to the scores of each row [N]. */
  readonly bias?: Tensor | null;
  readonly dropout?: TableDropout | null;
}

interface Attributes extends ReadyGradients {
  readonly kind: number;
  readonly answers: IdLists;
  readonly known: IdLists | null;
  readonly omega: FloatArray;
  readonly tau: FloatArray;
  readonly sigma: FloatArray;
  readonly offset: number;
  readonly dropout: TableDropout | null;
}

const queryLossOp = fusedLoss<Attributes>({ name: 'queryLoss', gradientsFor, run });

/** Allocates the gradients of query, table and bias that are needed; the kernel writes every element. */
function gradientsFor(inputs: readonly Tensor[], needs: (input: number) => boolean): Gradients {
  return inputs.map((t, i) => (needs(i) ? Tensor.allocate(t.dtype, t.shape) : null));
}

/** Writes the sum of all losses to `total`; fills `made` if it is given. */
function run(
  [query, table, bias]: readonly Tensor[],
  attributes: Attributes,
  made: Gradients | null,
  total: Tensor,
): void {
  const { kind, answers, known, omega, tau, sigma, offset, dropout } = attributes;
  const [queries, width] = query.shape;
  const losses = Tensor.allocate(query.dtype, [queries]);
  kernels().queryLoss({
    kind,
    query: pack(query),
    table: pack(table),
    bias: bias === undefined ? null : pack(bias),
    answerOffsets: answers.offsets,
    answers: answers.ids,
    knownOffsets: known?.offsets ?? null,
    known: known?.ids ?? null,
    omega,
    tau,
    sigma,
    offset,
    drop: dropout?.p ?? 0,
    key: dropout?.key ?? null,
    loss: losses.floats,
    gQuery: made?.[0]?.floats ?? null,
    gTable: made?.[1]?.floats ?? null,
    gBias: made?.[2]?.floats ?? null,
    queries,
    count: table.shape[0],
    width,
  });
  if (queries === 0) kernels().fill(total.floats, 1, 0);
  else kernels().reduce(reduceCode.sum, losses.floats, total.floats, 1, queries, 1);
  losses.dispose();
}

/** Returns the sum of the losses of all queries: query [B, d], table [N, d] → a scalar. */
export function queryLoss(query: Tensor, table: Tensor, options: QueryLossOptions): Tensor {
  const where = 'queryLoss';
  const { kind, answers, known = null, offset = 0, bias = null, dropout = null } = options;
  const dtype = checkSameFloat(where, { query, table, bias });
  checkMatrix(where, 'query', query);
  checkMatrix(where, 'table', table);
  const [queries, width] = query.shape;
  const count = table.shape[0];
  if (table.shape[1] !== width)
    throw new ShapeError(
      expected(where, `rows of ${width} numbers (as query)`, 'table', formatShape(table.shape)),
    );
  if (bias !== null) checkShapeIs(where, 'bias', bias, [count]);
  if (!Object.hasOwn(queryCode, kind))
    throw new ValueError(expected(where, `one of ${queryKinds.join(', ')}`, 'kind', kind));
  checkNumber(where, 'offset', offset);
  if (offset !== 0 && kind !== 'bce')
    throw new ValueError(expected(where, `0 for kind ${kind}`, 'offset', offset, 'Only bce has an offset.'));
  if (dropout !== null) checkNumber(where, 'dropout.p', dropout.p, 0, 1);
  const weights = (name: 'omega' | 'tau' | 'sigma'): FloatArray => {
    const given = options[name];
    if (given.length !== queries)
      throw new ShapeError(expected(where, `${queries} numbers (one per query)`, name, given.length));
    return dtype === 'f32' ? Float32Array.from(given) : Float64Array.from(given);
  };
  const masked = kind === 'masked_softmax';
  if (masked && known === null)
    throw new ValueError(expected(where, 'the known rows of each query for masked_softmax', 'known', null));
  return queryLossOp(bias === null ? [query, table] : [query, table, bias], {
    kind: queryCode[kind],
    answers: checkIdLists(where, 'answers', answers, queries, count),
    known: masked && known !== null ? checkIdLists(where, 'known', known, queries, count) : null,
    omega: weights('omega'),
    tau: weights('tau'),
    sigma: weights('sigma'),
    offset,
    dropout: dropout === null || dropout.p === 0 ? null : dropout,
    ready: null,
  });
}

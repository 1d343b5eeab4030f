/**
 * Penalties on the embeddings that a batch uses, by how often it uses them. Each distinct row is read once.
 *
 * A directed example is an edge in one direction: (h, r, t) predicts the destination t, (t, r', h) the source h, where r'
 * is the relation's row in the second table, or r itself without one. The penalty of a batch of n directed examples is
 *
 *   N3               1/n · Σ coef·(|h|³ + |t|³) + relationCoef·|r|³, with moduli of complex numbers: λ of Lacroix, Usunier
 *                    and Obozinski, "Canonical tensor decomposition for knowledge base completion" (2018)
 *   LP, weighted     1/n · Σ coef/2p·(|h|ᵖ + |t|ᵖ) + relationCoef/p·|r|ᵖ; the relation's term is halved without a second
 *                    table. It is LibKGE's: an edge counts once, here half in each direction
 *   LP, unweighted   coef/p · Σ|x|ᵖ over all entities + relationCoef/2p · Σ|r|ᵖ over all relations, in every step. It is
 *                    half of LibKGE's, as the mean loss of a directed example is half of the loss of an edge there
 *
 * and is added to the mean loss of a directed example. A reduction that multiplies this mean (SUM by n; the MEAN of
 * sampled negatives, which adds the means of both directions, by 2) multiplies the penalty too (`scale`), so that a
 * coefficient means the same under all reductions. Angles of relations (ROTATE) have no size and no penalty; N3 of a matrix
 * (RESCAL) is divided by its number of rows.
 */
import { add, type Tensor } from '../../tensor/index.js';
import { rowPenalty } from '../ops/row-penalty.js';
import type { Direction, EdgeDecoder } from './edge-decoder.js';

export interface EmbeddingPenalty {
  readonly type: 'N3' | 'LP';
  /** Weight of the entities' rows. */
  readonly coef: number;
  /** Weight of the relations' rows. */
  readonly relationCoef: number;
  /** The p of LP; N3 has 3. */
  readonly norm: number;
  /** LP: by use in the batch; false: all rows in every step. */
  readonly weighted: boolean;
}

/** The directed examples of a batch in one direction, by rows. */
export interface DirectedExamples {
  readonly direction: Direction;
  /** The end that is given. */
  readonly given: Int32Array;
  readonly relations: Int32Array | null;
  /** Boundaries of the examples that share each given end and relation; null: one example each. */
  readonly offsets: Int32Array | null;
  /** The end that is predicted, one per example. */
  readonly predicted: Int32Array;
}

/** Returns the values of queries repeated for each of their examples. */
export function eachExample({ offsets, predicted }: DirectedExamples, values: Int32Array): Int32Array {
  if (offsets === null) return values;
  const all = new Int32Array(predicted.length);
  for (let i = 0; i < values.length; i++) all.fill(values[i], offsets[i], offsets[i + 1]);
  return all;
}

export interface PenaltyScale {
  /** Multiplies the sum over the directed examples: 1/n for the penalty of a mean loss. */
  readonly perExample: number;
  /** Multiplies the penalty of all rows (unweighted LP): 1 for that of a mean loss. */
  readonly perStep: number;
}

/** Returns the penalty of a batch whose entities are rows of `table` [N, d]: a scalar. */
export function embeddingPenalty(
  decoder: EdgeDecoder,
  table: Tensor,
  examples: readonly DirectedExamples[],
  penalty: EmbeddingPenalty,
  scale: PenaltyScale,
): Tensor {
  const { relations, inverseRelations, operator } = decoder;
  const isN3 = penalty.type === 'N3';
  const power = isN3 ? 3 : penalty.norm;
  const complex = isN3 && operator.isComplex;
  const own = isN3 ? 1 : 1 / (2 * power);
  const weighted = isN3 || penalty.weighted;
  const ofRows = (rows: Tensor, coef: number, factor: number, count: () => Float64Array): Tensor =>
    weighted
      ? rowPenalty(rows, { ...usedRows(count(), coef * factor * scale.perExample), power, complex })
      : rowPenalty(rows, { ids: null, weights: coef * factor * scale.perStep, power, complex });
  const entityFactor = weighted ? own : 2 * own;
  const parts = [ofRows(table, penalty.coef, entityFactor, () => countEntities(table.shape[0], examples))];
  const shared = isN3 ? operator.penaltyFactor(decoder.dim) : 1;
  const relationFactor = shared * (weighted && !isN3 && inverseRelations !== null ? 2 * own : own);
  if (!operator.relationsAreAngles && penalty.relationCoef > 0)
    for (const rows of new Set([relations, inverseRelations]))
      if (rows !== null) {
        const read = examples.filter(({ direction }) => rows === tableOf(decoder, direction));
        const count = () => countRelations(rows.shape[0], read);
        parts.push(ofRows(rows, penalty.relationCoef, relationFactor, count));
      }
  return parts.reduce((a, b) => add(a, b));
}

/** Returns the table of relations that a direction reads. */
function tableOf({ relations, inverseRelations }: EdgeDecoder, direction: Direction): Tensor | null {
  return direction === 'rhs' ? relations : (inverseRelations ?? relations);
}

function countEntities(size: number, examples: readonly DirectedExamples[]): Float64Array {
  const counts = new Float64Array(size);
  for (const { given, offsets, predicted } of examples) {
    for (let i = 0; i < given.length; i++)
      counts[given[i]] += offsets === null ? 1 : offsets[i + 1] - offsets[i];
    for (const id of predicted) counts[id]++;
  }
  return counts;
}

function countRelations(size: number, examples: readonly DirectedExamples[]): Float64Array {
  const counts = new Float64Array(size);
  for (const { relations, offsets } of examples)
    for (let i = 0; relations !== null && i < relations.length; i++)
      counts[relations[i]] += offsets === null ? 1 : offsets[i + 1] - offsets[i];
  return counts;
}

/** Returns the rows that are used, and their counts times a factor. */
function usedRows(counts: Float64Array, factor: number) {
  let used = 0;
  for (const count of counts) if (count > 0) used++;
  const [ids, weights] = [new Int32Array(used), new Float64Array(used)];
  for (let row = 0, at = 0; row < counts.length; row++)
    if (counts[row] > 0) {
      ids[at] = row;
      weights[at++] = counts[row] * factor;
    }
  return { ids, weights };
}

/**
 * `EdgeDecoder`: scores edges from the embeddings of their ends, with a relation operator, a comparator and tables of
 * relations.
 *
 * rhs is the direction in which destinations are predicted: comparator(operator(src, r), dst). lhs predicts sources:
 * comparator(operator(dst, r'), src) with a second table of relations r' (`inverseEdges`), or comparator(adjoint(dst, r),
 * src) with the same table, where the operator has an adjoint: both directions then give an edge the same score. Without
 * relations both directions compare the ends directly. The `method` selects which edges are scored:
 *   CORRUPT_NODE  each edge, and the edge with its end replaced by the negatives of its chunk
 *   CORRUPT_REL   each edge, and the edge with its relation replaced by the negative relations of its chunk
 *   POS_AND_NEG   each edge, and n given negative edges
 *   ONLY_POS      each edge
 *
 * To write a custom decoder, extend this class with an operator and a comparator or with another `forward`.
 */

import { checkSizes, newParameter, type ParameterOptions, randomOf } from '../../nn/factory.js';
import { Module } from '../../nn/index.js';
import { fillTensor, type StartValues } from '../../nn/start-values.js';
import { onDevice } from '../../tensor/device.js';
import { gatherRows, reshape, type Tensor, where, zeros } from '../../tensor/index.js';
import { toDeviceOf } from '../../tensor/move.js';
import { defaultRandom } from '../../tensor/random.js';
import { checkInteger, expected, ShapeError, StateError, ValueError } from '../../util/errors.js';
import type { Random } from '../../util/philox.js';
import type { NegativeMask } from '../ops/index.js';
import { BiasedOperator } from './biased-operator.js';
import { BiasedSquaredL2Compare, type Comparator } from './comparator.js';
import { corruptedRelations } from './corrupt-relations.js';
import type { DropRelations, RelationOperator } from './relation-operator.js';
import { StepDropout } from './step-dropout.js';

export const decoderMethods = ['CORRUPT_NODE', 'CORRUPT_REL', 'POS_AND_NEG', 'ONLY_POS'] as const;
export type DecoderMethod = (typeof decoderMethods)[number];

export interface EdgeDecoderOptions extends ParameterOptions {
  /** Width of a node's embedding. */
  readonly dim: number;
  /** Number of relations; 0 (the default) if edges have none. */
  readonly numRelations?: number;
  /** A second table of relations for the direction that predicts sources (default true); false: the operator's adjoint. */
  readonly inverseEdges?: boolean;
  /** Selects the scored edges (default CORRUPT_NODE). */
  readonly method?: DecoderMethod;
  /** Compares two rows; the default depends on the decoder. */
  readonly comparator?: Comparator;
  /** Whether the last column of a node's row is a bias, which SquaredL2Compare adds to scores (default false). */
  readonly bias?: boolean;
  /** Initial values of the relations (default: those of the operator). */
  readonly relationInit?: StartValues;
  /** Probability of dropping an element of an entity's or a relation's row in training (default 0). */
  readonly entityDropout?: number;
  readonly relationDropout?: number;
}

/** The inputs of a decoder for a batch. */
export interface DecoderInput {
  /** Embeddings of the edges' ends, [B, d]. */
  readonly src: Tensor;
  readonly dst: Tensor;
  /** The relation of each edge; null without relations. */
  readonly relations: Int32Array | null;
  /** Embeddings of the batch's nodes, [U, d], to which the ids below refer. */
  readonly rows: Tensor;
  /** chunks · n ids for each direction; null if it is not corrupted. */
  readonly srcNegatives?: Int32Array | null;
  readonly dstNegatives?: Int32Array | null;
  /** Number of chunks (default 1). */
  readonly chunks?: number;
  /** Negatives that are true edges. */
  readonly srcMask?: NegativeMask | null;
  readonly dstMask?: NegativeMask | null;
  /** Weights of the edges in the loss, for losses that weigh them (`LossFunction.weighsEdges`). */
  readonly weights?: Float32Array | null;
  /** Dropout of the decoder in training; null, as in evaluation: none. */
  readonly dropout?: InputDropout | null;
  /** CORRUPT_REL: chunks · n relations. */
  readonly relationNegatives?: Int32Array | null;
  /** POS_AND_NEG: n edges for each edge, those of the first edge first. */
  readonly negativeEdges?: {
    readonly src: Int32Array;
    readonly dst: Int32Array;
    readonly relations: Int32Array | null;
  } | null;
}

/** Dropout in training, with the numbers of edges and nodes by which masks are drawn. */
export interface InputDropout {
  /** The generator of the step. */
  readonly random: Random;
  /** The number of each edge in the batch of all workers, [B]. */
  readonly edgeIds: Int32Array;
  /** The nodes of the edges' ends, [B], and of the rows, [U]. */
  readonly srcIds: Int32Array;
  readonly dstIds: Int32Array;
  readonly rowIds: Int32Array;
}

/** Scores by direction: [B] and [B, n]; null if there are none. */
export interface EdgeScores {
  readonly rhsPos: Tensor;
  readonly rhsNeg: Tensor | null;
  readonly lhsPos: Tensor | null;
  readonly lhsNeg: Tensor | null;
}

export type Direction = 'rhs' | 'lhs';

/** One direction of a batch: queries and the rows they are compared with. */
export interface Side {
  readonly direction: Direction;
  readonly query: Tensor;
  readonly target: Tensor;
  /** The rows of which negatives are some; default: those of the input. */
  readonly rows?: Tensor;
  readonly negatives: Int32Array | null;
  readonly mask: NegativeMask | null;
}

export abstract class EdgeDecoder extends Module {
  readonly operator: RelationOperator;
  readonly comparator: Comparator;
  readonly dim: number;
  readonly numRelations: number;
  method: DecoderMethod;
  /** Relation embeddings [numRelations, w]; gradients are sparse rows. */
  readonly relations: Tensor | null;
  readonly inverseRelations: Tensor | null;
  readonly entityDropout: number;
  readonly relationDropout: number;

  constructor(operator: RelationOperator, comparator: Comparator, options: EdgeDecoderOptions) {
    super();
    const where = new.target.name;
    const { dim, numRelations = 0, inverseEdges = true, method = 'CORRUPT_NODE' } = options;
    checkSizes(where, { dim });
    checkInteger(where, 'numRelations', numRelations);
    if (!decoderMethods.includes(method))
      throw new ValueError(expected(where, `one of ${decoderMethods.join(', ')}`, 'method', method));
    const { entityDropout = 0, relationDropout = 0, bias = false } = options;
    for (const [name, p] of Object.entries({ entityDropout, relationDropout }))
      if (!(p >= 0 && p < 1))
        throw new ValueError(expected(where, 'a number from 0 up to, not including, 1', name, p));
    this.entityDropout = entityDropout;
    this.relationDropout = relationDropout;
    this.operator = bias ? new BiasedOperator(operator) : operator;
    this.comparator = bias ? biasedComparator(where, comparator) : comparator;
    if (this.comparator.comparison === 'modulus' && dim % 2 !== 0)
      throw new ValueError(expected(where, 'an even width (real parts, imaginary parts)', 'dim', dim));
    this.dim = dim;
    this.numRelations = numRelations;
    this.method = method;
    const { relationInit, random = defaultRandom() } = options;
    const table = (): Tensor =>
      newParameter([numRelations, this.operator.relationWidth(dim)], options, (t) =>
        relationInit === undefined
          ? this.operator.initialize(t, randomOf(options))
          : fillTensor(t, relationInit, random),
      );
    this.relations = numRelations > 0 ? table() : null;
    this.inverseRelations = numRelations > 0 && inverseEdges ? table() : null;
  }

  /** Whether sources are predicted too. */
  get bothDirections(): boolean {
    return this.relations === null || this.inverseRelations !== null || this.usesAdjoint;
  }

  /** Whether sources are predicted with the table of the other direction. */
  get usesAdjoint(): boolean {
    const single = this.relations !== null && this.inverseRelations === null;
    return single && this.operator.hasAdjoint(this.comparator);
  }

  /** The directions that `forward` scores. With the adjoint, edges have one score: only replaced ends differ. */
  get scoredDirections(): readonly Direction[] {
    const isSame = this.usesAdjoint && this.method !== 'CORRUPT_NODE';
    return this.bothDirections && !isSame ? ['rhs', 'lhs'] : ['rhs'];
  }

  /**
   * Returns the rows to compare with the ends that are predicted, for given ends embs [B, d] and a direction.
   *
   * @param drop applied to the relations' rows
   */
  query(
    embs: Tensor,
    relations: Int32Array | null,
    direction: Direction,
    drop: DropRelations = (rows) => rows,
  ): Tensor {
    const back = direction === 'lhs' && this.usesAdjoint;
    const table = back || direction === 'rhs' ? this.relations : this.inverseRelations;
    const how = { adjoint: back, drop };
    const grouped =
      table === null || relations === null
        ? null
        : this.operator.applyByRelation(embs, table, relations, how);
    if (grouped !== null) return grouped;
    const rows = this.relationRows(relations, back ? 'rhs' : direction);
    if (rows === null) return this.operator.apply(embs, null);
    return back ? this.operator.adjoint(embs, drop(rows)) : this.operator.apply(embs, drop(rows));
  }

  /** Returns the rows of relations in a direction; null without relations. */
  relationRows(ids: Int32Array | null, direction: Direction = 'rhs'): Tensor | null {
    const table = direction === 'rhs' ? this.relations : this.inverseRelations;
    if (table === null) return null;
    if (ids === null)
      throw new StateError(`${this.constructor.name}: expected a relation for each edge, got none.`);
    return gatherRows(table, ids, { sparse: true });
  }

  /** Returns, for edges from src to dst, the query and the target row in each direction. */
  sides(input: DecoderInput): Side[] {
    const { src, dst } = input;
    if (src.rank !== 2 || src.shape[1] !== this.dim || dst.shape.join() !== src.shape.join()) {
      const want = `two tensors of shape [B, ${this.dim}]`;
      throw new ShapeError(
        expected(this.constructor.name, want, 'src, dst', `[${src.shape}], [${dst.shape}]`),
      );
    }
    const drop = input.dropout ?? null;
    const rhs = { negatives: input.dstNegatives ?? null, mask: input.dstMask ?? null };
    const lhs = { negatives: input.srcNegatives ?? null, mask: input.srcMask ?? null };
    const sides = [{ ...this.#compared('rhs', src, dst, input, drop?.dstIds), ...rhs }];
    if (this.bothDirections) sides.push({ ...this.#compared('lhs', dst, src, input, drop?.srcIds), ...lhs });
    return sides;
  }

  /** Returns what a direction compares, with dropped elements in training. */
  #compared(
    direction: Direction,
    given: Tensor,
    target: Tensor,
    { relations, rows, dropout = null }: DecoderInput,
    targetIds?: Int32Array,
  ): Pick<Side, 'direction' | 'query' | 'target' | 'rows'> {
    if (dropout === null) return { direction, query: this.query(given, relations, direction), target };
    const step = new StepDropout(this, dropout.random);
    const { edgeIds, rowIds } = dropout;
    const own = step.rows(given, 'given', direction, edgeIds);
    return {
      direction,
      query: this.query(own, relations, direction, (r, ids = edgeIds) =>
        step.rows(r, 'relation', direction, ids),
      ),
      target: step.rows(target, 'candidate', direction, targetIds),
      rows: step.rows(rows, 'candidate', direction, rowIds),
    };
  }

  /** @param maskedScore the score of a masked negative, chosen by the loss (`LossFunction.maskedScore`) */
  forward(input: DecoderInput, maskedScore = -1e9): EdgeScores {
    const directions = this.scoredDirections;
    const sides = this.sides(input).filter(({ direction }) => directions.includes(direction));
    const scored = sides.map((side) => ({
      pos: this.comparator.pairs(side.query, side.target),
      neg: this.#negatives(input, side, maskedScore),
    }));
    const [rhs, lhs = { pos: null, neg: null }] = scored;
    return { rhsPos: rhs.pos, rhsNeg: rhs.neg, lhsPos: lhs.pos, lhsNeg: lhs.neg };
  }

  #negatives(input: DecoderInput, side: Side, maskedScore: number): Tensor | null {
    if (this.method === 'CORRUPT_NODE') return this.#corruptedNodes(input, side, maskedScore);
    if (this.method === 'POS_AND_NEG') return this.#negativeEdges(input, side.direction);
    if (this.method === 'ONLY_POS') return null;
    const table = side.direction === 'rhs' ? this.relations : this.inverseRelations;
    return corruptedRelations(this, input, side, table);
  }

  #corruptedNodes(input: DecoderInput, side: Side, maskedScore: number): Tensor | null {
    if (side.negatives === null) return null;
    const rows = side.rows ?? input.rows;
    const scores = this.comparator.chunks(side.query, rows, side.negatives, input.chunks ?? 1);
    if (side.mask === null || side.mask.positions.length === 0) return scores;
    const [edges, n] = scores.shape;
    const hidden = onDevice(null, () => zeros([edges, n], { dtype: 'u8' }));
    const flags = hidden.dataSync();
    const { offsets, positions } = side.mask;
    for (let i = 0; i < edges; i++)
      for (let k = offsets[i]; k < offsets[i + 1]; k++) flags[i * n + positions[k]] = 1;
    return where(toDeviceOf(hidden, scores), maskedScore, scores);
  }

  #negativeEdges(input: DecoderInput, direction: Direction): Tensor {
    const edges = input.negativeEdges;
    const count = input.src.shape[0];
    if (!edges || edges.src.length % Math.max(1, count) !== 0) {
      const want = `a multiple of ${count} edges (POS_AND_NEG)`;
      throw new ShapeError(
        expected(this.constructor.name, want, 'negativeEdges', edges ? edges.src.length : 'none'),
      );
    }
    const [from, to] = direction === 'rhs' ? [edges.src, edges.dst] : [edges.dst, edges.src];
    const query = this.query(gatherRows(input.rows, from), edges.relations, direction);
    const scores = this.comparator.pairs(query, gatherRows(input.rows, to));
    return reshape(scores, [count, edges.src.length / Math.max(1, count)]);
  }

  protected override describe(): string {
    const kinds = `${this.operator.constructor.name}, ${this.comparator.constructor.name}`;
    return `${kinds}, ${this.numRelations} relations of width ${this.dim}`;
  }
}

/** Returns the comparator of rows with biases; throws if there is none. */
function biasedComparator(where: string, comparator: Comparator): Comparator {
  if (comparator.comparison === 'squaredL2') return new BiasedSquaredL2Compare();
  throw new ValueError(
    expected(
      where,
      'SquaredL2Compare with bias: true',
      'comparator',
      comparator.constructor.name,
      'Set the comparator SQUARED_L2, or bias: false.',
    ),
  );
}

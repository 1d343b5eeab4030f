/**
 * Relation operators: apply the embedding of a relation to the embedding of a node, row by row.
 */
import { init } from '../../nn/index.js';
import { add, concat, cos, mul, sin, sub, type Tensor } from '../../tensor/index.js';
import { expected, StateError, ValueError } from '../../util/errors.js';
import type { Random } from '../../util/philox.js';
import { complexProduct } from '../ops/index.js';
import type { Comparator } from './comparator.js';

/** Drops elements of relations' rows in training. @param ids the number of each row (default: that of its edge) */
export type DropRelations = (rows: Tensor, ids?: Int32Array) => Tensor;

export abstract class RelationOperator {
  /** Whether rows are complex numbers, real parts first: their width is even. */
  readonly isComplex: boolean = false;

  /** Whether relations are angles, which have no size to penalise. */
  readonly relationsAreAngles: boolean = false;

  /** Applies the relations' rows [B, w] to embs [B, d]; without relations returns embs. */
  abstract apply(embs: Tensor, rels: Tensor | null): Tensor;

  /** Returns the width w of a relation's row for nodes of `dim` numbers. */
  relationWidth(dim: number): number {
    return dim;
  }

  /** Whether columns belong together in pairs, so that their number is even. */
  get needsEvenWidth(): boolean {
    return this.isComplex;
  }

  /** Returns the factor of the N3 penalty of relations. */
  penaltyFactor(_dim: number): number {
    return 1;
  }

  /**
   * Applies the relations `ids` of a table to embs [B, d], for operators that group rows by relation; null for others, which
   * are given one row per edge.
   */
  applyByRelation(
    _embs: Tensor,
    _table: Tensor,
    _ids: Int32Array,
    _how: { readonly adjoint: boolean; readonly drop: DropRelations },
  ): Tensor | null {
    return null;
  }

  /** Fills a table of relations [R, w] with its initial values: by default the identity of the operator. */
  abstract initialize(relations: Tensor, options: { readonly random?: Random }): void;

  /** Whether `adjoint` has queries for this comparator; false for operators without them. */
  hasAdjoint(_comparator: Comparator): boolean {
    return false;
  }

  /**
   * Returns rows q [B, d] with comparator(q, src) = comparator(apply(src, r), dst) for every src, so that sources are
   * predicted without a second table of relations.
   */
  adjoint(_dst: Tensor, _rels: Tensor): Tensor {
    throw new StateError(
      `${this.constructor.name}: expected an operator with adjoint(dst, rels), got one without. Add the method, or use inverseEdges: true.`,
    );
  }

  /**
   * Returns rows q [B, w] with comparator(apply(src, r), dst) = comparator(q, r) for every relation r, so that many
   * relations can be compared in one call; null if there are none.
   */
  relationQuery(_src: Tensor, _dst: Tensor, _comparator: Comparator): Tensor | null {
    return null;
  }
}

/** e ∘ r (DistMult); relations start as 1. */
export class HadamardOperator extends RelationOperator {
  apply(embs: Tensor, rels: Tensor | null): Tensor {
    return rels === null ? embs : mul(embs, rels);
  }

  initialize(relations: Tensor): void {
    init.ones(relations);
  }

  override hasAdjoint(comparator: Comparator): boolean {
    return comparator.comparison === 'dot' && this.apply === HadamardOperator.prototype.apply;
  }

  /** r ∘ dst */
  override adjoint(dst: Tensor, rels: Tensor): Tensor {
    return mul(dst, rels);
  }

  override relationQuery(src: Tensor, dst: Tensor, comparator: Comparator): Tensor | null {
    return comparator.comparison === 'dot' ? mul(src, dst) : null;
  }
}

/** e · r as complex numbers, real parts first, then imaginary ones (ComplEx); relations start as 1 + 0i. */
export class ComplexHadamardOperator extends RelationOperator {
  override readonly isComplex = true;

  apply(embs: Tensor, rels: Tensor | null): Tensor {
    return rels === null ? embs : complexProduct(embs, rels);
  }

  override relationWidth(dim: number): number {
    return evenWidth('ComplexHadamardOperator', dim);
  }

  initialize(relations: Tensor): void {
    const [rows, width] = relations.shape;
    const values = relations.floats;
    values.fill(0);
    for (let r = 0; r < rows; r++) values.fill(1, r * width, r * width + width / 2);
  }

  override hasAdjoint(comparator: Comparator): boolean {
    return comparator.comparison === 'dot' && this.apply === ComplexHadamardOperator.prototype.apply;
  }

  /** conj(r) · dst */
  override adjoint(dst: Tensor, rels: Tensor): Tensor {
    return complexProduct(dst, rels, { conjugate: true });
  }

  override relationQuery(src: Tensor, dst: Tensor, comparator: Comparator): Tensor | null {
    return comparator.comparison === 'dot' ? complexProduct(dst, src, { conjugate: true }) : null;
  }
}

/** e + r (TransE); relations start as 0. */
export class TranslationOperator extends RelationOperator {
  apply(embs: Tensor, rels: Tensor | null): Tensor {
    return rels === null ? embs : add(embs, rels);
  }

  initialize(relations: Tensor): void {
    init.zeros(relations);
  }

  /** Distances only: a dot product with r + src also depends on r · dst. */
  override hasAdjoint({ comparison }: Comparator): boolean {
    return isDistance(comparison) && this.apply === TranslationOperator.prototype.apply;
  }

  /** dst − r */
  override adjoint(dst: Tensor, rels: Tensor): Tensor {
    return sub(dst, rels);
  }

  override relationQuery(src: Tensor, dst: Tensor, comparator: Comparator): Tensor | null {
    // Distances do not change when both rows are shifted.
    const { comparison } = comparator;
    return isDistance(comparison) ? sub(dst, src) : null;
  }
}

/**
 * e · exp(i r) as complex numbers (RotatE): a relation is d / 2 angles. They start uniformly distributed, since
 * relations with equal initial values would separate slowly.
 */
export class RotationOperator extends RelationOperator {
  override readonly isComplex = true;
  override readonly relationsAreAngles = true;

  apply(embs: Tensor, rels: Tensor | null): Tensor {
    return rels === null ? embs : complexProduct(embs, rotation(rels));
  }

  /** A rotation keeps dot products, Euclidean distances and moduli, but not Manhattan distances of components. */
  override hasAdjoint({ comparison }: Comparator): boolean {
    const kept = ['dot', 'cosine', 'l2', 'squaredL2', 'modulus'].includes(comparison ?? '');
    return kept && this.apply === RotationOperator.prototype.apply;
  }

  /** dst · exp(−i r) */
  override adjoint(dst: Tensor, rels: Tensor): Tensor {
    return complexProduct(dst, rotation(rels), { conjugate: true });
  }

  override relationWidth(dim: number): number {
    return evenWidth('RotationOperator', dim) / 2;
  }

  initialize(relations: Tensor, options: { readonly random?: Random }): void {
    init.uniform(relations, { ...options, lo: -Math.PI, hi: Math.PI });
  }
}

/** exp(i r), real parts first. */
function rotation(angles: Tensor): Tensor {
  return concat([cos(angles), sin(angles)], 1);
}

/** e, whatever the relation. */
export class NoOp extends RelationOperator {
  apply(embs: Tensor, _rels: Tensor | null): Tensor {
    return embs;
  }

  override hasAdjoint({ comparison }: Comparator): boolean {
    return comparison !== null && this.apply === NoOp.prototype.apply;
  }

  override adjoint(dst: Tensor, _rels: Tensor): Tensor {
    return dst;
  }

  initialize(relations: Tensor): void {
    init.zeros(relations);
  }
}

const isDistance = (comparison: Comparator['comparison']): boolean =>
  comparison !== null && ['l2', 'l1', 'squaredL2', 'modulus'].includes(comparison);

function evenWidth(where: string, dim: number): number {
  if (dim % 2 !== 0)
    throw new ValueError(expected(where, 'an even width (real parts, imaginary parts)', 'dim', dim));
  return dim;
}

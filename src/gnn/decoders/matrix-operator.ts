/** RESCAL's operator: a relation is a matrix of dim · dim numbers, by rows. */
import { gatherRows, reshape, type Tensor } from '../../tensor/index.js';
import { groupedMatmul } from '../ops/grouped-matmul.js';
import type { Comparator } from './comparator.js';
import { type DropRelations, RelationOperator } from './relation-operator.js';

/** Mᵀ e, so that the dot product with t is eᵀ M t (RESCAL); relations start as the identity. */
export class MatrixOperator extends RelationOperator {
  override relationWidth(dim: number): number {
    return dim * dim;
  }

  /** The cube of dim^(−1/3), by which the numbers of a matrix are scaled to be comparable with those of a vector. */
  override penaltyFactor(dim: number): number {
    return 1 / dim;
  }

  apply(embs: Tensor, rels: Tensor | null): Tensor {
    return rels === null ? embs : products(embs, rels, false);
  }

  initialize(relations: Tensor): void {
    const [rows, width] = relations.shape;
    const dim = Math.round(Math.sqrt(width));
    const values = relations.floats;
    values.fill(0);
    for (let r = 0; r < rows; r++) for (let i = 0; i < dim; i++) values[r * width + i * (dim + 1)] = 1;
  }

  override hasAdjoint(comparator: Comparator): boolean {
    return comparator.comparison === 'dot' && this.apply === MatrixOperator.prototype.apply;
  }

  /** M dst */
  override adjoint(dst: Tensor, rels: Tensor): Tensor {
    return products(dst, rels, true);
  }

  /**
   * Multiplies the rows of each relation in one product: every matrix is read once, not once per edge, and its gradient is
   * one row of the table. Elements of a matrix are dropped for all edges of its relation alike.
   */
  override applyByRelation(
    embs: Tensor,
    table: Tensor,
    ids: Int32Array,
    how: { readonly adjoint: boolean; readonly drop: DropRelations },
  ): Tensor {
    if (ids.length === 0) return embs;
    const { distinct, offsets, order, positions } = groupIds(ids);
    const matrices = how.drop(gatherRows(table, distinct, { sparse: true }), distinct);
    const dim = embs.shape[1];
    const weight = reshape(matrices, [distinct.length, dim, dim]);
    const sorted = groupedMatmul(gatherRows(embs, order), weight, offsets, { transposed: how.adjoint });
    return gatherRows(sorted, positions);
  }
}

/** embs[i] · matrix i, or its transpose. */
function products(embs: Tensor, rels: Tensor, transposed: boolean): Tensor {
  const [rows, dim] = embs.shape;
  const each = Int32Array.from({ length: rows + 1 }, (_, i) => i);
  return groupedMatmul(embs, reshape(rels, [rows, dim, dim]), each, { transposed });
}

/** The rows of equal ids: row order[i] is the i-th by id, row j is at positions[j]. */
function groupIds(ids: Int32Array) {
  const order = Int32Array.from(ids.keys()).sort((a, b) => ids[a] - ids[b] || a - b);
  const positions = new Int32Array(ids.length);
  const distinct: number[] = [];
  const offsets: number[] = [];
  for (const [at, row] of order.entries()) {
    positions[row] = at;
    if (at > 0 && ids[order[at - 1]] === ids[row]) continue;
    distinct.push(ids[row]);
    offsets.push(at);
  }
  offsets.push(ids.length);
  return { distinct: Int32Array.from(distinct), offsets: Int32Array.from(offsets), order, positions };
}

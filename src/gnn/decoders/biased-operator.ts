/**
 * Rows whose last column is the bias of their node: it is trained, swapped and saved with the row. An operator applies to the
 * other columns.
 */
import { concat, slice, type Tensor } from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import type { Random } from '../../util/philox.js';
import { type Comparator, SquaredL2Compare } from './comparator.js';
import { RelationOperator } from './relation-operator.js';

export class BiasedOperator extends RelationOperator {
  readonly inner: RelationOperator;
  override readonly relationsAreAngles: boolean;

  constructor(inner: RelationOperator) {
    super();
    this.inner = inner;
    this.relationsAreAngles = inner.relationsAreAngles;
  }

  override relationWidth(dim: number): number {
    if (dim < 2)
      throw new ValueError(expected('BiasedOperator', 'at least 2 columns, the last a bias', 'dim', dim));
    return this.inner.relationWidth(dim - 1);
  }

  apply(embs: Tensor, rels: Tensor | null): Tensor {
    return this.#withBias(embs, (rows) => this.inner.apply(rows, rels));
  }

  initialize(relations: Tensor, options: { readonly random?: Random }): void {
    this.inner.initialize(relations, options);
  }

  override hasAdjoint(_comparator: Comparator): boolean {
    return this.inner.hasAdjoint(new SquaredL2Compare());
  }

  override adjoint(dst: Tensor, rels: Tensor): Tensor {
    return this.#withBias(dst, (rows) => this.inner.adjoint(rows, rels));
  }

  #withBias(embs: Tensor, apply: (rows: Tensor) => Tensor): Tensor {
    const last = embs.shape[1] - 1;
    return concat([apply(slice(embs, 0, last, 1)), slice(embs, last, undefined, 1)], 1);
  }
}

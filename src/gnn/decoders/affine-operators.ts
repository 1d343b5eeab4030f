/** Operators of RotE and MuRE: a relation multiplies a row, then shifts it. */
import { init } from '../../nn/index.js';
import { add, clamp, concat, div, mul, slice, sqrt, square, type Tensor } from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import type { Random } from '../../util/philox.js';
import { complexProduct } from '../ops/index.js';
import { RelationOperator } from './relation-operator.js';

/** A relation row [factors, shift] of 2 · dim numbers. Factors start in ±1, shifts are small. */
abstract class AffineOperator extends RelationOperator {
  override relationWidth(dim: number): number {
    return 2 * dim;
  }

  apply(embs: Tensor, rels: Tensor | null): Tensor {
    if (rels === null) return embs;
    const dim = embs.shape[1];
    return add(this.multiply(embs, slice(rels, 0, dim, 1)), slice(rels, dim, undefined, 1));
  }

  protected abstract multiply(embs: Tensor, factors: Tensor): Tensor;

  initialize(relations: Tensor, options: { readonly random?: Random }): void {
    init.uniform(relations, { ...options, lo: -1, hi: 1 });
    const [rows, width] = relations.shape;
    const values = relations.floats;
    for (let r = 0; r < rows; r++)
      for (let c = width / 2; c < width; c++) values[r * width + c] *= smallShift;
  }
}

const smallShift = 1e-3;

/**
 * G e + v, where G turns pairs of columns c and c + d / 2 by the angle of (a, b) = factors c and c + d / 2: Chami et al.,
 * "Low-dimensional hyperbolic knowledge graph embeddings" (2020).
 */
export class GivensOperator extends AffineOperator {
  override get needsEvenWidth(): boolean {
    return true;
  }

  override relationWidth(dim: number): number {
    if (dim % 2 !== 0)
      throw new ValueError(expected('GivensOperator', 'an even width (pairs of columns)', 'dim', dim));
    return super.relationWidth(dim);
  }

  protected multiply(embs: Tensor, factors: Tensor): Tensor {
    const half = factors.shape[1] / 2;
    const [a, b] = [slice(factors, 0, half, 1), slice(factors, half, undefined, 1)];
    const length = sqrt(clamp(add(square(a), square(b)), 1e-30));
    return complexProduct(embs, concat([div(a, length), div(b, length)], 1));
  }
}

/** D e + v with a diagonal D: Balažević et al., "Multi-relational Poincaré graph embeddings" (2019), MuRE. */
export class DiagonalOperator extends AffineOperator {
  protected multiply(embs: Tensor, factors: Tensor): Tensor {
    return mul(embs, factors);
  }
}

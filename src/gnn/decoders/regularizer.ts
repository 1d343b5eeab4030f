/**
 * Regularisers: penalties on the rows that a batch of edges uses, to add to its loss.
 */
import {
  abs,
  add,
  clamp,
  mul,
  norm,
  pow,
  slice,
  sqrt,
  square,
  sum,
  type Tensor,
} from '../../tensor/index.js';
import { checkInteger, checkNumber } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';

export abstract class Regularizer {
  /** Returns the penalty, a scalar, for src, dst [B, d] and the relations' rows [B, w], if any. */
  abstract forward(src: Tensor, dst: Tensor, relations?: Tensor | null): Tensor;
}

/** coefficient / 2 · Σ(‖src‖ₚ + ‖dst‖ₚ) over the edges. */
export class NormRegularizer extends Regularizer {
  readonly norm: number;
  readonly coefficient: number;

  constructor(norm: number, coefficient: number) {
    super();
    this.norm = checkInteger('NormRegularizer', 'norm', norm, 1);
    this.coefficient = checkNumber('NormRegularizer', 'coefficient', coefficient, 0);
  }

  forward(src: Tensor, dst: Tensor): Tensor {
    const total = add(sum(this.#rowNorms(src)), sum(this.#rowNorms(dst)));
    return mul(total, this.coefficient / 2);
  }

  #rowNorms(x: Tensor): Tensor {
    if (this.norm === 1) return sum(abs(x), 1);
    if (this.norm === 2) return norm(x, 1);
    // The root's slope is infinite at 0, where the norm's is undefined: such rows get no gradient.
    return pow(clamp(sum(pow(abs(x), this.norm), 1), 1e-30), 1 / this.norm);
  }
}

export interface N3Options {
  /** Whether rows hold complex numbers (real parts first), whose moduli are penalised. */
  readonly complex?: boolean;
  /** Divide by the number of edges. */
  readonly mean?: boolean;
}

/**
 * coefficient · Σ |x|³ over source, relation and destination of every edge: the nuclear 3-norm of Lacroix, Usunier and
 * Obozinski, "Canonical tensor decomposition for knowledge base completion" (2018).
 */
export class N3Regularizer extends Regularizer {
  readonly coefficient: number;
  readonly complex: boolean;
  readonly mean: boolean;

  constructor(coefficient: number, options: N3Options = {}) {
    super();
    checkOptionNames('N3Regularizer', options, { complex: true, mean: true });
    this.coefficient = checkNumber('N3Regularizer', 'coefficient', coefficient, 0);
    this.complex = options.complex === true;
    this.mean = options.mean === true;
  }

  forward(src: Tensor, dst: Tensor, relations: Tensor | null = null): Tensor {
    let total = add(this.#cubes(src), this.#cubes(dst));
    if (relations !== null) total = add(total, this.#cubes(relations));
    return mul(total, this.coefficient / (this.mean ? Math.max(1, src.shape[0]) : 1));
  }

  #cubes(x: Tensor): Tensor {
    if (!this.complex) return sum(mul(square(x), abs(x)));
    const half = x.shape[1] / 2;
    const squares = add(square(slice(x, 0, half, 1)), square(slice(x, half, undefined, 1)));
    return sum(mul(squares, sqrt(clamp(squares, 1e-30))));
  }
}

/**
 * `Dropout`: in training each element is 0 with probability p, otherwise divided by 1 − p; evaluation does not change
 * it.
 */

import { dropout, type Tensor } from '../tensor/index.js';
import { defaultRandom } from '../tensor/random.js';
import { checkNumber } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type { Random } from '../util/philox.js';
import { Module } from './module.js';

export interface DropoutOptions {
  /** The generator of masks; by default the shared one. */
  readonly random?: Random;
}

export class Dropout extends Module {
  readonly p: number;
  readonly #random: Random | null;

  constructor(p = 0.5, options: DropoutOptions = {}) {
    super();
    checkOptionNames('Dropout', options, { random: true });
    this.p = checkNumber('Dropout', 'p', p, 0, 1);
    this.#random = options.random ?? null;
  }

  /** Draws by `rowIds` (`graph.rowIds`), the ids of the rows of x, instead of their positions. */
  forward(x: Tensor, rowIds: Int32Array | null = null): Tensor {
    return this.training ? dropout(x, this.p, { random: this.#random ?? defaultRandom(), rowIds }) : x;
  }

  protected override describe(): string {
    return String(this.p);
  }
}

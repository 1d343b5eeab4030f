/**
 * `Dropout`: in training each element is 0 with probability p, otherwise divided by 1 − p; in evaluation nothing happens.
 */

import { dropout, type Tensor } from '../tensor/index.js';
import { defaultRandom } from '../tensor/random.js';
import { checkNumber } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type { Random } from '../util/philox.js';
import { Module } from './module.js';

export interface DropoutOptions {
  /** Where masks come from; the shared generator by default. */
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

  /** `rowIds` (`graph.rowIds`) name the rows of x: draws go by them, not by places. */
  forward(x: Tensor, rowIds: Int32Array | null = null): Tensor {
    return this.training ? dropout(x, this.p, { random: this.#random ?? defaultRandom(), rowIds }) : x;
  }

  protected override describe(): string {
    return String(this.p);
  }
}

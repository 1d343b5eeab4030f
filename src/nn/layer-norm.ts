/**
 * `LayerNorm` (Ba, Kiros, Hinton 2016): y = (x − mean) / √(var + eps) · γ + β over the last axis.
 */

import { layerNorm, type Tensor } from '../tensor/index.js';
import { formatShape } from '../tensor/shape.js';
import { checkNumber, expected, ShapeError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkSizes, newParameter, type ParameterOptions } from './factory.js';
import * as init from './init.js';
import { Module } from './module.js';

export interface LayerNormOptions extends ParameterOptions {
  readonly eps?: number;
  /** Scale by γ (from 1) and shift by β (from 0), both trained. The default. */
  readonly affine?: boolean;
}

/** Normalises x [..., features]. */
export class LayerNorm extends Module {
  readonly features: number;
  readonly eps: number;
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;

  constructor(features: number, options: LayerNormOptions = {}) {
    super();
    checkOptionNames('LayerNorm', options, { dtype: true, random: true, eps: true, affine: true });
    checkSizes('LayerNorm', { features });
    this.features = features;
    this.eps = checkNumber('LayerNorm', 'eps', options.eps ?? 1e-5, 0);
    const affine = options.affine !== false;
    this.weight = affine ? newParameter([features], options, init.ones) : null;
    this.bias = affine ? newParameter([features], options) : null;
  }

  forward(x: Tensor): Tensor {
    if (x.rank === 0 || x.shape[x.rank - 1] !== this.features) {
      throw new ShapeError(
        expected('LayerNorm', `a last axis of ${this.features}`, 'x', formatShape(x.shape)),
      );
    }
    return layerNorm(x, this.weight, this.bias, this.eps);
  }

  protected override describe(): string {
    return `${this.features}, eps ${this.eps}`;
  }
}

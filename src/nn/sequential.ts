/**
 * Chains of layers: `Sequential`, and `MLP` for the most common one.
 */

import type { Tensor } from '../tensor/index.js';
import { checkNumber, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { type ActivationName, activation } from './activation.js';
import { BatchNorm1d } from './batch-norm.js';
import { Dropout } from './dropout.js';
import { randomOf } from './factory.js';
import { LayerNorm } from './layer-norm.js';
import { Linear, type LinearOptions } from './linear.js';
import { type Layer, Module } from './module.js';

/**
 * Applies its layers in order; they are named 0, 1, 2 …
 *
 * @example
 * const model = new Sequential([new Linear(8, 16), new ReLU(), new Linear(16, 2)]);
 */
export class Sequential extends Module {
  readonly layers: readonly Layer[];

  constructor(layers: readonly Layer[]) {
    super();
    if (!Array.isArray(layers))
      throw new ValueError(expected('Sequential', 'an array of modules', 'layers', layers));
    for (const [i, layer] of layers.entries()) {
      if (!(layer instanceof Module))
        throw new ValueError(expected('Sequential', 'a module', `layers[${i}]`, layer));
    }
    this.layers = [...layers];
  }

  forward(x: Tensor): Tensor {
    return this.layers.reduce((value, layer) => layer.forward(value), x);
  }

  protected override fields(): Iterable<readonly [string, unknown]> {
    return this.layers.map((layer, i) => [String(i), layer] as const);
  }
}

const norms = {
  none: null,
  batch: (features: number, options: LinearOptions): Layer => new BatchNorm1d(features, options),
  layer: (features: number, options: LinearOptions): Layer => new LayerNorm(features, options),
};

export interface MLPOptions extends LinearOptions {
  /** The activation after every layer but the last; 'relu' by default. */
  readonly activation?: ActivationName;
  /** Probability of dropout after each activation; 0 by default. */
  readonly dropout?: number;
  /** Normalisation before each activation; 'none' by default. */
  readonly norm?: keyof typeof norms;
}

/**
 * Linear layers with normalisation, activation and dropout between them (in that order); the last is plain.
 *
 * @param sizes input, hidden and output sizes: [8, 16, 2] has two linear layers.
 */
export class MLP extends Module {
  readonly linears: readonly Linear[];
  readonly norms: readonly Layer[];
  readonly activation: Layer;
  readonly dropout: Dropout;

  constructor(sizes: readonly number[], options: MLPOptions = {}) {
    super();
    checkOptionNames('MLP', options, {
      dtype: true,
      random: true,
      bias: true,
      activation: true,
      dropout: true,
      norm: true,
    });
    if (!Array.isArray(sizes) || sizes.length < 2) {
      throw new ValueError(expected('MLP', 'at least an input and an output size', 'sizes', sizes));
    }
    const norm = options.norm ?? 'none';
    if (!Object.hasOwn(norms, norm))
      throw new ValueError(expected('MLP', `one of ${Object.keys(norms).join(', ')}`, 'norm', norm));
    const dropout = checkNumber('MLP', 'dropout', options.dropout ?? 0, 0, 1);
    const makeNorm = norms[norm];
    this.linears = sizes.slice(1).map((size, i) => new Linear(sizes[i], size, options));
    this.norms = makeNorm === null ? [] : sizes.slice(1, -1).map((size) => makeNorm(size, options));
    this.activation = activation(options.activation ?? 'relu');
    this.dropout = new Dropout(dropout, randomOf(options));
  }

  forward(x: Tensor): Tensor {
    const last = this.linears.length - 1;
    return this.linears.reduce((value, linear, i) => {
      const y = linear.forward(value);
      if (i === last) return y;
      const normed = this.norms.length > 0 ? this.norms[i].forward(y) : y;
      return this.dropout.forward(this.activation.forward(normed));
    }, x);
  }
}

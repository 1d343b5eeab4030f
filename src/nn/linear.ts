/**
 * `Linear`: y = x·Wᵀ + b.
 */
import { linear, type Tensor } from '../tensor/index.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkSizes, newFanParameter, type ParameterOptions } from './factory.js';
import { Module } from './module.js';

export interface LinearOptions extends ParameterOptions {
  /** Add a bias (the default). */
  readonly bias?: boolean;
}

/**
 * Maps x [..., in] to [..., out]. Weight [out, in] and bias [out] start uniform within ±1/√in.
 *
 * @example
 * const layer = new Linear(16, 4);
 * const y = layer.forward(x); // x: [N, 16], y: [N, 4]
 */
export class Linear extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;

  constructor(inFeatures: number, outFeatures: number, options: LinearOptions = {}) {
    super();
    checkOptionNames('Linear', options, { dtype: true, random: true, bias: true });
    checkSizes('Linear', { inFeatures, outFeatures });
    this.weight = newFanParameter([outFeatures, inFeatures], inFeatures, options);
    this.bias = options.bias === false ? null : newFanParameter([outFeatures], inFeatures, options);
  }

  get inFeatures(): number {
    return this.weight.shape[1];
  }

  get outFeatures(): number {
    return this.weight.shape[0];
  }

  forward(x: Tensor): Tensor {
    return linear(x, this.weight, this.bias);
  }

  protected override describe(): string {
    return `${this.inFeatures} → ${this.outFeatures}${this.bias === null ? ', no bias' : ''}`;
  }
}

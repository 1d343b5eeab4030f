/**
 * `TimeEncode`: encodes time spans as vectors, cos(w·Δ + b) (Xu et al. 2020, "Inductive representation learning on
 * temporal graphs", eq. 6; initial values as in TGN and TGL).
 */
import { type Tensor, timeEncode } from '../tensor/index.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkFloatDType, checkSizes, newBuffer, newParameter, type ParameterOptions } from './factory.js';
import { Module } from './module.js';

export interface TimeEncodeOptions extends ParameterOptions {
  /** Train frequencies and phases (the default); otherwise they are buffers. */
  readonly trainable?: boolean;
}

/** Maps Δ [...] to [..., dim]; w starts at 10^−(0 … 9) in equal steps of the exponent, b at 0. */
export class TimeEncode extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor;

  constructor(dim: number, options: TimeEncodeOptions = {}) {
    super();
    checkOptionNames('TimeEncode', options, { dtype: true, random: true, trainable: true });
    checkSizes('TimeEncode', { dim });
    const frequencies = (t: Tensor): void => {
      for (let i = 0; i < dim; i++) t.floats[i] = 1 / 10 ** (dim === 1 ? 0 : (9 * i) / (dim - 1));
    };
    const dtype = checkFloatDType(options.dtype);
    const trainable = options.trainable !== false;
    this.weight = trainable
      ? newParameter([dim], options, frequencies)
      : newBuffer([dim], dtype, frequencies);
    this.bias = trainable ? newParameter([dim], options) : newBuffer([dim], dtype);
  }

  /** Encodes spans of the module's dtype; compute differences of timestamps in f64 before casting. */
  forward(span: Tensor): Tensor {
    return timeEncode(span, this.weight, this.bias);
  }

  protected override describe(): string {
    return `${this.weight.size}${this.weight.requiresGrad ? '' : ', fixed'}`;
  }
}

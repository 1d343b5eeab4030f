/**
 * Embeddings without neighbours: `IdentityLayer`, the layer-normalised memory, and `JodieTimeLayer`, which moves an
 * embedding along with the time since its memory changed (Kumar et al. 2019, JODIE, eq. 4).
 */
import { newParameter, randomOf } from '../../nn/factory.js';
import { init, LayerNorm, Module, type ParameterOptions } from '../../nn/index.js';
import { add, type FloatDType, fromTypedArray, linear, mul, type Tensor } from '../../tensor/index.js';
import { checkInteger } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';

/** LN(h). */
export class IdentityLayer extends Module {
  readonly norm: LayerNorm;

  constructor(dim: number, options: ParameterOptions = {}) {
    super();
    checkOptionNames('IdentityLayer', options, { dtype: true, random: true });
    this.norm = new LayerNorm(dim, options);
  }

  forward(h: Tensor): Tensor {
    return this.norm.forward(h);
  }
}

/** h ∘ (1 + w·(t − t_memory) / (t + 1) + b); w and b [d] start at N(0, 1). */
export class JodieTimeLayer extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor;

  constructor(dim: number, options: ParameterOptions = {}) {
    super();
    checkOptionNames('JodieTimeLayer', options, { dtype: true, random: true });
    checkInteger('JodieTimeLayer', 'dim', dim, 1);
    const normal = (t: Tensor): Tensor => init.normal(t, randomOf(options));
    this.weight = newParameter([dim, 1], options, normal);
    this.bias = newParameter([dim], options, normal);
  }

  /** h [n, d]; times of the question and of the memory [n]. */
  forward(h: Tensor, times: Float64Array, memoryTimes: Float64Array): Tensor {
    const n = times.length;
    const passed = (h.dtype as FloatDType) === 'f64' ? new Float64Array(n) : new Float32Array(n);
    for (let i = 0; i < n; i++) passed[i] = (times[i] - memoryTimes[i]) / (Math.abs(times[i]) + 1);
    const drift = linear(fromTypedArray(passed, [n, 1]), this.weight, this.bias);
    return mul(h, add(drift, 1));
  }

  protected override describe(): string {
    return String(this.bias.size);
  }
}

/**
 * Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019), as in torch.optim.
 *
 * m = β₁·m + (1 − β₁)·g; v = β₂·v + (1 − β₂)·g²; p −= lr·m̂ / (√v̂ + eps) with m̂ = m/(1 − β₁ᵗ), v̂ = v/(1 − β₂ᵗ).
 * Weight decay adds weightDecay·p to g (Adam) or subtracts lr·weightDecay·p from p (AdamW).
 *
 * Sparse gradient rows update only their rows and the moments of these ("lazy Adam"); t counts steps of the whole
 * parameter.
 */
import { type FloatArray, kernels } from '../../native/index.js';
import type { SparseRows, Tensor } from '../../tensor/index.js';
import { checkNumber, DeviceError, expected, ValueError } from '../../util/errors.js';
import { type BaseOptions, Optimizer, type OptimizerInput, type ParameterState } from './optimizer.js';

export interface AdamOptions extends BaseOptions {
  /** The decay rates of the two moments, each in [0, 1). */
  betas: readonly [number, number];
  eps: number;
  weightDecay: number;
  /** Divide by the largest v̂ so far (Reddi, Kale, Kumar 2018); computed without a native kernel, for Adam only. */
  amsgrad: boolean;
}

const defaults: AdamOptions = { lr: 0.001, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0, amsgrad: false };

abstract class AdamBase extends Optimizer<AdamOptions> {
  /** Whether weight decay is separate from the gradient. */
  protected abstract readonly decoupled: boolean;

  protected check(options: AdamOptions): void {
    checkNumber(this.name, 'lr', options.lr, 0);
    if (!Array.isArray(options.betas) || options.betas.length !== 2) {
      throw new ValueError(expected(this.name, 'two numbers', 'betas', options.betas));
    }
    for (const [i, beta] of options.betas.entries()) {
      checkNumber(this.name, `betas[${i}]`, beta);
      if (beta < 0 || beta >= 1)
        throw new ValueError(expected(this.name, 'a number of at least 0 and below 1', `betas[${i}]`, beta));
    }
    checkNumber(this.name, 'eps', options.eps, 0);
    checkNumber(this.name, 'weightDecay', options.weightDecay, 0);
  }

  protected updateDense(p: Tensor, g: FloatArray, state: ParameterState, o: AdamOptions): void {
    const m = this.stateOf(p, state, 'mean');
    const v = this.stateOf(p, state, 'meanSquare');
    const [b1, b2] = o.betas;
    const c1 = 1 - b1 ** state.step;
    const c2 = 1 - b2 ** state.step;
    if (o.amsgrad) {
      checkOnCpu(p);
      const most = this.stateOf(p, state, 'maxMeanSquare');
      for (let i = 0; i < g.length; i++)
        amsgradStep(p.floats, g, i, i, m, v, most, o, this.decoupled, c1, c2);
      return;
    }
    kernels().adamStep({
      p: p.floats,
      g,
      m,
      v,
      n: p.size,
      lr: o.lr,
      beta1: b1,
      beta2: b2,
      eps: o.eps,
      weightDecay: o.weightDecay,
      decoupled: this.decoupled,
      c1,
      c2,
    });
  }

  protected updateRows(p: Tensor, g: SparseRows, state: ParameterState, o: AdamOptions): void {
    const m = this.stateOf(p, state, 'mean');
    const v = this.stateOf(p, state, 'meanSquare');
    const [b1, b2] = o.betas;
    const c1 = 1 - b1 ** state.step;
    const c2 = 1 - b2 ** state.step;
    if (o.amsgrad) {
      checkOnCpu(p);
      const most = this.stateOf(p, state, 'maxMeanSquare');
      for (const [r, id] of g.ids.entries()) {
        for (let j = 0; j < g.width; j++) {
          const [at, from] = [id * g.width + j, r * g.width + j];
          amsgradStep(p.floats, g.rows, at, from, m, v, most, o, this.decoupled, c1, c2);
        }
      }
      return;
    }
    kernels().adamStepRows({
      p: p.floats,
      ids: g.ids,
      g: g.rows,
      m,
      v,
      n: g.ids.length,
      width: g.width,
      lr: o.lr,
      beta1: b1,
      beta2: b2,
      eps: o.eps,
      weightDecay: o.weightDecay,
      decoupled: this.decoupled,
      c1,
      c2,
    });
  }
}

function checkOnCpu(p: Tensor): void {
  if (p.device === null) return;
  throw new DeviceError(
    `Adam: expected parameters on the CPU for amsgrad, got one on ${p.device.name}. Set amsgrad: false.`,
    { reason: 'no-kernel' },
  );
}

/** Updates element `at` of the parameter and its state from element `from` of the gradient. */
function amsgradStep(
  p: FloatArray,
  gradient: FloatArray,
  at: number,
  from: number,
  m: FloatArray,
  v: FloatArray,
  most: FloatArray,
  { lr, betas: [b1, b2], eps, weightDecay }: AdamOptions,
  decoupled: boolean,
  c1: number,
  c2: number,
): void {
  const g = gradient[from] + (decoupled ? 0 : weightDecay * p[at]);
  if (decoupled) p[at] -= lr * weightDecay * p[at];
  m[at] = b1 * m[at] + (1 - b1) * g;
  v[at] = b2 * v[at] + (1 - b2) * g * g;
  most[at] = Math.max(most[at], v[at]);
  p[at] -= ((lr / c1) * m[at]) / (Math.sqrt(most[at]) / Math.sqrt(c2) + eps);
}

/**
 * Adam with weight decay in the gradient.
 *
 * @example
 * const optimizer = new Adam(model.parameters(), { lr: 0.01, weightDecay: 5e-4 });
 */
export class Adam extends AdamBase {
  protected readonly decoupled = false;

  constructor(params: OptimizerInput<AdamOptions>, options: Partial<AdamOptions> = {}) {
    super(params, defaults, options);
  }
}

/** Adam with weight decay (0.01 by default) separate from the gradient. */
export class AdamW extends AdamBase {
  protected readonly decoupled = true;

  constructor(params: OptimizerInput<AdamOptions>, options: Partial<AdamOptions> = {}) {
    super(params, { ...defaults, weightDecay: 0.01 }, options);
  }
}

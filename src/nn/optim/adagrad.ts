/**
 * Adagrad (Duchi, Hazan, Singer 2011), as torch.optim.Adagrad.
 */
import { type FloatArray, kernels } from '../../native/index.js';
import type { SparseRows, Tensor } from '../../tensor/index.js';
import { checkNumber } from '../../util/errors.js';
import { type BaseOptions, Optimizer, type OptimizerInput, type ParameterState } from './optimizer.js';

export interface AdagradOptions extends BaseOptions {
  lrDecay: number;
  weightDecay: number;
  /** The initial value of the sums of squares. */
  initialAccumulator: number;
  eps: number;
}

/**
 * Steps by s += g²; p −= lr / (1 + (t − 1)·lrDecay) · g / (√s + eps).
 *
 * Sparse gradient rows give the results of the dense form, except that weight decay applies only to their rows.
 */
export class Adagrad extends Optimizer<AdagradOptions> {
  constructor(params: OptimizerInput<AdagradOptions>, options: Partial<AdagradOptions> = {}) {
    super(params, { lr: 0.01, lrDecay: 0, weightDecay: 0, initialAccumulator: 0, eps: 1e-10 }, options);
  }

  protected check(options: AdagradOptions): void {
    checkNumber('Adagrad', 'lr', options.lr, 0);
    checkNumber('Adagrad', 'lrDecay', options.lrDecay, 0);
    checkNumber('Adagrad', 'weightDecay', options.weightDecay, 0);
    checkNumber('Adagrad', 'initialAccumulator', options.initialAccumulator, 0);
    checkNumber('Adagrad', 'eps', options.eps, 0);
  }

  protected updateDense(p: Tensor, g: FloatArray, state: ParameterState, o: AdagradOptions): void {
    const sum = this.stateOf(p, state, 'sum', o.initialAccumulator);
    kernels().adagradStep(p.floats, g, sum, p.size, decayedRate(state, o), o.eps, o.weightDecay);
  }

  protected updateRows(p: Tensor, g: SparseRows, state: ParameterState, o: AdagradOptions): void {
    const sum = this.stateOf(p, state, 'sum', o.initialAccumulator);
    kernels().adagradStepRows({
      p: p.floats,
      ids: g.ids,
      g: g.rows,
      sum,
      n: g.ids.length,
      width: g.width,
      lr: decayedRate(state, o),
      eps: o.eps,
      weightDecay: o.weightDecay,
    });
  }
}

function decayedRate(state: ParameterState, o: AdagradOptions): number {
  return o.lr / (1 + (state.step - 1) * o.lrDecay);
}

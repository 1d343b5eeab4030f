/**
 * Stochastic gradient descent with momentum, as torch.optim.SGD.
 */
import { type FloatArray, kernels } from '../../native/index.js';
import type { SparseRows, Tensor } from '../../tensor/index.js';
import { checkNumber, expected, StateError, ValueError } from '../../util/errors.js';
import { type BaseOptions, Optimizer, type OptimizerInput, type ParameterState } from './optimizer.js';

export interface SGDOptions extends BaseOptions {
  momentum: number;
  dampening: number;
  weightDecay: number;
  nesterov: boolean;
}

/**
 * Steps by d = g + weightDecay·p; b = momentum·b + (1 − dampening)·d; p −= lr·b (nesterov: lr·(d + momentum·b)).
 *
 * Sparse gradient rows update only their rows; momentum and weight decay do not apply to other rows. They support
 * neither dampening nor nesterov.
 *
 * @example
 * const optimizer = new SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
 */
export class SGD extends Optimizer<SGDOptions> {
  constructor(params: OptimizerInput<SGDOptions>, options: Partial<SGDOptions> = {}) {
    super(params, { lr: 0.01, momentum: 0, dampening: 0, weightDecay: 0, nesterov: false }, options);
  }

  protected check(options: SGDOptions): void {
    checkNumber('SGD', 'lr', options.lr, 0);
    checkNumber('SGD', 'momentum', options.momentum, 0);
    checkNumber('SGD', 'dampening', options.dampening, 0, 1);
    checkNumber('SGD', 'weightDecay', options.weightDecay, 0);
    if (options.nesterov && (options.momentum === 0 || options.dampening !== 0)) {
      throw new ValueError(
        expected(
          'SGD',
          'momentum above 0 and dampening 0 with nesterov',
          'options',
          `momentum ${options.momentum}, dampening ${options.dampening}`,
        ),
      );
    }
  }

  protected updateDense(p: Tensor, g: FloatArray, state: ParameterState, o: SGDOptions): void {
    const first = !state.tensors.has('momentum');
    const buffer = o.momentum === 0 ? null : this.stateOf(p, state, 'momentum');
    kernels().sgdStep({
      p: p.floats,
      g,
      buffer,
      n: p.size,
      lr: o.lr,
      momentum: o.momentum,
      dampening: o.dampening,
      weightDecay: o.weightDecay,
      nesterov: o.nesterov,
      first,
    });
  }

  protected updateRows(p: Tensor, g: SparseRows, state: ParameterState, o: SGDOptions): void {
    if (o.nesterov || o.dampening !== 0) {
      throw new StateError(
        'SGD.step: expected neither nesterov nor dampening for a parameter with sparse gradient rows, got one. Use a dense embedding.',
      );
    }
    const buffer = o.momentum === 0 ? null : this.stateOf(p, state, 'momentum');
    kernels().sgdStepRows({
      p: p.floats,
      ids: g.ids,
      g: g.rows,
      buffer,
      n: g.ids.length,
      width: g.width,
      lr: o.lr,
      momentum: o.momentum,
      weightDecay: o.weightDecay,
    });
  }
}

/**
 * The row optimisers SGD, Adagrad (with a sum per element or per row) and Adam, each a kernel and its options.
 *
 * Adam is lazy: the moments of other rows do not decay, and the bias correction uses the number of steps of the whole
 * table (as torch.optim.SparseAdam does), so a row that is first updated late starts without correction.
 */
import type { RowStepArguments } from '../native/optim-kernels.js';
import { checkNumber } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { BaseRowOptimizer, type RowOptimizer, type StepKernels } from './row-optimizer.js';

interface CommonOptions {
  readonly learningRate?: number;
  readonly weightDecay?: number;
}

/** An optimiser whose update is one kernel. */
abstract class KernelRowOptimizer extends BaseRowOptimizer {
  readonly #weightDecay: number;

  constructor(where: string, options: CommonOptions) {
    super(options.learningRate ?? 0.1);
    this.#weightDecay = checkNumber(where, 'weightDecay', options.weightDecay ?? 0, 0);
  }

  protected update(
    run: StepKernels,
    values: Float32Array,
    states: readonly Float32Array[],
    ids: Int32Array,
    gradient: Float32Array,
    width: number,
  ): void | Promise<void> {
    const common = { p: values, ids, g: gradient, n: ids.length, width };
    const rates = { lr: this.learningRate, weightDecay: this.#weightDecay };
    return this.runKernel(run, { ...common, ...rates }, states);
  }

  /** Runs the kernel of a step; `step` has the arguments that all kernels share. */
  protected abstract runKernel(
    run: StepKernels,
    step: RowStepArguments,
    states: readonly Float32Array[],
  ): void | Promise<void>;
}

export interface RowSGDOptions {
  readonly learningRate?: number;
  readonly momentum?: number;
  readonly weightDecay?: number;
}

class RowSGD extends KernelRowOptimizer {
  readonly type = 'sgd';
  protected readonly suffixes: readonly string[];
  readonly #momentum: number;

  constructor(options: RowSGDOptions) {
    super('rowSGD', options);
    this.#momentum = checkNumber('rowSGD', 'momentum', options.momentum ?? 0, 0);
    this.suffixes = this.#momentum > 0 ? ['momentum'] : [];
  }

  protected runKernel(run: StepKernels, step: RowStepArguments, states: readonly Float32Array[]) {
    return run.sgdStepRows({ ...step, buffer: states[0] ?? null, momentum: this.#momentum });
  }
}

export interface RowAdagradOptions {
  readonly learningRate?: number;
  readonly eps?: number;
  /** The initial value of the sums of squares. */
  readonly initialValue?: number;
  /** The rate of step t (from 0) is learningRate / (1 + t · learningRateDecay). */
  readonly learningRateDecay?: number;
  readonly weightDecay?: number;
}

export interface RowSumAdagradOptions extends Omit<RowAdagradOptions, 'learningRateDecay'> {}

class RowAdagrad extends KernelRowOptimizer {
  readonly type: string = 'adagrad';
  protected readonly suffixes = ['sum'];
  protected override readonly initialState: number;
  protected readonly eps: number;
  readonly #decay: number;

  constructor(where: string, options: RowAdagradOptions) {
    super(where, options);
    this.eps = checkNumber(where, 'eps', options.eps ?? 1e-10, 0);
    this.initialState = checkNumber(where, 'initialValue', options.initialValue ?? 0, 0);
    this.#decay = checkNumber(where, 'learningRateDecay', options.learningRateDecay ?? 0, 0);
  }

  protected runKernel(run: StepKernels, step: RowStepArguments, [sum]: readonly Float32Array[]) {
    const lr = step.lr / (1 + (this.steps - 1) * this.#decay);
    return run.adagradStepRows({ ...step, lr, sum, eps: this.eps });
  }
}

/** Adagrad with one sum per row: a table has 1 + 1/width times its values in memory and in files, not twice. */
class RowSumAdagrad extends RowAdagrad {
  override readonly type = 'row_adagrad';
  protected override readonly statePerRow = true;

  protected override runKernel(run: StepKernels, step: RowStepArguments, [sum]: readonly Float32Array[]) {
    return run.rowAdagradStepRows({ ...step, sum, eps: this.eps });
  }
}

export interface RowAdamOptions {
  readonly learningRate?: number;
  readonly betas?: readonly [number, number];
  readonly eps?: number;
  readonly weightDecay?: number;
}

class RowAdam extends KernelRowOptimizer {
  readonly type = 'adam';
  protected readonly suffixes = ['m', 'v'];
  readonly #betas: readonly [number, number];
  readonly #eps: number;

  constructor(options: RowAdamOptions) {
    super('rowAdam', options);
    const betas = options.betas ?? [0.9, 0.999];
    this.#betas = [
      checkNumber('rowAdam', 'betas[0]', betas[0], 0, 1),
      checkNumber('rowAdam', 'betas[1]', betas[1], 0, 1),
    ];
    this.#eps = checkNumber('rowAdam', 'eps', options.eps ?? 1e-8, 0);
  }

  protected runKernel(run: StepKernels, step: RowStepArguments, [m, v]: readonly Float32Array[]) {
    const [beta1, beta2] = this.#betas;
    const corrections = { c1: 1 - beta1 ** this.steps, c2: 1 - beta2 ** this.steps };
    return run.adamStepRows({
      ...{ ...step, m, v, beta1, beta2, eps: this.#eps, decoupled: false },
      ...corrections,
    });
  }
}

/** Makes plain or momentum SGD; a row's momentum decays only in its own steps. */
export function rowSGD(options: RowSGDOptions = {}): RowOptimizer {
  checkOptionNames('rowSGD', options, { learningRate: true, momentum: true, weightDecay: true });
  return new RowSGD(options);
}

/** Makes Adagrad: sum += g², value −= rate · g / (√sum + eps). */
export function rowAdagrad(options: RowAdagradOptions = {}): RowOptimizer {
  checkOptionNames('rowAdagrad', options, {
    learningRate: true,
    eps: true,
    initialValue: true,
    learningRateDecay: true,
    weightDecay: true,
  });
  return new RowAdagrad('rowAdagrad', options);
}

/** Makes Adagrad with one sum per row: sum += mean of g² over the row, value −= rate · g / (√sum + eps). */
export function rowSumAdagrad(options: RowSumAdagradOptions = {}): RowOptimizer {
  checkOptionNames('rowSumAdagrad', options, {
    ...{ learningRate: true, eps: true, initialValue: true, weightDecay: true },
  });
  return new RowSumAdagrad('rowSumAdagrad', options);
}

/** Makes lazy Adam. */
export function rowAdam(options: RowAdamOptions = {}): RowOptimizer {
  checkOptionNames('rowAdam', options, { learningRate: true, betas: true, eps: true, weightDecay: true });
  return new RowAdam(options);
}

/**
 * Recurrent cells with PyTorch's layout of weights: `GRUCell` (Cho et al. 2014) and `RNNCell` (Elman 1990).
 *
 * A call computes one step: x [B, in] and the state h [B, hidden] give the next state; h is 0 by default.
 * All weights start uniform within ±1/√hidden.
 */

import { onDevice } from '../tensor/device.js';
import { linear, type Tensor, zeros } from '../tensor/index.js';
import { gruGates, rnnGates } from '../tensor/ops/cells.js';
import { formatShape } from '../tensor/shape.js';
import { expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkSizes, newFanParameter, type ParameterOptions } from './factory.js';
import { Module } from './module.js';

export interface CellOptions extends ParameterOptions {
  /** Add a bias to both products (the default). */
  readonly bias?: boolean;
}

interface CellWeights {
  readonly weightIh: Tensor;
  readonly weightHh: Tensor;
  readonly biasIh: Tensor | null;
  readonly biasHh: Tensor | null;
}

function makeWeights(
  where: string,
  inputSize: number,
  hiddenSize: number,
  gates: number,
  options: CellOptions,
): CellWeights {
  checkSizes(where, { inputSize, hiddenSize });
  const make = (shape: readonly number[]): Tensor => newFanParameter(shape, hiddenSize, options);
  const rows = gates * hiddenSize;
  const weightIh = make([rows, inputSize]);
  const weightHh = make([rows, hiddenSize]);
  const biased = options.bias !== false;
  return { weightIh, weightHh, biasIh: biased ? make([rows]) : null, biasHh: biased ? make([rows]) : null };
}

/** Checks the given state, or returns zeros. */
function stateFor(where: string, x: Tensor, h: Tensor | undefined, hiddenSize: number): Tensor {
  if (x.rank !== 2) throw new ShapeError(expected(where, 'shape [B, in]', 'x', formatShape(x.shape)));
  if (h === undefined) return onDevice(x.device, () => zeros([x.shape[0], hiddenSize], { dtype: x.dtype }));
  if (h.rank !== 2 || h.shape[0] !== x.shape[0] || h.shape[1] !== hiddenSize) {
    throw new ShapeError(expected(where, `shape [${x.shape[0]}, ${hiddenSize}]`, 'h', formatShape(h.shape)));
  }
  return h;
}

/**
 * Computes r = σ(W_ir·x + b_ir + W_hr·h + b_hr), z likewise, n = tanh(W_in·x + b_in + r·(W_hn·h + b_hn)), h' = (1 −
 * z)·n + z·h. The three blocks are stacked in the order r, z, n: weightIh [3H, in], weightHh [3H, H], biases [3H].
 */
export class GRUCell extends Module {
  readonly hiddenSize: number;
  readonly weightIh: Tensor;
  readonly weightHh: Tensor;
  readonly biasIh: Tensor | null;
  readonly biasHh: Tensor | null;

  constructor(inputSize: number, hiddenSize: number, options: CellOptions = {}) {
    super();
    checkOptionNames('GRUCell', options, { dtype: true, random: true, bias: true });
    const weights = makeWeights('GRUCell', inputSize, hiddenSize, 3, options);
    this.hiddenSize = hiddenSize;
    this.weightIh = weights.weightIh;
    this.weightHh = weights.weightHh;
    this.biasIh = weights.biasIh;
    this.biasHh = weights.biasHh;
  }

  forward(x: Tensor, h?: Tensor): Tensor {
    const state = stateFor('GRUCell', x, h, this.hiddenSize);
    return gruGates(linear(x, this.weightIh, this.biasIh), linear(state, this.weightHh, this.biasHh), state);
  }

  protected override describe(): string {
    return `${this.weightIh.shape[1]} → ${this.hiddenSize}`;
  }
}

export interface RNNCellOptions extends CellOptions {
  readonly nonlinearity?: 'tanh' | 'relu';
}

/** Computes h' = tanh(W_ih·x + b_ih + W_hh·h + b_hh), or relu. */
export class RNNCell extends Module {
  readonly hiddenSize: number;
  readonly nonlinearity: 'tanh' | 'relu';
  readonly weightIh: Tensor;
  readonly weightHh: Tensor;
  readonly biasIh: Tensor | null;
  readonly biasHh: Tensor | null;

  constructor(inputSize: number, hiddenSize: number, options: RNNCellOptions = {}) {
    super();
    checkOptionNames('RNNCell', options, { dtype: true, random: true, bias: true, nonlinearity: true });
    const nonlinearity = options.nonlinearity ?? 'tanh';
    if (nonlinearity !== 'tanh' && nonlinearity !== 'relu') {
      throw new ValueError(expected('RNNCell', "'tanh' or 'relu'", 'nonlinearity', nonlinearity));
    }
    const weights = makeWeights('RNNCell', inputSize, hiddenSize, 1, options);
    this.hiddenSize = hiddenSize;
    this.nonlinearity = nonlinearity;
    this.weightIh = weights.weightIh;
    this.weightHh = weights.weightHh;
    this.biasIh = weights.biasIh;
    this.biasHh = weights.biasHh;
  }

  forward(x: Tensor, h?: Tensor): Tensor {
    const state = stateFor('RNNCell', x, h, this.hiddenSize);
    const fromInput = linear(x, this.weightIh, this.biasIh);
    return rnnGates(fromInput, linear(state, this.weightHh, this.biasHh), this.nonlinearity);
  }

  protected override describe(): string {
    return `${this.weightIh.shape[1]} → ${this.hiddenSize}, ${this.nonlinearity}`;
  }
}

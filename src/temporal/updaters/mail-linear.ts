/**
 * W·[mail ‖ TE(span)] + b with the columns of W in two parameters: mails are constants, so that no gradient is computed
 * for their many columns; only the encoding of time gets one.
 */
import { newFanParameter } from '../../nn/factory.js';
import { Module, type ParameterOptions, TimeEncode } from '../../nn/index.js';
import type { Tensor } from '../../tensor/index.js';
import { linearPair } from '../../tensor/ops/matmul.js';
import { checkInteger } from '../../util/errors.js';
import type { MemoryUpdaterOptions } from './memory-updater.js';

export interface MailLinearOptions extends ParameterOptions {
  readonly dimMail: number;
  readonly dimTime: number;
  readonly dimOut: number;
  /** Weights start uniform within ±1/√fan. */
  readonly fan: number;
}

export class MailLinear extends Module {
  readonly weightMail: Tensor;
  readonly weightTime: Tensor;
  readonly bias: Tensor;

  constructor(options: MailLinearOptions) {
    super();
    const { dimMail, dimTime, dimOut, fan } = options;
    this.weightMail = newFanParameter([dimOut, dimMail], fan, options);
    this.weightTime = newFanParameter([dimOut, dimTime], fan, options);
    this.bias = newFanParameter([dimOut], fan, options);
  }

  /** mails [m, 2D + E], time [m, T] → [m, out]. */
  forward(mails: Tensor, time: Tensor): Tensor {
    return linearPair(mails, this.weightMail, time, this.weightTime, this.bias);
  }

  protected override describe(): string {
    return `${this.weightMail.shape[1]} + ${this.weightTime.shape[1]} → ${this.bias.size}`;
  }
}

/** The input side that the recurrent updaters share: encoding of time and product with the gates' weights. */
export function recurrentInput(
  where: string,
  gates: number,
  options: MemoryUpdaterOptions,
): { readonly timeEncode: TimeEncode; readonly input: MailLinear } {
  const dimMemory = checkInteger(where, 'dimMemory', options.dimMemory, 1);
  const dimTime = checkInteger(where, 'dimTime', options.dimTime, 1);
  const dimEdge = checkInteger(where, 'dimEdge', options.dimEdge ?? 0);
  const dimMail = 2 * dimMemory + dimEdge;
  const input = new MailLinear({ ...options, dimMail, dimTime, dimOut: gates * dimMemory, fan: dimMemory });
  return { timeEncode: new TimeEncode(dimTime, options), input };
}

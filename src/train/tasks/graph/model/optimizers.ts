/**
 * The optimisers of a model's dense parameters from its configuration: one per distinct configuration, and all of them as
 * one for checkpoints.
 */
import type { OptimizerState } from '../../../../nn/index.js';
import { type AnyOptimizer, denseOptimizer } from '../../../../storage/optimizer-types.js';
import type { Tensor } from '../../../../tensor/index.js';
import { FormatError } from '../../../../util/errors.js';
import type { OptimizerConfig } from '../../../config/index.js';

/** Makes the optimiser of a configuration for these parameters. */
export function newOptimizer(params: readonly Tensor[], config: OptimizerConfig): AnyOptimizer {
  return denseOptimizer(params, config);
}

/** Several optimisers as one: equal configurations share one. */
export class OptimizerSet {
  readonly #members: readonly { readonly optimizer: AnyOptimizer; readonly lr: number }[];

  constructor(groups: Iterable<readonly [Tensor, OptimizerConfig]>) {
    const byConfig = new Map<string, { params: Tensor[]; config: OptimizerConfig }>();
    for (const [param, config] of groups) {
      const key = JSON.stringify(config);
      const group = byConfig.get(key);
      if (group === undefined) byConfig.set(key, { params: [param], config });
      else group.params.push(param);
    }
    this.#members = [...byConfig.values()].map(({ params, config }) => ({
      optimizer: newOptimizer(params, config),
      lr: config.options.learning_rate,
    }));
  }

  step(): void {
    for (const { optimizer } of this.#members) optimizer.step();
  }

  zeroGrad(): void {
    for (const { optimizer } of this.#members) optimizer.zeroGrad();
  }

  /** Fetches the state from a device. */
  async cpu(): Promise<void> {
    for (const { optimizer } of this.#members) await optimizer.cpu();
  }

  /** Sets every learning rate to the configured one times `factor`. */
  scaleRates(factor: number): void {
    for (const { optimizer, lr } of this.#members) optimizer.lr = lr * factor;
  }

  stateDict(): OptimizerState {
    const tensors: Record<string, Tensor> = {};
    const groups = this.#members.map(({ optimizer }, i) => {
      const { tensors: own, ...options } = optimizer.stateDict();
      for (const [name, t] of Object.entries(own)) tensors[`${i}.${name}`] = t;
      return { count: 1, options: { ...options } };
    });
    return { kind: 'OptimizerSet', groups, steps: [], tensors };
  }

  loadStateDict(state: OptimizerState): void {
    const parts = state.groups.map(({ options }) => options as unknown as Omit<OptimizerState, 'tensors'>);
    if (parts.length !== this.#members.length)
      throw new FormatError(
        `OptimizerSet: expected the state of ${this.#members.length} optimisers, got ${parts.length}. The optimisers of the configuration have changed.`,
      );
    for (const [i, { optimizer }] of this.#members.entries()) {
      const own = Object.entries(state.tensors).filter(([name]) => name.startsWith(`${i}.`));
      const tensors = Object.fromEntries(own.map(([name, t]) => [name.slice(`${i}.`.length), t]));
      optimizer.loadStateDict({ ...parts[i], tensors });
    }
  }
}

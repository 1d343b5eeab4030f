/**
 * Activation functions as modules, and by name for configuration files.
 */

import { elu, gelu, leakyRelu, relu, sigmoid, softplus, type Tensor, tanh } from '../tensor/index.js';
import { checkNumber, expected, ValueError } from '../util/errors.js';
import { type Layer, Module } from './module.js';

export class ReLU extends Module {
  forward(x: Tensor): Tensor {
    return relu(x);
  }
}

/** Computes x for x > 0, else slope·x. */
export class LeakyReLU extends Module {
  readonly slope: number;

  constructor(slope = 0.01) {
    super();
    this.slope = checkNumber('LeakyReLU', 'slope', slope);
  }

  forward(x: Tensor): Tensor {
    return leakyRelu(x, this.slope);
  }

  protected override describe(): string {
    return String(this.slope);
  }
}

/** Computes x for x > 0, else alpha·(exp(x) − 1). */
export class ELU extends Module {
  readonly alpha: number;

  constructor(alpha = 1) {
    super();
    this.alpha = checkNumber('ELU', 'alpha', alpha);
  }

  forward(x: Tensor): Tensor {
    return elu(x, this.alpha);
  }

  protected override describe(): string {
    return String(this.alpha);
  }
}

/** Computes the exact form x·Φ(x). */
export class GELU extends Module {
  forward(x: Tensor): Tensor {
    return gelu(x);
  }
}

export class Sigmoid extends Module {
  forward(x: Tensor): Tensor {
    return sigmoid(x);
  }
}

export class Tanh extends Module {
  forward(x: Tensor): Tensor {
    return tanh(x);
  }
}

/** Computes log(1 + exp(x)). */
export class Softplus extends Module {
  forward(x: Tensor): Tensor {
    return softplus(x);
  }
}

/** Returns its input: the activation 'none'. */
export class Identity extends Module {
  forward(x: Tensor): Tensor {
    return x;
  }
}

const makers = {
  relu: () => new ReLU(),
  leakyRelu: () => new LeakyReLU(),
  elu: () => new ELU(),
  gelu: () => new GELU(),
  sigmoid: () => new Sigmoid(),
  tanh: () => new Tanh(),
  softplus: () => new Softplus(),
  none: () => new Identity(),
} satisfies Record<string, () => Layer>;

export type ActivationName = keyof typeof makers;

/** The activations by their names in a configuration. */
export const activationTypes = {
  NONE: 'none',
  RELU: 'relu',
  SIGMOID: 'sigmoid',
  LEAKY_RELU: 'leakyRelu',
  ELU: 'elu',
  GELU: 'gelu',
  TANH: 'tanh',
  SOFTPLUS: 'softplus',
} as const satisfies Record<string, ActivationName>;

/** Makes an activation module by name. */
export function activation(name: ActivationName): Layer {
  if (typeof name !== 'string' || !Object.hasOwn(makers, name)) {
    throw new ValueError(expected('activation', `one of ${Object.keys(makers).join(', ')}`, 'name', name));
  }
  return makers[name]();
}

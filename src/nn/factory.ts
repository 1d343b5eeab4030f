/**
 * Makes the parameters of layers: outside any scope, of one float dtype, filled by an initialiser.
 */

import { isFloat } from '../tensor/dtype.js';
import { type FloatDType, type Tensor, zeros } from '../tensor/index.js';
import { unscoped } from '../tensor/scope.js';
import { checkInteger, DTypeError, expected } from '../util/errors.js';
import type { Random } from '../util/philox.js';
import * as init from './init.js';
import { buffer, parameter } from './parameter.js';

/** Options of every layer with parameters. */
export interface ParameterOptions {
  /** f32 by default; f64 is for checking gradients. */
  readonly dtype?: FloatDType;
  /** The generator of initial values; by default the shared one (see `manualSeed`). */
  readonly random?: Random;
}

/** Makes a parameter of zeros and fills it. */
export function newParameter(
  shape: readonly number[],
  options: ParameterOptions,
  fill: (t: Tensor) => unknown = () => {},
): Tensor {
  return unscoped(() => {
    const t = zeros(shape, { dtype: checkFloatDType(options.dtype) });
    fill(t);
    return parameter(t);
  });
}

/** Makes a parameter that is uniform within ±1/√fan, as PyTorch initialises linear layers and cells. */
export function newFanParameter(shape: readonly number[], fan: number, options: ParameterOptions): Tensor {
  const bound = fan > 0 ? 1 / Math.sqrt(fan) : 0;
  return newParameter(shape, options, (t) =>
    init.uniform(t, { ...randomOf(options), lo: -bound, hi: bound }),
  );
}

export function newBuffer(
  shape: readonly number[],
  dtype: FloatDType | 'i32',
  fill: (t: Tensor) => unknown = () => {},
): Tensor {
  return unscoped(() => {
    const t = zeros(shape, { dtype });
    fill(t);
    return buffer(t);
  });
}

/** Returns only the `random` option, if it was given. */
export function randomOf(options: ParameterOptions): { readonly random?: Random } {
  return options.random === undefined ? {} : { random: options.random };
}

/** Returns only the options of parameters, without those of the layer. */
export function parameterOptions({ dtype, random }: ParameterOptions): ParameterOptions {
  return { ...(dtype === undefined ? {} : { dtype }), ...(random === undefined ? {} : { random }) };
}

export function checkFloatDType(dtype: FloatDType | undefined): FloatDType {
  if (dtype === undefined) return 'f32';
  if (!isFloat(dtype)) throw new DTypeError(expected('module', "'f32' or 'f64'", 'dtype', dtype));
  return dtype;
}

/** Throws unless all sizes are whole numbers of at least 1. */
export function checkSizes(where: string, sizes: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(sizes)) checkInteger(where, name, value, 1);
}

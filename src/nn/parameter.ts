/**
 * Tensors of a module: parameters (trained) and buffers (saved but not trained, such as running statistics).
 *
 * Both are ordinary tensors with a mark; an unmarked tensor in a field of a module is a plain value that is neither
 * trained nor saved.
 */

import { isFloat } from '../tensor/dtype.js';
import { keep, Tensor } from '../tensor/index.js';
import { DTypeError, expected, StateError, ValueError } from '../util/errors.js';

const parameters = new WeakSet<Tensor>();
const buffers = new WeakSet<Tensor>();

/**
 * Marks a tensor as a parameter: a leaf that requires a gradient and outlives any scope.
 *
 * @example
 * this.weight = parameter(init.glorotUniform(zeros([out, into])));
 */
export function parameter(tensor: Tensor): Tensor {
  makeLasting('parameter', tensor);
  if (!isFloat(tensor.dtype))
    throw new DTypeError(expected('parameter', 'f32 or f64', 'dtype', tensor.dtype));
  if (!tensor.isLeaf) {
    throw new StateError(
      'parameter: expected a leaf tensor, got the result of an operation. Use detach() or noGrad().',
    );
  }
  buffers.delete(tensor);
  parameters.add(tensor);
  return tensor.setRequiresGrad();
}

/** Marks a tensor as a buffer: saved with its module, not trained, outlives any scope. */
export function buffer(tensor: Tensor): Tensor {
  makeLasting('buffer', tensor);
  if (tensor.requiresGrad) {
    throw new StateError(
      'buffer: expected a tensor without requiresGrad, got one with it. Use parameter() or detach().',
    );
  }
  parameters.delete(tensor);
  buffers.add(tensor);
  return tensor;
}

export function isParameter(value: unknown): value is Tensor {
  return value instanceof Tensor && parameters.has(value);
}

export function isBuffer(value: unknown): value is Tensor {
  return value instanceof Tensor && buffers.has(value);
}

/** Checks a tensor and makes it outlive any scope. */
function makeLasting(where: string, tensor: unknown): void {
  if (!(tensor instanceof Tensor)) throw new ValueError(expected(where, 'a tensor', 'tensor', tensor));
  if (!tensor.isContiguous) {
    throw new StateError(`${where}: expected a contiguous tensor, got a strided view. Pass a clone().`);
  }
  keep(tensor);
}

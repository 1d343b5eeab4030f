/**
 * Caches constant arrays of the host as tensors on a device: edge weights of a graph, entries of a sparse matrix.
 *
 * A device keeps the most recently used ones, so that a training loop uploads them once. Nothing here relies on the
 * garbage collector: a device releases all its constants when it is closed.
 */
import type { TypedArray } from '../native/index.js';
import { fromTypedArray } from './create.js';
import type { TensorDevice } from './device.js';
import { to } from './move.js';
import { unscoped } from './scope.js';
import type { Tensor } from './tensor.js';

/** The most constants, and the most elements of all, per device. */
const maxConstants = 32;
const maxElements = 2 ** 26;

/** The constants of each device, least recently used first. */
const constants = new WeakMap<TensorDevice, Map<TypedArray, Tensor>>();

/** Returns the elements of an array as a tensor of one axis on a device, which owns it. @internal */
export function deviceConstant(device: TensorDevice, data: TypedArray): Tensor {
  let known = constants.get(device);
  if (known === undefined) {
    known = new Map();
    constants.set(device, known);
  }
  let t = known.get(data);
  known.delete(data);
  t ??= unscoped(() => to(fromTypedArray(data), device));
  known.set(data, t);
  let elements = 0;
  for (const one of known.values()) elements += one.size;
  for (const [old, one] of known) {
    if (old === data || (known.size <= maxConstants && elements <= maxElements)) break;
    known.delete(old);
    elements -= one.size;
    one.dispose();
  }
  return t;
}

/** Releases the constants of a device. @internal */
export function releaseConstants(device: TensorDevice): void {
  for (const t of constants.get(device)?.values() ?? []) t.dispose();
  constants.delete(device);
}

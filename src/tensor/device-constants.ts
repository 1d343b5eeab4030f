/**
 * Arrays of the host that never change, as tensors on a device: edge weights of a graph, entries of a sparse matrix.
 *
 * A device keeps those used last, so that a training loop uploads them once; older ones go when there are too many. Nothing
 * here waits for the garbage collector: a device that ends lets all go.
 */
import type { TypedArray } from '../native/index.js';
import { fromTypedArray } from './create.js';
import type { TensorDevice } from './device.js';
import { to } from './move.js';
import { unscoped } from './scope.js';
import type { Tensor } from './tensor.js';

/** At most so many, and so many elements, for each device. */
const maxConstants = 32;
const maxElements = 2 ** 26;

/** Oldest first. */
const kept = new WeakMap<TensorDevice, Map<TypedArray, Tensor>>();

/** The elements of an array as a tensor of one axis on a device; belongs to the device. @internal */
export function deviceConstant(device: TensorDevice, data: TypedArray): Tensor {
  let known = kept.get(device);
  if (known === undefined) {
    known = new Map();
    kept.set(device, known);
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

/** Lets the constants of a device go. @internal */
export function releaseConstants(device: TensorDevice): void {
  for (const t of kept.get(device)?.values() ?? []) t.dispose();
  kept.delete(device);
}

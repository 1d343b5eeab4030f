/**
 * Moves values between the CPU and devices.
 *
 * A copy to a device starts immediately; a copy back must be awaited. A move is not recorded: gradients stay on the
 * device where they arise, so only data, parameters and results are moved, never values in the middle of a model.
 */
import type { TypedArray } from '../native/index.js';
import { kernels } from '../native/index.js';
import { DeviceError, StateError } from '../util/errors.js';
import {
  type DeviceArray,
  type DeviceLike,
  findDevice,
  isDeviceName,
  onDevice,
  type TensorDevice,
} from './device.js';
import { type DType, dtypes } from './dtype.js';
import { materialize } from './ops/common.js';
import { cast } from './ops/select.js';
import { contiguousStrides } from './shape.js';
import { Storage } from './storage.js';
import { Tensor } from './tensor.js';

/** Returns the same values in another dtype or on another device. */
export function to(x: Tensor, target: DType | DeviceLike): Tensor {
  if (typeof target === 'string' && !isDeviceName(target)) return cast(x, target as DType);
  return toDevice(x, findDevice('to', target));
}

function toDevice(x: Tensor, device: TensorDevice | null): Tensor {
  if (x.device === device) return x;
  if (x.requiresGrad && !x.isLeaf)
    throw new StateError(
      'to: expected a leaf or a detached tensor, got the result of an operation: gradients do not cross devices. ' +
        'Move inputs and parameters first, or detach().',
    );
  if (x.device !== null)
    throw new DeviceError(
      `to: values on ${x.device.name} must be awaited. Use \`await t.cpu()\`${device === null ? '' : ', then to(device)'}.`,
      { reason: 'wait' },
    );
  const moved = Tensor.allocate(x.dtype, x.shape, device);
  device?.upload(moved.array as unknown as DeviceArray, x.dataSync());
  return x.requiresGrad ? moved.setRequiresGrad() : moved;
}

/** Copies a tensor to the CPU, outside the tape; returns a tensor that is there as it is. */
export async function cpu(x: Tensor): Promise<Tensor> {
  if (x.device === null) return x;
  const source = x.isContiguous ? x : materialize(x);
  try {
    return new Tensor(Storage.wrap(await source.data()), x.dtype, x.shape, undefined, 0, false);
  } finally {
    if (source !== x) source.dispose();
  }
}

/** Returns a constant on the device of another tensor. @internal */
export function toDeviceOf(constant: Tensor, other: Tensor): Tensor {
  return toDevice(constant, other.device);
}

/** Copies the values of `source` to `target` (same shape and dtype), on any device. */
export function writeValues(source: Tensor, target: Tensor): void {
  const { device } = target;
  if (source.device !== null && source.device !== device)
    throw new DeviceError(`assign: values on ${source.device.name} must be awaited. Use \`await t.cpu()\`.`, {
      reason: 'wait',
    });
  if (device === null) target.array.set(source.dataSync());
  else if (source.device === null) device.upload(target.array as unknown as DeviceArray, source.dataSync());
  else
    onDevice(device, () => {
      const strides = contiguousStrides(target.shape);
      const dims = Int32Array.of(source.rank, ...source.shape, ...source.strides, ...strides);
      kernels().copyStrided(source.base, target.array as TypedArray, dtypes[source.dtype].bytes, dims);
    });
  target.storage.version++;
}

/** Moves a leaf to a device in place, so that all references to it see the move. */
export function moveInPlace(t: Tensor, device: TensorDevice): void {
  if (t.device === device) return;
  const moved = toDevice(t.detach(), device);
  t.adopt(moved);
  moved.dispose();
  t.zeroGrad();
}

/** Moves a leaf to the CPU in place. */
export async function fetchInPlace(t: Tensor): Promise<void> {
  if (t.device === null) return;
  const fetched = await cpu(t);
  t.adopt(fetched);
  fetched.dispose();
  t.zeroGrad();
}

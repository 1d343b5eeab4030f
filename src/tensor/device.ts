/**
 * Devices: where tensors are stored and which kernels compute on them. The CPU is not an object: it is represented by
 * null.
 *
 * A device has memory and a table of kernels with the same contract as the CPU's; operations are written once and run
 * where their inputs are. Work on a device is queued, so its values must be awaited (`await t.data()`), and all tensors
 * of an operation must be on one device. Devices register themselves; nothing here depends on a particular one.
 */
import { type Kernels, kernels, type TypedArray, withKernels } from '../native/index.js';
import { DeviceError, expected, ValueError } from '../util/errors.js';
import type { DType } from './dtype.js';

/** Memory of a device, passed to its kernels in place of a typed array. */
export interface DeviceArray {
  readonly length: number;
  subarray(begin?: number, end?: number): DeviceArray;
  /** Releases the memory; for the array that `allocate` returned, not for views of it. */
  release(): void;
}

export interface TensorDevice {
  /** The name for `Tensor.to`, such as `webgpu`. */
  readonly name: string;
  readonly kernels: Kernels;
  /** Allocates uninitialised memory. Throws for element types that the device does not compute with. */
  allocate(dtype: DType, elements: number): DeviceArray;
  upload(array: DeviceArray, data: TypedArray): void;
  download(array: DeviceArray): Promise<TypedArray>;
  /** Submits all queued work on an array and returns its memory, for other libraries on the same GPU. */
  share?(array: DeviceArray): SharedMemory;
}

/** A `GPUBuffer` and its `GPUDevice`, untyped so that nothing here depends on WebGPU. */
export interface SharedMemory {
  readonly buffer: object;
  readonly gpuDevice: object;
  readonly byteOffset: number;
}

let current: TensorDevice | null = null;
const registered = new Map<string, TensorDevice>();

/** Returns the device on which operations allocate now; null is the CPU. @internal */
export function currentDevice(): TensorDevice | null {
  return current;
}

/** Runs `fn` with results and kernels on a device; null is the CPU. @internal */
export function onDevice<T>(device: TensorDevice | null, fn: () => T): T {
  if (device === current) return fn();
  const before = current;
  if (before === null) cpuKernels = kernels();
  current = device;
  try {
    return withKernels(device?.kernels ?? cpuKernels, fn);
  } finally {
    current = before;
  }
}

/** The kernels of the CPU, while those of a device are in use. */
let cpuKernels: Kernels = kernels();

/** Registers a device under its name; replaces an earlier one of that name. */
export function registerDevice(device: TensorDevice): void {
  registered.set(device.name, device);
}

/** Removes a device; another of that name stays. */
export function unregisterDevice(device: TensorDevice): void {
  if (registered.get(device.name) === device) registered.delete(device.name);
}

/** `cpu`, the name of a registered device, or a device. */
export type DeviceLike = TensorDevice | string;

export function isDeviceName(name: unknown): boolean {
  return name === 'cpu' || name === 'webgpu' || (typeof name === 'string' && registered.has(name));
}

export function findDevice(where: string, device: DeviceLike): TensorDevice | null {
  if (typeof device === 'object' && device !== null) return device;
  if (device === 'cpu') return null;
  const found = registered.get(device);
  if (found !== undefined) return found;
  if (device !== 'webgpu')
    throw new ValueError(
      expected(where, ['cpu', 'webgpu', ...registered.keys()].join(' or '), 'device', device),
    );
  throw new DeviceError(
    `${where}: expected a GPU to be enabled, got none. Call \`await enableWebGpu()\` (skein/gpu) first.`,
    { reason: 'no-adapter' },
  );
}

/** Returns the common device of several tensors; throws if there are several. */
export function commonDevice(
  where: string,
  tensors: readonly { readonly device: TensorDevice | null }[],
): TensorDevice | null {
  if (tensors.length === 0) return current;
  const { device } = tensors[0];
  for (let i = 1; i < tensors.length; i++) {
    if (tensors[i].device === device) continue;
    const name = (d: TensorDevice | null): string => d?.name ?? 'cpu';
    throw new DeviceError(
      `${where}: expected all tensors on one device, got input 0 on ${name(device)} and input ${i} on ${name(tensors[i].device)}. ` +
        'Move them with t.to(device); a module moves with module.to(device).',
      { reason: 'mixed' },
    );
  }
  return device;
}

/**
 * The GPU as a device for tensors: `t.to('webgpu')`.
 *
 * f32 computes, i32 holds ids, u8 holds flags; f64 and storage-only types stay on the CPU. Results equal those of the
 * CPU up to rounding: sums are formed in another order, and exp and log are the driver's.
 */
import type { TypedArray } from '../../native/index.js';
import type { SharedMemory } from '../../tensor/device.js';
import { registerDevice, unregisterDevice } from '../../tensor/device.js';
import { releaseConstants } from '../../tensor/device-constants.js';
import { type DeviceArray, type DType, Tensor, type TensorDevice } from '../../tensor/index.js';
import { DTypeError, expected } from '../../util/errors.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import { GpuDevice } from '../device/gpu-device.js';
import { type OpenGpuOptions, openGpuDevice } from '../device/open-device.js';
import { Compute, toWords } from './compute.js';
import { type ElementType, onGpu } from './gpu-array.js';
import { kernelTable } from './kernel-table.js';

const elementTypes: Partial<Record<DType, ElementType>> = { f32: 'f32', i32: 'i32', u8: 'u32' };

export class WebGpuTensorDevice implements TensorDevice {
  readonly name = 'webgpu';
  readonly gpu: GpuDevice;
  readonly kernels: TensorDevice['kernels'];
  readonly #compute: Compute;

  constructor(gpu: GpuDevice) {
    this.gpu = gpu;
    this.#compute = new Compute(gpu);
    this.kernels = kernelTable(this.#compute);
  }

  allocate(dtype: DType, elements: number): DeviceArray {
    const type = elementTypes[dtype];
    if (type === undefined)
      throw new DTypeError(
        expected('webgpu', 'f32, i32 or u8', 'dtype', dtype, 'Convert it on the CPU first: cast(t, "f32").'),
      );
    return this.#compute.allocate(type, elements);
  }

  upload(array: DeviceArray, data: TypedArray): void {
    const { buffer, offset } = onGpu(array);
    this.gpu.write(buffer, toWords(data), offset * 4);
  }

  async download(array: DeviceArray): Promise<TypedArray> {
    const { buffer, offset, length, type } = onGpu(array);
    const bytes = await this.gpu.read(buffer, length * 4, offset * 4);
    if (type === 'f32') return new Float32Array(bytes);
    return type === 'i32' ? new Int32Array(bytes) : Uint8Array.from(new Uint32Array(bytes));
  }

  share(array: DeviceArray): SharedMemory {
    const { buffer, offset } = onGpu(array);
    this.gpu.flush();
    return { buffer: buffer.raw, gpuDevice: this.gpu.raw, byteOffset: offset * 4 };
  }

  /** Returns a tensor with a copy of f32 elements that are on this device already. */
  tensorOf(buffer: GpuBuffer, shape: readonly number[]): Tensor {
    const tensor = Tensor.allocate('f32', shape, this);
    const { buffer: target, offset } = onGpu(tensor.array);
    this.gpu.copy(buffer, 0, target, offset * 4, tensor.size * 4);
    return tensor;
  }

  /** Removes the device from the tensor devices; the GPU device itself stays open. */
  release(): void {
    unregisterDevice(this);
    releaseConstants(this);
    this.#compute.clearStructures();
  }
}

/**
 * Registers `webgpu` as a device for tensors and modules.
 *
 * @param device an open device, or options to open one
 * @example
 * await enableWebGpu();
 * const model = new GCN(sizes).to('webgpu');
 * const x = features.to('webgpu');
 */
export async function enableWebGpu(device?: GpuDevice | OpenGpuOptions): Promise<WebGpuTensorDevice> {
  const gpu = device instanceof GpuDevice ? device : await openGpuDevice(device);
  const tensors = new WebGpuTensorDevice(gpu);
  registerDevice(tensors);
  return tensors;
}

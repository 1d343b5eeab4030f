/**
 * The members of WebGPU's buffer and device that transfers need, as structural types: a `GPUDevice` of a browser, of the
 * `webgpu` package or of another library matches. Declared here so that programs do not need WebGPU's types.
 */
import { DeviceError } from '../util/errors.js';

export interface GpuBufferLike {
  readonly size: number;
  readonly usage: number;
  destroy(): void;
  mapAsync(mode: number, offset?: number, size?: number): Promise<unknown>;
  getMappedRange(offset?: number, size?: number): ArrayBuffer;
  unmap(): void;
}

export interface GpuBufferDescriptorLike {
  size: number;
  usage: number;
  mappedAtCreation?: boolean;
  label?: string;
}

export interface GpuCommandEncoderLike {
  copyBufferToBuffer(
    source: GpuBufferLike,
    sourceOffset: number,
    destination: GpuBufferLike,
    destinationOffset: number,
    size: number,
  ): void;
  finish(): object;
}

export interface GpuDeviceLike {
  readonly queue: { submit(commands: Iterable<object>): void };
  createBuffer(descriptor: GpuBufferDescriptorLike): GpuBufferLike;
  createCommandEncoder(): GpuCommandEncoderLike;
  pushErrorScope?(filter: 'validation'): void;
  popErrorScope?(): Promise<{ readonly message: string } | null>;
}

/** WebGPU's usage bits. */
const gpuUsage = { mapRead: 1, mapWrite: 2, copySrc: 4, copyDst: 8, storage: 128 } as const;

/** Rounds up to a multiple of four bytes, as WebGPU's copies require. */
export function copySize(bytes: number): number {
  return Math.ceil(bytes / 4) * 4;
}

/** Copies `bytes` bytes of a buffer, starting at `offset` (a multiple of 4), to the host. */
export async function readGpuBuffer(
  device: GpuDeviceLike,
  buffer: GpuBufferLike,
  offset: number,
  bytes: number,
): Promise<ArrayBuffer> {
  if (bytes === 0) return new ArrayBuffer(0);
  const size = copySize(bytes);
  const staging = device.createBuffer({ size, usage: gpuUsage.mapRead | gpuUsage.copyDst });
  try {
    device.pushErrorScope?.('validation');
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, offset, staging, 0, size);
    device.queue.submit([encoder.finish()]);
    const failure = await device.popErrorScope?.();
    // For example a buffer that its owner has destroyed, which would read as zeros.
    if (failure)
      throw new DeviceError(
        `read: expected a buffer that can be copied, got an error of the device: ${failure.message}`,
        {
          reason: 'validation',
        },
      );
    await staging.mapAsync(gpuUsage.mapRead, 0, size);
    return staging.getMappedRange(0, size).slice(0, bytes);
  } finally {
    staging.destroy();
  }
}

/** Creates a storage buffer with the bytes of `data` (at least 4 bytes, because empty buffers cannot be bound). */
export function makeGpuBuffer(device: GpuDeviceLike, data: ArrayBufferView): GpuBufferLike {
  const size = Math.max(4, copySize(data.byteLength));
  const usage = gpuUsage.storage | gpuUsage.copySrc | gpuUsage.copyDst;
  const buffer = device.createBuffer({ size, usage, mappedAtCreation: true });
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  new Uint8Array(buffer.getMappedRange(0, size)).set(bytes);
  buffer.unmap();
  return buffer;
}

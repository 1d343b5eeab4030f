/**
 * A range of elements in device memory; GPU kernels take it where CPU kernels take a typed array. All elements have 4
 * bytes: WGSL has no smaller type, so u8 flags are stored as u32.
 */
import type { DeviceArray } from '../../tensor/index.js';
import { InternalError } from '../../util/errors.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';

export type ElementType = 'f32' | 'i32' | 'u32';

export class GpuArray implements DeviceArray {
  readonly buffer: GpuBuffer;
  readonly type: ElementType;
  /** Index of the first element within the buffer. */
  readonly offset: number;
  readonly length: number;

  constructor(buffer: GpuBuffer, type: ElementType, offset: number, length: number) {
    this.buffer = buffer;
    this.type = type;
    this.offset = offset;
    this.length = length;
  }

  subarray(begin = 0, end = this.length): GpuArray {
    return new GpuArray(this.buffer, this.type, this.offset + begin, end - begin);
  }

  release(): void {
    this.buffer.release();
  }
}

/** Narrows a kernel argument, which the signature calls a typed array, to a GpuArray. */
export function onGpu(value: unknown): GpuArray {
  if (value instanceof GpuArray) return value;
  throw new InternalError('a GPU kernel was given host memory');
}

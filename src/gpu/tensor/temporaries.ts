/** Scratch device memory of kernels that run several programs. */
import type { TypedArray } from '../../native/index.js';
import type { Compute } from './compute.js';
import type { GpuArray } from './gpu-array.js';

/** Allocator of memory that `withTemporaries` releases. */
export interface Temporaries {
  /** Allocates uninitialised f32 elements. */
  floats(length: number): GpuArray;
  /** Uploads a host array once for several programs; device arrays and null are returned unchanged. */
  ids<T>(data: T): T | GpuArray;
}

/** Runs `fn` and releases its memory; recorded work that still reads it runs before the memory is reused. */
export function withTemporaries<T>(c: Compute, fn: (take: Temporaries) => T): T {
  const taken: GpuArray[] = [];
  const kept = (array: GpuArray): GpuArray => {
    taken.push(array);
    return array;
  };
  try {
    return fn({
      floats: (length) => kept(c.allocate('f32', length, 'temporary')),
      ids: (data) => (ArrayBuffer.isView(data) ? kept(c.upload(data as unknown as TypedArray)) : data),
    });
  } finally {
    for (const array of taken) array.release();
  }
}

/** Device memory that a kernel of several programs needs between them. */
import type { TypedArray } from '../../native/index.js';
import type { Compute } from './compute.js';
import type { GpuArray } from './gpu-array.js';

/** What `withTemporaries` takes back. */
export interface Temporaries {
  /** Uninitialised f32 elements. */
  floats(length: number): GpuArray;
  /** An array of the host for several programs, copied once; what is on the device already, or null, is passed on. */
  ids<T>(data: T): T | GpuArray;
}

/** Runs `fn` and gives its memory back; recorded work that still reads it comes first. */
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

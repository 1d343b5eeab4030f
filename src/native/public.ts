/**
 * The public interface of the kernel library: which kernels run, and with how many threads. The kernels themselves are not part
 * of it: they take flat arrays and sizes, and their list changes with every release.
 */
export { getThreads, type NativeStatus, nativeStatus, setThreads } from './active.js';
export type { Level } from './load.js';
export type { FloatArray, Offsets, TypedArray } from './types.js';

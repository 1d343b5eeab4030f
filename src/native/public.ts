/**
 * What users see of the kernel library: what computes, and with how many threads. The kernels themselves are no part of the
 * package's interface: they take flat arrays and sizes, and their list changes with every release.
 */
export { getThreads, type NativeStatus, nativeStatus, setThreads } from './active.js';
export type { Level } from './load.js';
export type { FloatArray, Offsets, TypedArray } from './types.js';

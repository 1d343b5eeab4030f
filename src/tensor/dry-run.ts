/**
 * Runs a program to measure its memory: the memory of tensors is never touched, so that the system provides no pages,
 * and kernels on floats do nothing. Allocations and releases have exactly the order of the real program, so the peak is
 * the same.
 *
 * Values are meaningless: a program that branches on them cannot be measured this way, and whatever the program changes
 * (parameters, optimiser state) must be discarded afterwards.
 */
import { type Kernels, kernels, withKernels } from '../native/index.js';
import { poolStats, resetPeak } from './pool.js';

export interface DryRun<T> {
  readonly result: T;
  /** The peak of the bytes of tensors, beyond those that existed before. */
  readonly peakBytes: number;
}

/**
 * Runs `program` without computing floats and returns its result and its peak memory.
 *
 * @example
 * const { peakBytes } = dryRun(() => scope(() => lossOf(new GCN(sizes), graph, x).backward()));
 */
export function dryRun<T>(program: () => T): DryRun<T> {
  const before = poolStats();
  resetPeak();
  try {
    const result = withKernels(idleKernels(kernels()), program);
    return { result, peakBytes: poolStats().peakBytes - before.liveBytes };
  } finally {
    resetPeak();
  }
}

/** Makes kernels that do nothing on floats. Kernels on ids do run, since programs branch on ids. */
function idleKernels(real: Kernels): Kernels {
  const idle = Object.entries(real).map(([name, kernel]) => {
    const work = kernel as (...given: readonly unknown[]) => unknown;
    const run = (...given: readonly unknown[]): unknown => (given.some(isFloats) ? 0 : work(...given));
    return [name, run] as const;
  });
  return Object.fromEntries(idle) as unknown as Kernels;
}

function isFloats(value: unknown): boolean {
  return value instanceof Float32Array || value instanceof Float64Array;
}

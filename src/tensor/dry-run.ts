/**
 * Runs a program for its memory alone: tensors get memory that is never touched (the system gives pages only when they
 * are), and kernels on floats do nothing. What is left is the order of allocations and releases, which is exactly that of the
 * real program, so its peak is the peak that the real program will have.
 *
 * Values are meaningless inside: nothing that decides by them can be planned so, and what the program changes (parameters,
 * the state of optimisers) must be thrown away afterwards.
 */
import { type Kernels, kernels, withKernels } from '../native/index.js';
import { poolStats, resetPeak } from './pool.js';

export interface DryRun<T> {
  readonly result: T;
  /** Bytes of tensors at the worst moment, beyond those that lived before. */
  readonly peakBytes: number;
}

/**
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

/** Kernels that work on ids do work, since programs decide by ids; those that touch floats do not. */
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

/**
 * Selects the kernels, once, when this module loads: those of the native addon, or else the TypeScript twins, whose results are
 * the same within tolerance.
 */

import { checkInteger, StateError, ValueError } from '../util/errors.js';
import { holdMemoryOfCalls } from './async-memory.js';
import { availableCpus } from './cpus.js';
import type { AsyncKernels, Kernels } from './kernels.js';
import { type Attempt, type Level, loadAddon } from './load.js';
import { takeRecords } from './record-kernels.js';
import { reference } from './reference/index.js';

const env = globalThis.process?.env ?? {};
const loaded = loadAddon(env.SKEIN_NATIVE, Object.keys(reference));

/** The TypeScript twins: the specification of every kernel. */
export const referenceKernels: Kernels = reference;
/** The addon's kernels, or null when it could not be loaded. */
export const nativeKernels: Kernels | null =
  loaded.addon === null ? null : (takeRecords(loaded.addon.kernels) as Kernels);

let active: Kernels = nativeKernels ?? referenceKernels;

/** The kernels in use. */
export function kernels(): Kernels {
  return active;
}

/** Runs `fn` with the given kernels instead of the selected ones; tests compare the two in this way. */
export function withKernels<T>(chosen: Kernels, fn: () => T): T {
  const before = active;
  active = chosen;
  try {
    return fn();
  } finally {
    active = before;
  }
}

/** Kernels that return promises: they run on the addon's threads, or without it at the next turn of the event loop. */
export const asyncKernels: AsyncKernels =
  loaded.addon === null
    ? laterKernels()
    : (takeRecords(holdMemoryOfCalls(loaded.addon.asyncKernels, loaded.addon.heldArguments)) as AsyncKernels);

function laterKernels(): AsyncKernels {
  return Object.fromEntries(
    Object.entries(reference).map(([name, kernel]) => [
      name,
      async (...args: never[]) => {
        await Promise.resolve();
        return (kernel as (...a: never[]) => unknown)(...args);
      },
    ]),
  ) as unknown as AsyncKernels;
}

export interface NativeStatus {
  readonly backend: 'native' | 'reference';
  /** The instruction set of the loaded addon. */
  readonly level: Level | null;
  /** The best instruction set of this processor; null if no addon was found that reports it. */
  readonly bestLevel: Level | null;
  /** The file of the loaded addon. */
  readonly path: string | null;
  /** Why the addon is not in use. */
  readonly reason: string | null;
  /** Locations that were tried first, and why no addon was loaded from them. */
  readonly tried: readonly Attempt[];
  readonly threads: number;
}

/** Reports which kernels run, and why. */
export function nativeStatus(): NativeStatus {
  return {
    backend: loaded.addon === null ? 'reference' : 'native',
    level: loaded.addon?.level ?? null,
    bestLevel: loaded.bestLevel,
    path: loaded.path,
    reason: loaded.reason,
    tried: loaded.tried,
    threads: getThreads(),
  };
}

/** Without the addon the number has no effect. */
let threadsWithoutAddon = 1;

/** Threads that a kernel may use, in the whole process. Results do not depend on it. */
export function getThreads(): number {
  return loaded.addon?.getThreads() ?? threadsWithoutAddon;
}

/** Sets the number of threads for all JavaScript threads of the process. */
export function setThreads(count: number): void {
  checkInteger('setThreads', 'count', count, 1, 1024);
  if (loaded.addon === null) threadsWithoutAddon = count;
  else loaded.addon.setThreads(count);
}

/**
 * Prepares a new block of memory (requests huge pages for large ones) and returns by how many bytes its start is
 * beyond a multiple of `alignment` (a power of two up to 4096; 64 is a cache line); 0 without the addon, where it is not
 * known.
 */
export function prepareBlock(block: Uint8Array, alignment = 64): number {
  return (loaded.addon?.prepareBlock(block) ?? 0) % alignment;
}

/**
 * Returns the memory of an array to the system while the array stays usable: its contents are lost, and the system provides
 * memory again on the next write. Returns the number of bytes released; 0 where the system cannot do this.
 */
export function releaseBlock(block: Uint8Array): number {
  return loaded.addon?.releaseBlock(block) ?? 0;
}

/** Acquires the lock on an open file, waiting while another process holds it, or releases it. */
export function lockFile(file: number, lock: boolean): void {
  if (loaded.addon === null)
    throw new StateError(
      `lockFile: locks between processes need the addon, which is not in use: ${loaded.reason}`,
    );
  loaded.addon.lockFile(file, lock);
}

function initialThreads(): number {
  const wanted = env.SKEIN_THREADS;
  if (wanted !== undefined && wanted !== '') {
    const count = Number(wanted);
    if (!Number.isInteger(count) || count < 1 || count > 1024) {
      throw new ValueError(
        `SKEIN_THREADS: expected a whole number from 1 to 1024, got ${JSON.stringify(wanted)}.`,
      );
    }
    return count;
  }
  return availableCpus();
}

// A worker thread keeps the number that the program has set.
const isFirst = loaded.addon === null || loaded.addon.getThreads() === 0;
if (isFirst) setThreads(initialThreads());
if (loaded.addon === null && !loaded.forced) {
  process.emitWarning(
    `TypeScript kernels run instead of the native ones, with the same results up to rounding and typically 35 to 54 times slower: ${loaded.reason}.`,
    { type: 'SkeinWarning', code: 'SKEIN_REFERENCE_KERNELS' },
  );
}

/**
 * Protects memory that asynchronous calls use while JavaScript continues.
 *
 * The addon reads and writes it from its own threads until the promise settles. Changing an input meanwhile corrupts the
 * result; detaching memory would end the process. So a buffer that has been passed to an asynchronous call can no longer be
 * transferred (`structuredClone` and `postMessage` with a transfer list, `ArrayBuffer.prototype.transfer`), and buffers that
 * can shrink are rejected. Ids and other arrays whose values kernels use as addresses are exempt: the addon copies them.
 *
 * Integer results must not be written before the promise settles: samplers read back what they have drawn and follow it.
 * The callers in this library allocate those arrays for the call, so no other code can reach them.
 */
import { ValueError } from '../util/errors.js';
import type { Kernels } from './kernels.js';
import type { PositionalKernels } from './record-kernels.js';

type Memory = ArrayBufferLike & { readonly resizable?: boolean };

const held = new WeakSet<Memory>();
const known = new WeakSet<Memory>();
const takers = ['transfer', 'transferToFixedLength'] as const;

/**
 * Declares that no other code has access to the memory of this array until the next asynchronous call that uses it has
 * settled: that call leaves it transferable.
 */
export function unshared<T extends ArrayBufferView>(array: T): T {
  known.add(array.buffer);
  return array;
}

/** Makes the memory of an array permanently non-transferable. */
export function holdMemory(where: string, array: ArrayBufferView): void {
  const buffer: Memory = array.buffer;
  if (held.has(buffer)) return;
  if (known.delete(buffer)) return;
  // Shared memory can neither be transferred nor shrink.
  if (!(buffer instanceof ArrayBuffer)) return;
  if ((buffer as Memory).resizable === true)
    throw new ValueError(
      `${where}: expected memory of a fixed size, got an array over a resizable ArrayBuffer, which may shrink before the ` +
        'call ends. Copy the array.',
    );
  process.getBuiltinModule('node:worker_threads').markAsUntransferable(buffer);
  for (const name of takers) {
    if (!(name in buffer)) continue;
    const value = () => {
      throw new TypeError(
        `ArrayBuffer.${name}: this memory is used by asynchronous calls of Skein (${where}). Copy it.`,
      );
    };
    Object.defineProperty(buffer, name, { value });
  }
  held.add(buffer);
}

/** Makes the addon's asynchronous kernels hold the arrays at `positions`, which they use in place. */
export function holdMemoryOfCalls(
  kernels: PositionalKernels,
  positions: Readonly<Record<keyof Kernels, readonly number[]>>,
): PositionalKernels {
  const wrapped = Object.entries(kernels).map(([name, kernel]) => {
    const arrays = positions[name as keyof Kernels];
    const call = (...args: unknown[]): unknown => {
      for (const at of arrays) {
        const array = args[at];
        if (ArrayBuffer.isView(array)) holdMemory(name, array);
      }
      return kernel(...args);
    };
    return [name, call];
  });
  return Object.fromEntries(wrapped) as PositionalKernels;
}

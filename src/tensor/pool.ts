/**
 * Recycles the memory of tensors. Blocks are ArrayBuffers owned by V8 (external buffers are not freed inside a
 * synchronous loop), over-allocated so that data starts on a 64-byte line.
 *
 * A block comes back only when its last holder released it explicitly (`dispose`, `using`, the end of a `scope`, the
 * tape after backward). Memory that is merely forgotten is the garbage collector's, as with any object: nothing here
 * relies on a finaliser. Blocks are handed out dirty.
 */

import { prepareBlock, type TypedArray } from '../native/index.js';
import { checkNumber } from '../util/errors.js';

export interface Block {
  readonly buffer: ArrayBuffer;
  /** Offset of the first aligned byte. */
  readonly offset: number;
  readonly bytes: number;
  /** How many of them were asked for; 0 while the block waits for reuse. */
  used: number;
  /** The array last made over this block. A loop asks for the same arrays again, and making one costs as much as a kernel call. */
  array: TypedArray | null;
}

const alignment = 64;
const free = new Map<number, Block[]>();
let idleBytes = 0;
let idleLimit = 4 * 2 ** 30;
let allocations = 0;
let liveBytes = 0;
let peakBytes = 0;
/** All blocks that are somewhere, when somebody wants to know; without keeping them alive. */
let watched: Set<WeakRef<Block>> | null = null;

/**
 * Size classes: eight to an octave, so that at most an eighth of a block is unused while tensors of similar size still
 * share blocks.
 */
function sizeClass(bytes: number): number {
  if (bytes <= 256) return 256;
  const octave = 2 ** Math.floor(Math.log2(bytes - 1));
  const step = Math.max(alignment, octave / 8);
  return Math.ceil(bytes / step) * step;
}

export function allocateBlock(bytes: number): Block {
  const size = sizeClass(bytes);
  liveBytes += bytes;
  if (liveBytes > peakBytes) peakBytes = liveBytes;
  const recycled = free.get(size)?.pop();
  if (recycled !== undefined) {
    idleBytes -= size;
    recycled.used = bytes;
    return recycled;
  }
  allocations++;
  const buffer = new ArrayBuffer(size + alignment);
  const offset = (alignment - prepareBlock(new Uint8Array(buffer))) % alignment;
  const block: Block = { buffer, offset, bytes: size, used: bytes, array: null };
  watched?.add(new WeakRef(block));
  return block;
}

export function recycleBlock(block: Block): void {
  liveBytes -= block.used;
  block.used = 0;
  // A buffer that user code transferred away is empty and of no use.
  if (idleBytes + block.bytes > idleLimit || block.buffer.byteLength === 0) return;
  const list = free.get(block.bytes);
  if (list === undefined) free.set(block.bytes, [block]);
  else list.push(block);
  idleBytes += block.bytes;
}

export interface PoolStats {
  /** Bytes that wait for reuse. */
  readonly idleBytes: number;
  /** Blocks ever taken from the system: flat in a loop that recycles. */
  readonly allocations: number;
  /** Bytes of tensors that nobody has released; those that were merely forgotten count as well. */
  readonly liveBytes: number;
  /** The largest `liveBytes` since the start, or since `resetPeak`. */
  readonly peakBytes: number;
}

export function poolStats(): PoolStats {
  return { idleBytes, allocations, liveBytes, peakBytes };
}

/** Lets `peakBytes` begin anew from what lives now. */
export function resetPeak(): void {
  peakBytes = liveBytes;
}

/** Lets all idle memory go; `limit` sets how many idle bytes may be kept from now on (4 GiB at first). */
export function emptyPool(limit: number = idleLimit): void {
  checkNumber('emptyPool', 'limit', limit, 0);
  free.clear();
  idleBytes = 0;
  idleLimit = limit;
}

/** From now on `watchedBlocks` knows the memory of tensors; false forgets it. */
export function watchBlocks(on: boolean): void {
  watched = on ? (watched ?? new Set()) : null;
  if (watched === null) return;
  for (const list of free.values()) for (const block of list) watched.add(new WeakRef(block));
}

/** The memory of tensors made since `watchBlocks`, and what waits for reuse (`live` false: its contents are nobody's). */
export function watchedBlocks(): { readonly bytes: Uint8Array; readonly live: boolean }[] {
  const all: { bytes: Uint8Array; live: boolean }[] = [];
  for (const reference of watched ?? []) {
    const block = reference.deref();
    if (block === undefined || block.buffer.byteLength === 0) watched?.delete(reference);
    else if (block.used > 0)
      all.push({ bytes: new Uint8Array(block.buffer, block.offset, block.used), live: true });
    else all.push({ bytes: new Uint8Array(block.buffer), live: false });
  }
  return all;
}

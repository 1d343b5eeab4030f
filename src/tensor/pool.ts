/**
 * Recycles the memory of tensors. Blocks are ArrayBuffers owned by V8 (external buffers are not freed inside a
 * synchronous loop), over-allocated so that data starts on a 64-byte line.
 *
 * A block returns to the pool only when its last holder releases it explicitly (`dispose`, `using`, the end of a
 * `scope`, the tape after backward). Memory that is not released is left to the garbage collector, as with any object:
 * nothing here relies on a finaliser. Blocks are not cleared before reuse.
 */

import { prepareBlock, type TypedArray } from '../native/index.js';
import { checkNumber } from '../util/errors.js';

export interface Block {
  readonly buffer: ArrayBuffer;
  /** Offset of the first aligned byte. */
  readonly offset: number;
  readonly bytes: number;
  /** The requested bytes; 0 while the block is idle. */
  used: number;
  /**
   * The last array made over this block: loops request the same arrays again, and making one costs as much as a kernel
   * call.
   */
  array: TypedArray | null;
}

const alignment = 64;
const free = new Map<number, Block[]>();
let idleBytes = 0;
let idleLimit = 4 * 2 ** 30;
let allocations = 0;
let liveBytes = 0;
let peakBytes = 0;
/** Weak references to all blocks, while `watchBlocks` is on. */
let watched: Set<WeakRef<Block>> | null = null;

/**
 * Rounds a size up to its class, of which there are eight per octave, so that at most an eighth of a block is unused
 * and tensors of similar size share blocks.
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
  // A buffer that user code has transferred is empty and cannot be reused.
  if (idleBytes + block.bytes > idleLimit || block.buffer.byteLength === 0) return;
  const list = free.get(block.bytes);
  if (list === undefined) free.set(block.bytes, [block]);
  else list.push(block);
  idleBytes += block.bytes;
}

export interface PoolStats {
  /** Bytes of idle blocks. */
  readonly idleBytes: number;
  /** The number of blocks allocated so far: constant in a loop that recycles. */
  readonly allocations: number;
  /** Bytes of tensors that have not been released, including unreachable ones. */
  readonly liveBytes: number;
  /** The largest `liveBytes` since the start, or since `resetPeak`. */
  readonly peakBytes: number;
}

export function poolStats(): PoolStats {
  return { idleBytes, allocations, liveBytes, peakBytes };
}

/** Resets `peakBytes` to the current `liveBytes`. */
export function resetPeak(): void {
  peakBytes = liveBytes;
}

/** Releases all idle memory; `limit` sets how many idle bytes may be kept from now on (initially 4 GiB). */
export function emptyPool(limit: number = idleLimit): void {
  checkNumber('emptyPool', 'limit', limit, 0);
  free.clear();
  idleBytes = 0;
  idleLimit = limit;
}

/** Starts or stops tracking the memory of tensors for `watchedBlocks`. */
export function watchBlocks(on: boolean): void {
  watched = on ? (watched ?? new Set()) : null;
  if (watched === null) return;
  for (const list of free.values()) for (const block of list) watched.add(new WeakRef(block));
}

/** Returns the memory of tensors made since `watchBlocks`, and idle blocks (`live` false: their content is unused). */
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

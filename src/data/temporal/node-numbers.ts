/**
 * Node numbers from the ids in a file. Ids from 0 or 1 without gaps are kept (less 1); others are numbered in order of
 * appearance, and `nodeIds` has the id of each.
 */
import { type EventNodes, listedNodes, shiftedNodes } from './event-nodes.js';

export interface NumberedNodes {
  readonly numNodes: number;
  readonly src: Int32Array;
  readonly dst: Int32Array;
  /** Subtracted from ids that are kept. */
  readonly base: 0 | 1;
  readonly nodeIds: Int32Array | null;
}

/** Returns the mapping between ids and numbers; `size` may be larger than the number of nodes. */
export function toEventNodes({ base, nodeIds }: NumberedNodes, size: number): EventNodes {
  return nodeIds === null ? shiftedNodes(size, base) : listedNodes(size, nodeIds);
}

/** Numbers the nodes of events; `dst` may be empty if the two sides have separate ids. */
export function numberNodes(src: Int32Array, dst: Int32Array): NumberedNodes {
  const largest = largestOf(src, dst);
  const seen = largest < 64 * (src.length + 64) ? countByArray(src, dst, largest) : null;
  if (seen !== null) {
    const base = largest < 0 || seen.present[0] === 1 ? 0 : 1;
    if (seen.count === largest + 1 - base) {
      const shift = (id: number): number => id - base;
      return { numNodes: seen.count, src: src.map(shift), dst: dst.map(shift), base, nodeIds: null };
    }
  }
  return numberByAppearance(src, dst, seen === null ? null : largest);
}

/** Returns the largest id of both sides; −1 without events. */
export function largestOf(src: Int32Array, dst: Int32Array): number {
  let largest = -1;
  for (const id of src) if (id > largest) largest = id;
  for (const id of dst) if (id > largest) largest = id;
  return largest;
}

function countByArray(
  src: Int32Array,
  dst: Int32Array,
  largest: number,
): { count: number; present: Uint8Array } {
  const present = new Uint8Array(largest + 1);
  for (const id of src) present[id] = 1;
  for (const id of dst) present[id] = 1;
  let count = 0;
  for (const one of present) count += one;
  return { count, present };
}

/** Numbers nodes by first appearance; `largest` is null if ids are too far apart for a lookup table. */
function numberByAppearance(src: Int32Array, dst: Int32Array, largest: number | null): NumberedNodes {
  const numberOf = largest === null ? numberByMap() : numberByTable(largest);
  const out = { src: new Int32Array(src.length), dst: new Int32Array(dst.length) };
  for (let i = 0; i < src.length; i++) {
    out.src[i] = numberOf(src[i]);
    if (i < dst.length) out.dst[i] = numberOf(dst[i]);
  }
  const numNodes = largestOf(out.src, out.dst) + 1;
  const nodeIds = new Int32Array(numNodes);
  for (let i = 0; i < src.length; i++) {
    nodeIds[out.src[i]] = src[i];
    if (i < dst.length) nodeIds[out.dst[i]] = dst[i];
  }
  return { numNodes, ...out, base: 0, nodeIds };
}

function numberByTable(largest: number): (id: number) => number {
  const numbers = new Int32Array(largest + 1);
  let count = 0;
  return (id) => {
    // Stores the number + 1, so that 0 means unassigned.
    if (numbers[id] === 0) numbers[id] = ++count;
    return numbers[id] - 1;
  };
}

function numberByMap(): (id: number) => number {
  const numbers = new Map<number, number>();
  return (id) => {
    const known = numbers.get(id);
    if (known !== undefined) return known;
    numbers.set(id, numbers.size);
    return numbers.size - 1;
  };
}

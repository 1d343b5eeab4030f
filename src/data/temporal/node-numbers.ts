/**
 * Node numbers from the ids in a file. Ids that are all there from 0 or 1 on stay as they are (less 1); others are
 * numbered in order of appearance and keep their id as a name.
 */

export interface NumberedNodes {
  readonly numNodes: number;
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly names: string[] | null;
}

export function numberNodes(src: Int32Array, dst: Int32Array): NumberedNodes {
  const largest = largestOf(src, dst);
  const seen = largest < 64 * (src.length + 64) ? countByArray(src, dst, largest) : null;
  if (seen !== null) {
    const base = seen.present[0] === 1 ? 0 : 1;
    if (seen.count === largest + 1 - base) {
      const shift = (id: number): number => id - base;
      return { numNodes: seen.count, src: src.map(shift), dst: dst.map(shift), names: null };
    }
  }
  return byAppearance(src, dst, seen === null ? null : largest);
}

/** The largest id of both sides; −1 without events. */
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

/** `largest` null: ids are too far apart for a table of them. */
function byAppearance(src: Int32Array, dst: Int32Array, largest: number | null): NumberedNodes {
  const names: string[] = [];
  const numbers = largest === null ? new Map<number, number>() : new Int32Array(largest + 1);
  const numberOf = (id: number): number => {
    const known = numbers instanceof Map ? (numbers.get(id) ?? 0) : numbers[id];
    if (known > 0) return known - 1;
    names.push(String(id));
    if (numbers instanceof Map) numbers.set(id, names.length);
    else numbers[id] = names.length;
    return names.length - 1;
  };
  const out = { src: new Int32Array(src.length), dst: new Int32Array(dst.length) };
  for (let i = 0; i < src.length; i++) {
    out.src[i] = numberOf(src[i]);
    out.dst[i] = numberOf(dst[i]);
  }
  return { numNodes: names.length, ...out, names };
}

/**
 * Permutations of whole stores: random, or sorted by a column, each within the pieces that partition sizes describe
 * (edge buckets) where there are any.
 */
import { kernels } from '../native/index.js';
import { expected, FormatError, ValueError } from '../util/errors.js';
import { Random } from '../util/philox.js';
import { readWholeFile } from './atomic-file.js';
import type { RowArray } from './row-store.js';

/** The sizes of consecutive pieces, one number a line, as `*_partition_offsets.txt` lists them. They add up to `rows`. */
export async function readPartitionSizes(path: string, rows: number): Promise<Float64Array> {
  const text = new TextDecoder().decode(await readWholeFile(path));
  const lines = text.trim().split(/\s*\n\s*/);
  const sizes = Float64Array.from(lines, (line, i) => {
    if (/^\d+$/.test(line)) return Number(line);
    throw new FormatError(`${path}:${i + 1}: expected a whole number, got ${JSON.stringify(line)}.`, {
      path,
    });
  });
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total !== rows) {
    const advice = 'The file belongs to other data; prepare them again.';
    throw new FormatError(`${path}: expected sizes that add up to ${rows}, got ${total}. ${advice}`, {
      path,
    });
  }
  return sizes;
}

/** `[start, end)` of every piece; one piece without sizes. */
function pieces(rows: number, sizes: Float64Array | null): [number, number][] {
  if (sizes === null) return [[0, rows]];
  let start = 0;
  return Array.from(sizes, (size) => {
    start += size;
    return [start - size, start];
  });
}

/** A random permutation that leaves every row in its piece. */
export function shuffledOrder(rows: number, sizes: Float64Array | null, seed: number): Int32Array {
  const order = new Int32Array(rows);
  pieces(rows, sizes).forEach(([start, end], i) => {
    const part = order.subarray(start, end);
    if (part.length > 0) kernels().randomPermutation(part, part.length, new Random(seed).split(i).key);
    for (let k = 0; k < part.length; k++) part[k] += start;
  });
  return order;
}

/** The order of ascending values in `column` (counted from the end when negative), equal values as they were. */
export function sortedOrder(
  data: RowArray,
  shape: { readonly rows: number; readonly width: number },
  column: number,
  sizes: Float64Array | null,
): Int32Array {
  const { rows, width } = shape;
  const j = column < 0 ? width + column : column;
  if (!Number.isInteger(j) || j < 0 || j >= width) {
    throw new ValueError(expected('sort', `a column from ${-width} to ${width - 1}`, 'column', column));
  }
  const order = Int32Array.from({ length: rows }, (_, i) => i);
  for (const [start, end] of pieces(rows, sizes)) {
    order.subarray(start, end).sort((a, b) => data[a * width + j] - data[b * width + j] || a - b);
  }
  return order;
}

/** The rows of `data` in another order. */
export function reordered<T extends RowArray>(data: T, order: Int32Array, width: number): T {
  const out = new (data.constructor as new (length: number) => T)(data.length);
  kernels().gatherRows(data, order, out, order.length, width * data.BYTES_PER_ELEMENT);
  return out;
}

/**
 * Permutations of whole stores: random, or sorted by a column; within the given partitions (edge buckets), if there are
 * any.
 */
import { kernels } from '../native/index.js';
import { expected, FormatError, ValueError } from '../util/errors.js';
import { Random } from '../util/philox.js';
import { readWholeFile } from './atomic-file.js';
import type { RowArray } from './row-store.js';

/**
 * Reads the sizes of consecutive partitions, one number per line, as in `*_partition_offsets.txt`; their sum must be
 * `rows`.
 */
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

/** Returns `[start, end)` of every partition; one range without sizes. */
function rangesOf(rows: number, sizes: Float64Array | null): [number, number][] {
  if (sizes === null) return [[0, rows]];
  let start = 0;
  return Array.from(sizes, (size) => {
    start += size;
    return [start - size, start];
  });
}

/** Draws a permutation that keeps every row in its partition. */
export function drawOrder(rows: number, sizes: Float64Array | null, seed: number): Int32Array {
  const order = new Int32Array(rows);
  rangesOf(rows, sizes).forEach(([start, end], i) => {
    const part = order.subarray(start, end);
    if (part.length > 0) kernels().randomPermutation(part, part.length, new Random(seed).split(i).key);
    for (let k = 0; k < part.length; k++) part[k] += start;
  });
  return order;
}

/** Returns the stable order of ascending values in `column` (a negative one counts from the end). */
export function sortOrder(
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
  for (const [start, end] of rangesOf(rows, sizes)) {
    order.subarray(start, end).sort((a, b) => data[a * width + j] - data[b * width + j] || a - b);
  }
  return order;
}

/** Returns the rows of `data` in another order. */
export function reorderRows<T extends RowArray>(data: T, order: Int32Array, width: number): T {
  const out = new (data.constructor as new (length: number) => T)(data.length);
  kernels().gatherRows(data, order, out, order.length, width * data.BYTES_PER_ELEMENT);
  return out;
}

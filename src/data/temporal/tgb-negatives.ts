/**
 * Negatives of the Temporal Graph Benchmark: a pickled dictionary from (source, destination, time) to the destinations that the
 * event is ranked against. The pickle is parsed, never executed.
 */
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { FormatError } from '../../util/errors.js';
import { parsePickle } from '../formats/pickle.js';
import { PickleArray, type PickleValue } from '../formats/pickle-objects.js';

/** Negatives by event; those of event i are ids[offsets[i]] … ids[offsets[i + 1] − 1]. */
export interface TgbNegatives {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly time: Float64Array;
  readonly offsets: Int32Array;
  readonly ids: Int32Array;
}

/**
 * Reads a file of negatives, such as `tgbl-wiki_test_ns_v2.pkl`. Node numbers are those of the benchmark, which `readTemporal`
 * gives the nodes of its edge lists.
 *
 * @example
 * const { src, dst, time, offsets, ids } = await readTgbNegatives('tgbl-review_test_ns_v2.pkl');
 */
export async function readTgbNegatives(path: string): Promise<TgbNegatives> {
  const bytes = await readFile(path);
  const value = parsePickle(bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes, path);
  if (!(value instanceof Map))
    fail(path, 'a dictionary from (source, destination, time) to arrays', 'another value');
  const count = value.size;
  const [src, dst, time] = [new Int32Array(count), new Int32Array(count), new Float64Array(count)];
  const offsets = new Int32Array(count + 1);
  const lists: ArrayLike<number | bigint>[] = [];
  for (const [key, list] of value) {
    const i = lists.length;
    if (!Array.isArray(key) || key.length !== 3) fail(path, 'keys of three numbers', `entry ${i}`);
    src[i] = nodeOf(path, key[0], i);
    dst[i] = nodeOf(path, key[1], i);
    time[i] = Number(key[2]);
    if (!Number.isFinite(time[i])) fail(path, 'a finite time', `entry ${i}`);
    const ids = listOf(path, list, i);
    lists.push(ids);
    offsets[i + 1] = offsets[i] + ids.length;
  }
  const ids = new Int32Array(offsets[count]);
  for (const [i, list] of lists.entries())
    for (let k = 0; k < list.length; k++) ids[offsets[i] + k] = nodeOf(path, list[k], i);
  return { src, dst, time, offsets, ids };
}

function listOf(path: string, value: PickleValue, entry: number): ArrayLike<number | bigint> {
  if (value instanceof PickleArray && value.value !== null)
    return value.value.data as unknown as ArrayLike<number | bigint>;
  if (Array.isArray(value)) return value as number[];
  return fail(path, 'an array of destinations', `entry ${entry}`);
}

function nodeOf(path: string, value: PickleValue | undefined, entry: number): number {
  const node = Number(value);
  if (
    (typeof value === 'number' || typeof value === 'bigint') &&
    Number.isInteger(node) &&
    node >= 0 &&
    node < 2 ** 31 - 1
  )
    return node;
  return fail(path, 'node numbers from 0', `entry ${entry}`);
}

function fail(path: string, what: string, got: string): never {
  throw new FormatError(
    `${path}: expected ${what}, got ${got}. Give a file of negatives of the Temporal Graph Benchmark.`,
    {
      path,
    },
  );
}

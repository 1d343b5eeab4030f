/**
 * Rows addressed by id, wherever they lie: the one interface of tables in memory, in a file, behind a partition buffer.
 *
 * Every store keeps the same promises (test/storage/row-store.test.ts runs one suite over all): ids may repeat in
 * `gather`, repeated ids add up in order in `add`, a later `put` of the same id wins, what was written is read back,
 * and it is on disk after `flush` where there is a disk. Also offered under Marius's names.
 */
import { DTypeError, expected, ShapeError, ValueError } from '../util/errors.js';

/** Element types of stores; half-precision rows are handed out as f32. */
export type StoreType = 'f32' | 'f64' | 'i32' | 'f16' | 'bf16';
export type RowArray = Float32Array | Float64Array | Int32Array;

/** Rows that are read. */
export interface RowReader<T extends RowArray = RowArray> {
  readonly rows: number;
  readonly width: number;
  readonly dtype: StoreType;
  /** The rows of `ids`, one after the other. */
  gather(ids: Int32Array, out?: T): Promise<T>;
  /** Rows start … start + count − 1. */
  range(start: number, count: number): Promise<T>;
  /** Says that these rows are read soon; may do nothing. */
  prefetch(ids: Int32Array): Promise<void>;
  /** Gives back memory and files that it holds open, where it does; `write` first writes what changed. */
  unload?(write?: boolean): Promise<void>;
}

export interface RowStore<T extends RowArray = RowArray> extends RowReader<T> {
  /** row[ids[i]] += values[i]. */
  add(ids: Int32Array, values: T): Promise<void>;
  /** row[ids[i]] = values[i]. */
  put(ids: Int32Array, values: T): Promise<void>;
  rangePut(start: number, values: T): Promise<void>;
  /** What was written is in its place on disk. */
  flush(): Promise<void>;
}

export function makeRows(dtype: StoreType, length: number): RowArray {
  if (dtype === 'f64') return new Float64Array(length);
  return dtype === 'i32' ? new Int32Array(length) : new Float32Array(length);
}

export function elementBytes(dtype: StoreType): number {
  if (dtype === 'f64') return 8;
  return dtype === 'f16' || dtype === 'bf16' ? 2 : 4;
}

/** Refuses ids outside a store and values that do not match them. */
export function checkIds(where: string, ids: Int32Array, rows: number): void {
  if (!(ids instanceof Int32Array)) throw new DTypeError(expected(where, 'an Int32Array', 'ids', ids));
  for (let i = 0; i < ids.length; i++) {
    if (ids[i] < 0 || ids[i] >= rows) {
      throw new ValueError(expected(where, `an id from 0 to ${rows - 1}`, `ids[${i}]`, ids[i]));
    }
  }
}

export function checkRange(where: string, start: number, count: number, rows: number): void {
  if (Number.isInteger(start) && Number.isInteger(count) && start >= 0 && count >= 0 && start + count <= rows)
    return;
  throw new ValueError(
    expected(where, `rows within 0 to ${rows - 1}`, 'the range', `${start} … ${start + count - 1}`),
  );
}

/** Refuses values of another type than the store hands out, or not a whole number `count` of rows. */
export function checkValues(
  where: string,
  store: Pick<RowReader, 'dtype' | 'width'>,
  values: RowArray,
  count: number,
): void {
  const want = makeRows(store.dtype, 0).constructor;
  if (values?.constructor !== want) throw new DTypeError(expected(where, want.name, 'values', values));
  if (values.length === count * store.width) return;
  throw new ShapeError(expected(where, `${count} rows of ${store.width} elements`, 'values', values));
}

/** How many rows `values` has. */
export function countRows(where: string, values: RowArray, width: number): number {
  if (values.length % width === 0) return values.length / width;
  throw new ShapeError(expected(where, `whole rows of ${width} elements`, 'values', values));
}

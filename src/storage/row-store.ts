/**
 * Rows addressed by id: the common interface of tables in memory, in a file, behind a partition buffer.
 *
 * All stores have the same contract (test/storage/row-store.test.ts runs one suite over all): ids may repeat in
 * `gather`, repeated ids add up in order in `add`, a later `put` of the same id wins, reads return what was written,
 * and `flush` makes it durable if there is a disk. Methods with Marius's names are available too.
 */
import { DTypeError, expected, ShapeError, ValueError } from '../util/errors.js';

/** Element types of stores; half-precision rows are returned as f32. */
export type StoreType = 'f32' | 'f64' | 'i32' | 'f16' | 'bf16';
export type RowArray = Float32Array | Float64Array | Int32Array;

/** Readable rows. */
export interface RowReader<T extends RowArray = RowArray> {
  readonly rows: number;
  readonly width: number;
  readonly dtype: StoreType;
  /** Returns the rows of `ids`, in their order. */
  gather(ids: Int32Array, out?: T): Promise<T>;
  /** Returns rows start … start + count − 1. */
  range(start: number, count: number): Promise<T>;
  /** Announces that these rows will be read soon; may do nothing. */
  prefetch(ids: Int32Array): Promise<void>;
  /** Releases memory and open files; with `write`, writes changes first. */
  unload?(write?: boolean): Promise<void>;
}

export interface RowStore<T extends RowArray = RowArray> extends RowReader<T> {
  /** Computes row[ids[i]] += values[i]. */
  add(ids: Int32Array, values: T): Promise<void>;
  /** Sets row[ids[i]] = values[i]. */
  put(ids: Int32Array, values: T): Promise<void>;
  rangePut(start: number, values: T): Promise<void>;
  /** Writes all changes to disk. */
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

/** Throws if an id is outside the store. */
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

/** Throws unless values have the type of the store and are `count` rows. */
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

/** Returns the number of rows of `values`. */
export function countRows(where: string, values: RowArray, width: number): number {
  if (values.length % width === 0) return values.length / width;
  throw new ShapeError(expected(where, `whole rows of ${width} elements`, 'values', values));
}

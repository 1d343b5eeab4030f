/**
 * Rows in memory, optionally read from a file and written back to it. Rows of f16 and bf16 files are f32 in memory and
 * are rounded when they are written.
 */
import { kernels, storageCode } from '../native/index.js';
import { checkInteger, expected, FormatError, StateError, ValueError } from '../util/errors.js';
import { readWholeFile, writeFileAtomic } from './atomic-file.js';
import { drawOrder, readPartitionSizes, reorderRows, sortOrder } from './row-order.js';
import {
  checkIds,
  checkRange,
  checkValues,
  countRows,
  elementBytes,
  makeRows,
  type RowArray,
  type RowStore,
  type StoreType,
} from './row-store.js';

export interface StoreShape {
  readonly rows: number;
  readonly width: number;
  readonly dtype?: StoreType;
}

export class MemoryStore<T extends RowArray = Float32Array> implements RowStore<T> {
  readonly rows: number;
  readonly width: number;
  readonly dtype: StoreType;
  readonly path: string | null;
  #data: T | null;
  #sizes: Float64Array | null = null;

  /** Uses the given rows, or a file, which `load` reads. */
  constructor(source: T | string, shape: StoreShape) {
    const rows = checkInteger('MemoryStore', 'rows', shape?.rows);
    this.rows = rows;
    this.width = checkInteger('MemoryStore', 'width', shape.width);
    this.path = typeof source === 'string' ? source : null;
    this.#data = typeof source === 'string' ? null : source;
    this.dtype = shape.dtype ?? (typeof source === 'string' ? 'f32' : typeOf(source));
    if (this.#data !== null) checkValues('MemoryStore', this, this.#data, rows);
  }

  /** Reads the file; does nothing if it is loaded. */
  async load(): Promise<void> {
    if (this.#data !== null || this.path === null) return;
    const bytes = await readWholeFile(this.path);
    const length = this.rows * this.width;
    const want = length * elementBytes(this.dtype);
    if (bytes.length !== want) {
      const advice = `It must have ${this.rows} rows of ${this.width} elements (${this.dtype}).`;
      throw new FormatError(`read: expected ${want} bytes in ${this.path}, got ${bytes.length}. ${advice}`);
    }
    const data = makeRows(this.dtype, length);
    if (this.dtype === 'f16' || this.dtype === 'bf16') {
      const half = new Uint16Array(bytes.buffer, bytes.byteOffset, length);
      kernels().cast(half, storageCode[this.dtype], data, storageCode.f32, length);
    } else {
      new Uint8Array(data.buffer).set(bytes);
    }
    this.#data = data as T;
  }

  /** Writes all rows to the file, which is replaced as a whole. */
  async write(): Promise<void> {
    if (this.path === null) return;
    const data = this.data();
    if (this.dtype === 'f16' || this.dtype === 'bf16') {
      const half = new Uint16Array(data.length);
      kernels().cast(data, storageCode.f32, half, storageCode[this.dtype], data.length);
      return writeFileAtomic(this.path, new Uint8Array(half.buffer));
    }
    await writeFileAtomic(this.path, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }

  flush(): Promise<void> {
    return this.#data === null ? Promise.resolve() : this.write();
  }

  /** Releases the memory, after writing if requested. Rows without a file stay. */
  async unload(write = false): Promise<void> {
    if (write && this.#data !== null) await this.write();
    if (this.path !== null) this.#data = null;
  }

  /** Returns the rows, without a copy. */
  data(): T {
    if (this.#data === null)
      throw new StateError('MemoryStore: the rows are not in memory. Call load() first.');
    if (this.#data.length !== this.rows * this.width) {
      const name = this.path === null ? `of ${this.rows} rows of ${this.width} elements` : this.path;
      throw new StateError(
        `MemoryStore ${name}: expected the memory it was made over, got ${this.#data.length} elements. Its buffer was ` +
          'transferred or resized: pass a copy to the store.',
      );
    }
    return this.#data;
  }

  async gather(ids: Int32Array, out?: T): Promise<T> {
    return this.gatherSync(ids, out);
  }

  gatherSync(ids: Int32Array, out?: T): T {
    checkIds('gather', ids, this.rows);
    const rows = out ?? (makeRows(this.dtype, ids.length * this.width) as T);
    checkValues('gather', this, rows, ids.length);
    const data = this.data();
    kernels().gatherRows(data, ids, rows, ids.length, this.width * data.BYTES_PER_ELEMENT);
    return rows;
  }

  async add(ids: Int32Array, values: T): Promise<void> {
    checkIds('add', ids, this.rows);
    checkValues('add', this, values, ids.length);
    const data = this.data();
    if (data instanceof Int32Array) {
      for (let i = 0; i < values.length; i++) {
        data[ids[Math.floor(i / this.width)] * this.width + (i % this.width)] += values[i];
      }
    } else {
      kernels().scatterAddRows(ids, values as Float32Array, data, ids.length, this.rows, this.width);
    }
  }

  async put(ids: Int32Array, values: T): Promise<void> {
    checkIds('put', ids, this.rows);
    checkValues('put', this, values, ids.length);
    const { width } = this;
    const data = this.data();
    for (let i = 0; i < ids.length; i++)
      data.set(values.subarray(i * width, (i + 1) * width), ids[i] * width);
  }

  async range(start: number, count: number): Promise<T> {
    checkRange('range', start, count, this.rows);
    return this.data().slice(start * this.width, (start + count) * this.width) as T;
  }

  async rangePut(start: number, values: T): Promise<void> {
    const count = countRows('rangePut', values, this.width);
    checkRange('rangePut', start, count, this.rows);
    checkValues('rangePut', this, values, count);
    this.data().set(values, start * this.width);
  }

  prefetch(): Promise<void> {
    return Promise.resolve();
  }

  /** Reads the sizes of partitions; afterwards `shuffle` and `sort` keep every row in its partition. */
  async readPartitionSizes(path: string): Promise<Float64Array> {
    this.#sizes = await readPartitionSizes(path, this.rows);
    return this.#sizes;
  }

  /** Permutes the rows at random and returns the permutation. */
  async shuffle(seed: number): Promise<Int32Array> {
    return this.#reorder(drawOrder(this.rows, this.#sizes, seed));
  }

  /** Sorts the rows by one column (−1 is the last), stably, and returns the order. */
  async sort(column = 0): Promise<Int32Array> {
    return this.#reorder(sortOrder(this.data(), this, column, this.#sizes));
  }

  #reorder(order: Int32Array): Int32Array {
    this.data().set(reorderRows(this.data(), order, this.width));
    return order;
  }

  /** Like `gather`, under Marius's name. */
  indexRead(ids: Int32Array): Promise<T> {
    return this.gather(ids);
  }

  indexAdd(ids: Int32Array, values: T): Promise<void> {
    return this.add(ids, values);
  }

  indexPut(ids: Int32Array, values: T): Promise<void> {
    return this.put(ids, values);
  }
}

function typeOf(data: RowArray): StoreType {
  if (data instanceof Float32Array) return 'f32';
  if (data instanceof Float64Array) return 'f64';
  if (data instanceof Int32Array) return 'i32';
  throw new ValueError(expected('MemoryStore', 'Float32Array, Float64Array or Int32Array', 'source', data));
}

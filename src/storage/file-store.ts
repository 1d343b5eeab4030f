/**
 * Rows in a file of raw values, read and written in place: adjacent rows in one transfer, several transfers
 * concurrently. A random row still costs a disk access; HotColdStore caches those that are read often.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { asyncKernels, kernels, nativeStatus, storageCode, unshared } from '../native/index.js';
import { checkInteger, FormatError, StateError } from '../util/errors.js';
import { argsortIds } from '../util/id-order.js';
import { checkOptionNames } from '../util/option-names.js';
import { storageError } from './atomic-file.js';
import type { IoMode } from './io-mode.js';
import type { StoreShape } from './memory-store.js';
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

/** Rows closer than this are read in one transfer. */
const gapBytes = 2 ** 14;
const runBytes = 2 ** 20;
/** The number of concurrent transfers: as many as Node.js has threads for files. */
const parallel = 4;

export interface FileStoreOptions {
  /**
   * `auto` bypasses the page cache for single rows where the system supports it: for tables larger than memory whose
   * hot rows are cached (HotColdStore). Default `buffered`.
   */
  readonly io?: IoMode;
  /** Open the file read-only, such as one of a dataset (default false). */
  readonly readOnly?: boolean;
}

export class FileStore<T extends RowArray = Float32Array> implements RowStore<T> {
  readonly path: string;
  readonly width: number;
  readonly dtype: StoreType;
  readonly #rowBytes: number;
  #rows: number;
  #file: FileHandle | null = null;
  /** The file opened again for direct transfers of single rows, if requested and supported. */
  #rowFile: FileHandle | null = null;
  readonly #io: IoMode;
  readonly #readOnly: boolean;
  #reading: Promise<unknown> = Promise.resolve();
  #sizes: Float64Array | null = null;

  constructor(path: string, shape: StoreShape, options: FileStoreOptions = {}) {
    checkOptionNames('FileStore', options, { io: true, readOnly: true });
    this.path = path;
    this.#io = options.io ?? 'buffered';
    this.#readOnly = options.readOnly ?? false;
    this.#rows = checkInteger('FileStore', 'rows', shape?.rows);
    this.width = checkInteger('FileStore', 'width', shape.width);
    this.dtype = shape.dtype ?? 'f32';
    this.#rowBytes = this.width * elementBytes(this.dtype);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Opens the file, which must have the expected size; does nothing if it is open. */
  async load(): Promise<void> {
    if (this.#file !== null) return;
    const file = await open(this.path, this.#readOnly ? 'r' : 'r+').catch((error: unknown) => {
      throw storageError('read', this.path, error);
    });
    const { size } = await file.stat();
    if (size !== this.#rows * this.#rowBytes) {
      await file.close();
      const want = this.#rows * this.#rowBytes;
      const advice = `It must have ${this.#rows} rows of ${this.width} elements (${this.dtype}).`;
      throw new FormatError(`read: expected ${want} bytes in ${this.path}, got ${size}. ${advice}`);
    }
    this.#file = file;
    this.#rowFile = this.#io === 'auto' ? await openDirect(this.path) : null;
  }

  /** Whether reads of rows bypass the page cache. */
  get isDirect(): boolean {
    return this.#rowFile !== null;
  }

  /** Makes everything written so far durable. */
  async write(): Promise<void> {
    await this.#opened().sync();
  }

  async flush(): Promise<void> {
    if (this.#file !== null) await this.write();
  }

  async unload(write = false): Promise<void> {
    if (write) await this.flush();
    const files = [this.#file, this.#rowFile];
    this.#file = null;
    this.#rowFile = null;
    // The addon reads by descriptor, which must not be reused for another file before it ends.
    await this.#reading;
    for (const file of files) await file?.close();
  }

  async gather(ids: Int32Array, out?: T): Promise<T> {
    checkIds('gather', ids, this.#rows);
    const result = out ?? (makeRows(this.dtype, ids.length * this.width) as T);
    checkValues('gather', this, result, ids.length);
    const order = argsortIds(ids);
    const sorted = new Int32Array(ids.length);
    for (let i = 0; i < order.length; i++) sorted[i] = ids[order[i]];
    const raw = this.#isHalf ? new Uint16Array(result.length) : result;
    if (out === undefined) unshared(raw);
    await this.#reads(async (file) => {
      await asyncKernels.readRows(file.fd, sorted, order, raw, ids.length, this.#rowBytes, gapBytes);
    });
    if (this.#isHalf) kernels().cast(raw, storageCode[this.dtype], result, storageCode.f32, raw.length);
    return result;
  }

  async add(ids: Int32Array, values: T): Promise<void> {
    checkIds('add', ids, this.#rows);
    checkValues('add', this, values, ids.length);
    const unique = Int32Array.from(new Set(ids)).sort();
    const rows = await this.gather(unique);
    const place = new Map(Array.from(unique, (id, i) => [id, i]));
    for (let i = 0; i < ids.length; i++) {
      const to = (place.get(ids[i]) as number) * this.width;
      for (let j = 0; j < this.width; j++) rows[to + j] += values[i * this.width + j];
    }
    await this.put(unique, rows);
  }

  async put(ids: Int32Array, values: T): Promise<void> {
    checkIds('put', ids, this.#rows);
    checkValues('put', this, values, ids.length);
    // By id, then by position: of equal ids the last one overwrites the others.
    const order = argsortIds(ids);
    await this.#visitRuns(ids, order, 0, async (first, last, positions) => {
      const rows = makeRows(this.dtype, (last - first + 1) * this.width) as T;
      for (const i of positions) {
        rows.set(values.subarray(i * this.width, (i + 1) * this.width), (ids[i] - first) * this.width);
      }
      await this.rangePut(first, rows);
    });
  }

  async range(start: number, count: number): Promise<T> {
    checkRange('range', start, count, this.#rows);
    const file = this.#opened();
    const length = count * this.width;
    const half = this.#isHalf;
    const raw = half ? new Uint16Array(length) : makeRows(this.dtype, length);
    const bytes = new Uint8Array(raw.buffer);
    for (let done = 0; done < bytes.length; ) {
      const want = Math.min(2 ** 30, bytes.length - done);
      const { bytesRead } = await file.read(bytes, done, want, start * this.#rowBytes + done);
      if (bytesRead === 0)
        throw new FormatError(`read: expected row ${start + count - 1} in ${this.path}, got its end.`);
      done += bytesRead;
    }
    if (!half) return raw as T;
    const values = new Float32Array(length);
    kernels().cast(raw, storageCode[this.dtype], values, storageCode.f32, length);
    return values as T;
  }

  async rangePut(start: number, values: T): Promise<void> {
    const count = countRows('rangePut', values, this.width);
    checkRange('rangePut', start, count, this.#rows);
    checkValues('rangePut', this, values, count);
    await this.#writeAt(start, values);
  }

  /** Appends rows. */
  async append(values: T): Promise<void> {
    const count = countRows('append', values, this.width);
    checkValues('append', this, values, count);
    await this.#writeAt(this.#rows, values);
    this.#rows += count;
  }

  prefetch(): Promise<void> {
    return Promise.resolve();
  }

  /** Reads the sizes of partitions; afterwards `shuffle` and `sort` keep every row in its partition. */
  async readPartitionSizes(path: string): Promise<Float64Array> {
    this.#sizes = await readPartitionSizes(path, this.#rows);
    return this.#sizes;
  }

  /** Permutes the rows at random and returns the permutation. Reads the whole file into memory. */
  async shuffle(seed: number): Promise<Int32Array> {
    return this.#reorder(() => drawOrder(this.#rows, this.#sizes, seed));
  }

  /** Sorts the rows by one column (−1 is the last), stably, and returns the order. Reads the whole file into memory. */
  async sort(column = 0): Promise<Int32Array> {
    return this.#reorder((data) => sortOrder(data, this, column, this.#sizes));
  }

  async #reorder(orderOf: (data: T) => Int32Array): Promise<Int32Array> {
    const data = await this.range(0, this.#rows);
    const order = orderOf(data);
    await this.rangePut(0, reorderRows(data, order, this.width));
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

  async #writeAt(start: number, values: T): Promise<void> {
    const file = this.#opened();
    let raw: RowArray | Uint16Array = values;
    if (this.dtype === 'f16' || this.dtype === 'bf16') {
      raw = new Uint16Array(values.length);
      kernels().cast(values, storageCode.f32, raw, storageCode[this.dtype], values.length);
    }
    const bytes = new Uint8Array(raw.buffer, raw.byteOffset, raw.byteLength);
    for (let done = 0; done < bytes.length; ) {
      const want = Math.min(2 ** 30, bytes.length - done);
      const { bytesWritten } = await file.write(bytes, done, want, start * this.#rowBytes + done);
      done += bytesWritten;
    }
  }

  /** Splits sorted ids into runs whose rows are within `gap` bytes of each other, and visits several concurrently. */
  async #visitRuns(
    ids: Int32Array,
    order: Int32Array,
    gap: number,
    visit: (first: number, last: number, positions: Int32Array) => Promise<void>,
  ): Promise<void> {
    this.#opened();
    const runs: [number, number][] = [];
    for (let begin = 0; begin < order.length; ) {
      const first = ids[order[begin]];
      let end = begin + 1;
      while (end < order.length) {
        const step = ids[order[end]] - ids[order[end - 1]];
        const near = step <= 1 || (step - 1) * this.#rowBytes <= gap;
        if (!near || (ids[order[end]] - first) * this.#rowBytes > runBytes) break;
        end++;
      }
      runs.push([begin, end]);
      begin = end;
    }
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < runs.length) {
        const [begin, end] = runs[next++];
        await visit(ids[order[begin]], ids[order[end - 1]], order.subarray(begin, end));
      }
    };
    await Promise.all(Array.from({ length: Math.min(parallel, runs.length) }, worker));
  }

  get #isHalf(): boolean {
    return this.dtype === 'f16' || this.dtype === 'bf16';
  }

  async #reads(read: (file: FileHandle) => Promise<void>): Promise<void> {
    const reading = read(this.#rowFile ?? this.#opened());
    const before = this.#reading;
    this.#reading = reading.catch(() => {}).then(() => before);
    await reading.catch((error: unknown) => {
      throw storageError('read', this.path, error);
    });
  }

  #opened(): FileHandle {
    if (this.#file === null) throw new StateError(`FileStore: ${this.path} is not open. Call load() first.`);
    return this.#file;
  }
}

/** Opens the file for transfers that bypass the page cache; null if the system or a missing addon prevents them. */
async function openDirect(path: string): Promise<FileHandle | null> {
  if (nativeStatus().backend !== 'native' || !Number.isInteger(constants.O_DIRECT)) return null;
  const file = await open(path, constants.O_RDONLY | constants.O_DIRECT).catch(() => null);
  if (file === null) return null;
  // Some file systems accept the flag but reject the first transfer.
  const { size } = await file.stat();
  try {
    const one = Int32Array.of(0);
    if (size >= 4096) await asyncKernels.readRows(file.fd, one, one, new Uint8Array(4096), 1, 4096, 0);
    return file;
  } catch {
    await file.close();
    return null;
  }
}

/**
 * One column of a table behind a partition buffer, as a row store.
 *
 * `gather`, `add`, `put` and the ranges take ids of the table: resident rows are served from memory, others from the
 * file of their partition, which is correct but reads the whole partition. Training uses Marius's methods instead
 * (`indexRead`, `indexAdd`, `indexPut`), which take buffer-local ids of resident rows only.
 */
import { kernels, storageCode } from '../native/index.js';
import { expected, StateError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Random } from '../util/philox.js';
import type { ColumnBlock } from './column-block.js';
import { PartitionBuffer, type PartitionBufferOptions } from './partition-buffer.js';
import { readPartitionSizes } from './row-order.js';
import { checkIds, checkRange, checkValues, countRows, type RowStore, type StoreType } from './row-store.js';
import type { TableFiles } from './table-files.js';

export interface PartitionBufferStoreOptions extends PartitionBufferOptions {
  /** The column to serve; by default the first. */
  readonly column?: string;
}

/** Reads or changes rows in place; `at` are rows of `block`, `positions` their positions in the values of the call. */
type RowWork = (block: ColumnBlock, at: Int32Array, positions: Int32Array) => void;

export class PartitionBufferStore implements RowStore<Float32Array> {
  readonly buffer: PartitionBuffer;
  readonly rows: number;
  readonly width: number;
  readonly dtype: StoreType;
  readonly #column: number;

  constructor(files: TableFiles, capacity: number, options: PartitionBufferStoreOptions = {}) {
    checkOptionNames('PartitionBufferStore', options, { prefetch: true, column: true });
    if (files?.layout === undefined)
      throw new ValueError(expected('PartitionBufferStore', 'a TableFiles', 'files', files));
    this.buffer = new PartitionBuffer(files, capacity, options);
    this.#column = options.column === undefined ? 0 : this.buffer.columnIndex(options.column);
    const { width, dtype } = files.columns[this.#column];
    this.rows = files.layout.rows;
    this.width = width;
    this.dtype = dtype;
  }

  async gather(ids: Int32Array, out?: Float32Array): Promise<Float32Array> {
    checkIds('gather', ids, this.rows);
    const result = out ?? new Float32Array(ids.length * this.width);
    checkValues('gather', this, result, ids.length);
    await this.#visit(ids, false, (block, at, positions) => {
      const rows = this.#decode(block, at);
      kernels().putRows(rows, positions, result, at.length, this.width * 4);
    });
    return result;
  }

  async add(ids: Int32Array, values: Float32Array): Promise<void> {
    checkIds('add', ids, this.rows);
    checkValues('add', this, values, ids.length);
    await this.#visit(ids, true, (block, at, positions) => {
      const [unique, place] = uniqueRows(at);
      const rows = this.#decode(block, unique);
      const added = new Float32Array(at.length * this.width);
      kernels().gatherRows(values, positions, added, at.length, this.width * 4);
      kernels().scatterAddRows(place, added, rows, at.length, unique.length, this.width);
      this.#encode(block, unique, rows);
    });
  }

  async put(ids: Int32Array, values: Float32Array): Promise<void> {
    checkIds('put', ids, this.rows);
    checkValues('put', this, values, ids.length);
    await this.#visit(ids, true, (block, at, positions) => {
      const [unique, place] = uniqueRows(at);
      const rows = new Float32Array(unique.length * this.width);
      // In order, so that the last of equal ids wins.
      positions.forEach((position, i) => {
        rows.set(values.subarray(position * this.width, (position + 1) * this.width), place[i] * this.width);
      });
      this.#encode(block, unique, rows);
    });
  }

  async range(start: number, count: number): Promise<Float32Array> {
    checkRange('range', start, count, this.rows);
    return this.gather(Int32Array.from({ length: count }, (_, i) => start + i));
  }

  async rangePut(start: number, values: Float32Array): Promise<void> {
    const count = countRows('rangePut', values, this.width);
    checkRange('rangePut', start, count, this.rows);
    await this.put(
      Int32Array.from({ length: count }, (_, i) => start + i),
      values,
    );
  }

  prefetch(): Promise<void> {
    return Promise.resolve();
  }

  flush(): Promise<void> {
    return this.buffer.flush();
  }

  /** Methods with Marius's names; ids are buffer-local. */
  setBufferOrdering(states: readonly ArrayLike<number>[]): void {
    this.buffer.setOrdering(states);
  }

  load(): Promise<void> {
    return this.buffer.load();
  }

  write(): Promise<void> {
    return this.buffer.flush();
  }

  sync(): Promise<void> {
    return this.buffer.flush();
  }

  unload(write = false): Promise<void> {
    return this.buffer.unload(write);
  }

  hasSwap(): boolean {
    return this.buffer.hasSwap();
  }

  getNextAdmit(): number[] {
    return this.buffer.getNextAdmit();
  }

  getNextEvict(): number[] {
    return this.buffer.getNextEvict();
  }

  performNextSwap(): Promise<void> {
    return this.buffer.performNextSwap();
  }

  getGlobalToLocalMap(current = true): Int32Array {
    return this.buffer.getGlobalToLocalMap(current);
  }

  /** Returns the capacity of the block in rows, including gaps; `buffer.numResidentRows` excludes them. */
  getNumInMemory(): number {
    return this.buffer.capacity * this.buffer.layout.size;
  }

  /** Draws local ids of `count` resident rows with replacement. */
  getRandomIds(count: number, seed: number): Int32Array {
    const ranges = this.buffer.localRanges();
    const total = this.buffer.numResidentRows;
    if (total === 0) throw new StateError('getRandomIds: no partition is in memory. Call load() first.');
    const random = new Random(seed);
    return Int32Array.from({ length: count }, () => {
      let at = random.nextInt(total);
      for (const { rows, localStart } of ranges) {
        if (at < rows) return localStart + at;
        at -= rows;
      }
      return -1;
    });
  }

  indexRead(localIds: Int32Array): Float32Array {
    return this.buffer.indexRead(localIds, this.#column);
  }

  indexAdd(localIds: Int32Array, values: Float32Array): void {
    this.buffer.indexAdd(localIds, values, this.#column);
  }

  indexPut(localIds: Int32Array, values: Float32Array): void {
    this.buffer.indexPut(localIds, values, this.#column);
  }

  readPartitionSizes(path: string): Promise<Float64Array> {
    return readPartitionSizes(path, this.rows);
  }

  shuffle(): Promise<never> {
    return Promise.reject(keepsOrder('shuffle'));
  }

  sort(): Promise<never> {
    return Promise.reject(keepsOrder('sort'));
  }

  /** Calls `work` once per partition of `ids`. */
  async #visit(ids: Int32Array, change: boolean, work: RowWork): Promise<void> {
    const { layout, slotOf, columns } = this.buffer;
    if (change && !columns[this.#column].writable) {
      throw new ValueError(`PartitionBufferStore: column ${columns[this.#column].name} is read-only.`);
    }
    const groups = new Map<number, number[]>();
    ids.forEach((id, i) => {
      const k = layout.partitionOf(id);
      const group = groups.get(k);
      if (group === undefined) groups.set(k, [i]);
      else group.push(i);
    });
    for (const [k, list] of groups) {
      const positions = Int32Array.from(list);
      const slot = slotOf[k];
      const shift = (slot < 0 ? 0 : slot * layout.size) - layout.start(k);
      const at = positions.map((i) => ids[i] + shift);
      if (slot >= 0) {
        work(this.buffer.block(this.#column), at, positions);
        if (change) this.buffer.markDirty(at);
      } else {
        await this.buffer.visitAbsent(k, (blocks) => {
          work(blocks[this.#column], at, positions);
          return change;
        });
      }
    }
  }

  #decode(block: ColumnBlock, at: Int32Array): Float32Array {
    const length = at.length * this.width;
    const rows = new Float32Array(length);
    if (block instanceof Float32Array) {
      kernels().gatherRows(block, at, rows, at.length, this.width * 4);
      return rows;
    }
    const half = new Uint16Array(length);
    kernels().gatherRows(block, at, half, at.length, this.width * 2);
    kernels().cast(half, storageCode[this.dtype], rows, storageCode.f32, length);
    return rows;
  }

  #encode(block: ColumnBlock, at: Int32Array, rows: Float32Array): void {
    if (block instanceof Float32Array) {
      kernels().putRows(rows, at, block, at.length, this.width * 4);
      return;
    }
    const half = new Uint16Array(rows.length);
    kernels().cast(rows, storageCode.f32, half, storageCode[this.dtype], rows.length);
    kernels().putRows(half, at, block, at.length, this.width * 2);
  }
}

/** Returns the distinct ids in order of appearance, and the index of every id among them. */
function uniqueRows(ids: Int32Array): [Int32Array, Int32Array] {
  const places = new Map<number, number>();
  const place = ids.map((id) => {
    const known = places.get(id);
    if (known !== undefined) return known;
    places.set(id, places.size);
    return places.size - 1;
  });
  return [Int32Array.from(places.keys()), place];
}

function keepsOrder(what: string): StateError {
  const advice = 'Permute the ids when the data are prepared.';
  return new StateError(`PartitionBufferStore.${what}: a row's partition follows from its id. ${advice}`);
}

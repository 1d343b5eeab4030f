/**
 * Rows of a partition buffer by local id: gather, add, put, and conversion between local and global ids.
 *
 * Half-precision columns are read exactly and written rounded to nearest, ties to even; sums are formed in f32.
 */
import { asyncKernels, kernels, storageCode, unshared } from '../native/index.js';
import { DTypeError, expected, ShapeError, ValueError } from '../util/errors.js';
import type { PartitionBuffer } from './partition-buffer.js';
import { columnRowBytes, type TableColumn } from './table-manifest.js';

export class BufferRows {
  readonly #buffer: PartitionBuffer;

  constructor(buffer: PartitionBuffer) {
    this.#buffer = buffer;
  }

  /** Returns rows as f32. */
  read(localIds: Int32Array, column: string | number = 0, out?: Float32Array): Float32Array {
    const { width, dtype, rowBytes, block } = this.#column('indexRead', column);
    this.check('indexRead', localIds);
    const n = localIds.length;
    const values = out ?? new Float32Array(n * width);
    this.#checkShape('indexRead', values, n, width);
    if (dtype === 'f32') {
      kernels().gatherRows(block, localIds, values, n, rowBytes);
      return values;
    }
    const half = new Uint16Array(n * width);
    kernels().gatherRows(block, localIds, half, n, rowBytes);
    kernels().cast(half, storageCode[dtype], values, storageCode.f32, n * width);
    return values;
  }

  /**
   * Reads rows on the kernels' threads; the rows must not be changed until the promise settles. The memory of `out`
   * cannot be transferred to another thread afterwards; that of a returned new array can.
   */
  async readAsync(
    localIds: Int32Array,
    column: string | number = 0,
    out?: Float32Array,
  ): Promise<Float32Array> {
    const { width, dtype, rowBytes, block } = this.#column('indexRead', column);
    this.check('indexRead', localIds);
    const n = localIds.length;
    const values = out ?? new Float32Array(n * width);
    this.#checkShape('indexRead', values, n, width);
    if (out === undefined) unshared(values);
    if (dtype === 'f32') {
      await asyncKernels.gatherRows(block, localIds, values, n, rowBytes);
    } else {
      const half = new Uint16Array(n * width);
      await asyncKernels.gatherRows(block, localIds, half, n, rowBytes);
      await asyncKernels.cast(half, storageCode[dtype], values, storageCode.f32, n * width);
    }
    return values;
  }

  /** Adds rows; rows of equal id add up in order. */
  add(localIds: Int32Array, values: Float32Array, column: string | number = 0): void {
    const { width, dtype, block } = this.#writable('indexAdd', column);
    this.check('indexAdd', localIds);
    const n = localIds.length;
    this.#checkShape('indexAdd', values, n, width);
    const rows = this.#buffer.capacity * this.#buffer.layout.size;
    if (dtype === 'f32') {
      kernels().scatterAddRows(localIds, values, block as Float32Array, n, rows, width);
      this.#buffer.markDirty(localIds);
      return;
    }
    const ids = new Int32Array(n);
    const sums = new Float32Array(n * width);
    const count = kernels().coalesceRows(localIds, values, ids, sums, n, rows, width);
    const unique = ids.subarray(0, count);
    const present = this.read(unique, column);
    kernels().axpy(1, sums.subarray(0, count * width), present, count * width);
    this.put(unique, present, column);
  }

  /** Replaces rows; ids must be unique. */
  put(localIds: Int32Array, values: Float32Array, column: string | number = 0): void {
    const { width, dtype, rowBytes, block } = this.#writable('indexPut', column);
    this.check('indexPut', localIds);
    const n = localIds.length;
    this.#checkShape('indexPut', values, n, width);
    if (dtype === 'f32') {
      kernels().putRows(values, localIds, block, n, rowBytes);
    } else {
      const half = new Uint16Array(n * width);
      kernels().cast(values, storageCode.f32, half, storageCode[dtype], n * width);
      kernels().putRows(half, localIds, block, n, rowBytes);
    }
    this.#buffer.markDirty(localIds);
  }

  toGlobal(localIds: Int32Array): Int32Array {
    this.check('toGlobal', localIds);
    const { slots, layout } = this.#buffer;
    const starts = Int32Array.from(slots, (k) => (k < 0 ? 0 : layout.start(k)));
    return localIds.map((id) => {
      const slot = Math.floor(id / layout.size);
      return starts[slot] + (id - slot * layout.size);
    });
  }

  /** Returns the local ids of rows of the table; −1 for rows that are not resident. */
  toLocal(globalIds: Int32Array): Int32Array {
    const { slotOf, layout } = this.#buffer;
    const wrong = kernels().findOutOfRange(globalIds, globalIds.length, 0, layout.rows);
    if (wrong >= 0) throw outOfRange('toLocal', `ids[${wrong}]`, layout.rows, globalIds[wrong]);
    return globalIds.map((id) => {
      const partition = layout.partitionOf(id);
      const slot = slotOf[partition];
      return slot < 0 ? -1 : slot * layout.size + (id - layout.start(partition));
    });
  }

  /** Throws if an id is not a resident row: outside the block, or in the gap after a short partition. */
  check(what: string, localIds: Int32Array): void {
    if (!(localIds instanceof Int32Array)) {
      throw new DTypeError(expected(`PartitionBuffer.${what}`, 'an Int32Array', 'ids', localIds));
    }
    const { slots, layout, capacity } = this.#buffer;
    const limit = capacity * layout.size;
    const wrong = kernels().findOutOfRange(localIds, localIds.length, 0, limit);
    if (wrong >= 0) throw outOfRange(what, `ids[${wrong}]`, limit, localIds[wrong]);
    const rowsIn = Int32Array.from(slots, (k) => (k < 0 ? 0 : layout.rowsOf(k)));
    if (rowsIn.every((rows) => rows === layout.size)) return;
    for (let i = 0; i < localIds.length; i++) {
      const slot = Math.floor(localIds[i] / layout.size);
      if (localIds[i] - slot * layout.size < rowsIn[slot]) continue;
      const advice = 'The slot holds a shorter partition; draw ids from localRanges().';
      const text = expected(`PartitionBuffer.${what}`, 'a row in memory', `ids[${i}]`, localIds[i], advice);
      throw new ValueError(text);
    }
  }

  #column(what: string, column: string | number) {
    const index = typeof column === 'number' ? column : this.#buffer.columnIndex(column);
    const described = this.#buffer.columns[index] as TableColumn | undefined;
    if (described === undefined) {
      const last = this.#buffer.columns.length - 1;
      throw new ValueError(expected(`PartitionBuffer.${what}`, `0 to ${last}`, 'column', column));
    }
    return { ...described, rowBytes: columnRowBytes(described), block: this.#buffer.block(index) };
  }

  #writable(what: string, column: string | number) {
    const found = this.#column(what, column);
    if (found.writable) return found;
    throw new ValueError(expected(`PartitionBuffer.${what}`, 'a writable column', 'column', found.name));
  }

  #checkShape(what: string, values: Float32Array, n: number, width: number): void {
    if (values instanceof Float32Array && values.length === n * width) return;
    const want = `${n} rows of ${width} elements`;
    throw new ShapeError(expected(`PartitionBuffer.${what}`, want, 'values', values));
  }
}

function outOfRange(what: string, name: string, limit: number, got: number): ValueError {
  return new ValueError(expected(`PartitionBuffer.${what}`, `an id from 0 to ${limit - 1}`, name, got));
}

/**
 * A table in files, of which some partitions are resident. With as many slots as partitions all are, and training
 * differs from that with a smaller buffer only in the order of its edges.
 *
 * Its columns are read as rows (`BufferedColumn`), and those with optimiser state are trained (`BufferedEmbeddings`);
 * all columns are swapped, written and saved together.
 */
import { kernels, storageCode } from '../native/index.js';
import { Tensor } from '../tensor/index.js';
import { unscoped } from '../tensor/scope.js';
import { asTensor } from './memory-embeddings.js';
import type { PartitionBuffer } from './partition-buffer.js';
import { repartitionTable } from './repartition-table.js';
import type { RowOptimizer } from './row-optimizer.js';
import { checkRange, type RowReader, type StoreType } from './row-store.js';
import { type ColumnType, columnRowBytes, type TableManifest } from './table-manifest.js';
import {
  hostGradient,
  type ResidentRange,
  type RowGradient,
  type RunTable,
  type Tile,
  type TrainedRows,
} from './trained-rows.js';

export class BufferedTable implements RunTable {
  readonly buffer: PartitionBuffer;

  constructor(buffer: PartitionBuffer) {
    this.buffer = buffer;
  }

  get partitions(): number {
    return this.buffer.layout.partitions;
  }

  get capacity(): number {
    return this.buffer.capacity;
  }

  /** Whether all rows are resident, so that local ids are the ids of the table. */
  get isWhole(): boolean {
    return this.capacity >= this.partitions && this.buffer.layout.pieces === 1;
  }

  get numLocalRows(): number {
    const { layout } = this.buffer;
    return this.isWhole ? layout.rows : this.capacity * layout.size;
  }

  setOrdering(states: readonly Int32Array[]): void {
    const all = [Int32Array.from({ length: this.partitions }, (_, k) => k)];
    // With a slot for each file there is one buffer state, even if a partition has several files.
    this.buffer.setOrdering(this.capacity >= this.partitions ? all : states);
  }

  async load(): Promise<void> {
    await this.buffer.load();
  }

  /** Does nothing for a whole table: all its partitions are resident. */
  async nextState(): Promise<void> {
    if (!this.isWhole) await this.buffer.performNextSwap();
  }

  residentRanges(): readonly ResidentRange[] {
    return this.buffer.localRanges();
  }

  toGlobal(localIds: Int32Array): Int32Array {
    return this.isWhole ? localIds : this.buffer.toGlobal(localIds);
  }

  async release(): Promise<void> {
    if (!this.isWhole) await this.buffer.unload(true);
  }

  async unload(write: boolean): Promise<void> {
    await this.buffer.unload(write);
  }

  async checkpoint(): Promise<TableManifest> {
    return this.buffer.checkpoint();
  }

  async restore(manifest: TableManifest): Promise<void> {
    const { files, layout } = this.buffer;
    await this.buffer.restore(await repartitionTable(files.folder, manifest, layout));
    await this.buffer.load();
  }

  async prune(keep: readonly TableManifest[]): Promise<void> {
    await this.buffer.files.removeUnreferenced(keep);
  }

  async close(): Promise<void> {
    await this.unload(false);
    await this.buffer.files.removeSpares();
  }
}

/**
 * The memory into which one reader reads partitions, by column; reused, since garbage of many partitions would exceed
 * the plan.
 */
interface Scratch {
  columns?: readonly ArrayBuffer[];
}

/** One column of a table: resident rows are read from memory, others from the files of their partitions. */
export class BufferedColumn implements RowReader<Float32Array> {
  readonly table: BufferedTable;
  readonly name: string;
  readonly rows: number;
  readonly width: number;
  readonly dtype: StoreType;
  protected readonly index: number;

  constructor(table: BufferedTable, name: string) {
    const { buffer } = table;
    this.table = table;
    this.name = name;
    this.index = buffer.columnIndex(name);
    const { width, dtype } = buffer.columns[this.index];
    this.rows = buffer.layout.rows;
    this.width = width;
    this.dtype = dtype;
  }

  async gather(ids: Int32Array, into?: Float32Array): Promise<Float32Array> {
    const out = into ?? new Float32Array(ids.length * this.width);
    const { buffer } = this.table;
    if (this.table.isWhole) {
      await this.#ready();
      return buffer.rows.read(ids, this.index, out);
    }
    if (buffer.loaded) {
      const local = residentIds(buffer, ids);
      if (local !== null) return buffer.rows.read(local, this.index, out);
    }
    await this.#gatherByPartition(ids, out);
    return out;
  }

  async range(start: number, count: number): Promise<Float32Array> {
    checkRange('range', start, count, this.rows);
    return this.gather(Int32Array.from({ length: count }, (_, i) => start + i));
  }

  async prefetch(): Promise<void> {}

  /** Yields all partitions in order, reading those that are not resident; each is valid until the next. */
  tiles(): AsyncIterable<Tile> {
    return this.tilesOf(Array.from({ length: this.table.partitions }, (_, k) => k));
  }

  /** Yields some partitions, in the given order, like `tiles`. */
  async *tilesOf(partitions: Iterable<number>): AsyncGenerator<Tile, void, undefined> {
    const scratch: Scratch = {};
    const { layout } = this.table.buffer;
    await this.#ready();
    for (const k of partitions) {
      const count = layout.rowsOf(k);
      // The last partitions may be empty.
      if (count === 0) continue;
      yield { start: layout.start(k), count, rows: await this.#partition(k, scratch) };
    }
  }

  /** Waits for writes of evicted partitions, so that their files can be read. */
  async #ready(): Promise<void> {
    const { buffer, isWhole } = this.table;
    if (!isWhole) await buffer.settle();
    else if (!buffer.loaded) await buffer.load();
  }

  async #partition(k: number, scratch: Scratch): Promise<Float32Array> {
    const { buffer } = this.table;
    const rows = buffer.layout.rowsOf(k);
    const { dtype, width } = buffer.columns[this.index];
    const slot = buffer.slotOf[k];
    if (slot < 0) return widen(await this.#read(k, scratch), dtype);
    const start = slot * buffer.layout.size * width;
    return widen(buffer.block(this.index).subarray(start, start + rows * width), dtype);
  }

  async #read(k: number, scratch: Scratch): Promise<Float32Array | Uint16Array> {
    const { files, layout, columns } = this.table.buffer;
    const rows = layout.rowsOf(k);
    scratch.columns ??= columns.map((c) => new ArrayBuffer(layout.size * columnRowBytes(c)));
    const memory = scratch.columns;
    const views = columns.map((c, i) => new Uint8Array(memory[i], 0, rows * columnRowBytes(c)));
    await files.readPartition(k, views);
    const { dtype, width } = columns[this.index];
    return dtype === 'f32'
      ? new Float32Array(memory[this.index], 0, rows * width)
      : new Uint16Array(memory[this.index], 0, rows * width);
  }

  async #gatherByPartition(ids: Int32Array, out: Float32Array): Promise<void> {
    const { layout } = this.table.buffer;
    const { width } = this;
    const scratch: Scratch = {};
    await this.#ready();
    const byPartition = new Map<number, number[]>();
    for (let i = 0; i < ids.length; i++) {
      const k = layout.partitionOf(ids[i]);
      const places = byPartition.get(k);
      if (places === undefined) byPartition.set(k, [i]);
      else places.push(i);
    }
    for (const [k, places] of byPartition) {
      const rows = await this.#partition(k, scratch);
      const start = layout.start(k);
      for (const i of places) {
        const from = (ids[i] - start) * width;
        out.set(rows.subarray(from, from + width), i * width);
      }
    }
  }
}

/** A trained column, with the state columns of its optimiser. */
export class BufferedEmbeddings extends BufferedColumn implements TrainedRows {
  readonly optimizer: RowOptimizer;
  readonly device = null;

  constructor(table: BufferedTable, name: string, optimizer: RowOptimizer) {
    super(table, name);
    this.optimizer = optimizer;
  }

  get residency(): BufferedTable {
    return this.table;
  }

  resident(localIds: Int32Array): Tensor {
    const out = newRows(localIds.length, this.width);
    this.table.buffer.rows.read(localIds, this.index, out.floats as Float32Array);
    return out;
  }

  residentView(): Tensor | null {
    const { buffer } = this.table;
    const block = buffer.block(this.index);
    const ranges = buffer.localRanges();
    const rows = ranges.reduce((sum, range) => sum + range.rows, 0);
    const last = ranges.at(-1);
    const hasGap = last === undefined || last.localStart + last.rows !== rows;
    if (hasGap || !(block instanceof Float32Array)) return null;
    return asTensor(block.subarray(0, rows * this.width), this.width);
  }

  async residentAsync(localIds: Int32Array): Promise<Tensor> {
    const out = newRows(localIds.length, this.width);
    await this.table.buffer.rows.readAsync(localIds, this.index, out.floats as Float32Array);
    return out;
  }

  update(localIds: Int32Array, gradient: RowGradient): void {
    this.optimizer.step(
      this.table.buffer,
      localIds,
      hostGradient('BufferedEmbeddings', gradient, localIds.length, this.width),
      this.name,
    );
  }
}

/** Returns the local ids of rows, or null if one is not resident. */
function residentIds({ layout, slotOf }: PartitionBuffer, ids: Int32Array): Int32Array | null {
  const local = new Int32Array(ids.length);
  for (let i = 0; i < ids.length; i++) {
    const k = layout.partitionOf(ids[i]);
    if (slotOf[k] < 0) return null;
    local[i] = slotOf[k] * layout.size + ids[i] - layout.start(k);
  }
  return local;
}

function widen(values: Float32Array | Uint16Array, dtype: ColumnType): Float32Array {
  if (values instanceof Float32Array) return values;
  const out = new Float32Array(values.length);
  kernels().cast(values, storageCode[dtype], out, storageCode.f32, values.length);
  return out;
}

/** Allocates memory for the rows of a batch, which `dispose` returns to the pool of tensors for the next batch. */
function newRows(rows: number, width: number): Tensor {
  return unscoped(() => Tensor.allocate('f32', [rows, width], null));
}

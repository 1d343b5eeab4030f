/**
 * Trained rows that are on a device with their optimiser state during training: batches are gathered and applied there,
 * and only losses are read back. The underlying table in files is updated whenever rows are read, evaluated or saved.
 */
import { onDevice } from '../tensor/device.js';
import { fromTypedArray, gatherRows, noGrad, type Tensor, type TensorDevice } from '../tensor/index.js';
import { unscoped } from '../tensor/scope.js';
import { expected, StateError, ValueError } from '../util/errors.js';
import type { BufferedEmbeddings } from './buffered-table.js';
import type { RowOptimizer } from './row-optimizer.js';
import type { StoreType } from './row-store.js';
import type { TableManifest } from './table-manifest.js';
import {
  checkOneState,
  type ResidentRange,
  type RowGradient,
  type RunTable,
  type Tile,
  type TrainedRows,
} from './trained-rows.js';

const name = 'DeviceEmbeddings';

export class DeviceEmbeddings implements TrainedRows, RunTable {
  readonly inner: BufferedEmbeddings;
  readonly device: TensorDevice;
  readonly rows: number;
  readonly width: number;
  readonly dtype: StoreType = 'f32';
  /** Values, then the columns of optimiser state. */
  #columns: Tensor[] | null = null;
  /** Whether rows on the device are newer than the underlying table. */
  #changed = false;
  #fetching: Promise<void> | null = null;

  /** @param inner rows of a table whose partitions are all resident. */
  constructor(inner: BufferedEmbeddings, device: TensorDevice) {
    const { isWhole, capacity, partitions, buffer } = inner.table;
    if (!isWhole) {
      const got = `${capacity} of ${partitions} partitions`;
      throw new ValueError(expected(name, 'a table that is all in memory', 'inner', got));
    }
    if (buffer.columns.some((column) => column.dtype !== 'f32'))
      throw new ValueError(expected(name, 'rows of float32', 'inner', 'rows of half precision'));
    this.inner = inner;
    this.device = device;
    this.rows = inner.rows;
    this.width = inner.width;
  }

  get optimizer(): RowOptimizer {
    return this.inner.optimizer;
  }

  get residency(): this {
    return this;
  }

  get partitions(): number {
    return this.inner.table.partitions;
  }

  get capacity(): number {
    return this.inner.table.capacity;
  }

  get numLocalRows(): number {
    return this.rows;
  }

  setOrdering(states: readonly Int32Array[]): void {
    this.inner.table.setOrdering(states);
  }

  async load(): Promise<void> {
    await this.inner.table.load();
    this.#columns ??= this.#indices().map((i) =>
      this.#upload(this.inner.table.buffer.block(i) as Float32Array),
    );
  }

  async nextState(): Promise<void> {
    checkOneState(name, 2);
  }

  residentRanges(): readonly ResidentRange[] {
    return this.inner.table.residentRanges();
  }

  toGlobal(localIds: Int32Array): Int32Array {
    return localIds;
  }

  resident(ids: Int32Array): Tensor {
    const [values] = this.#onDevice();
    return unscoped(() => noGrad(() => gatherRows(values, ids)));
  }

  async residentAsync(ids: Int32Array): Promise<Tensor> {
    return this.resident(ids);
  }

  update(ids: Int32Array, gradient: RowGradient): void {
    if (gradient instanceof Float32Array || gradient.device !== this.device)
      throw new StateError(`${name}.update: expected the gradient on the device of the rows.`);
    const [values, ...states] = this.#onDevice();
    const arrays = [values, ...states].map((t) => t.floats as Float32Array);
    const rows = gradient.floats as Float32Array;
    onDevice(this.device, () => this.optimizer.stepArrays(arrays[0], arrays.slice(1), ids, rows, this.width));
    this.#changed = true;
  }

  async gather(ids: Int32Array, out?: Float32Array): Promise<Float32Array> {
    await this.#fetch();
    return this.inner.gather(ids, out);
  }

  async range(start: number, count: number): Promise<Float32Array> {
    await this.#fetch();
    return this.inner.range(start, count);
  }

  async prefetch(): Promise<void> {}

  async *tiles(): AsyncIterable<Tile> {
    await this.#fetch();
    yield* this.inner.tiles();
  }

  async release(): Promise<void> {}

  async unload(write: boolean): Promise<void> {
    if (write) await this.#fetch();
    for (const column of this.#columns ?? []) column.dispose();
    this.#columns = null;
    this.#changed = false;
    await this.inner.table.unload(write);
  }

  async checkpoint(): Promise<TableManifest> {
    await this.#fetch();
    return this.inner.table.checkpoint();
  }

  async restore(manifest: TableManifest): Promise<void> {
    await this.unload(false);
    await this.inner.table.restore(manifest);
    await this.load();
  }

  prune(keep: readonly TableManifest[]): Promise<void> {
    return this.inner.table.prune(keep);
  }

  async close(): Promise<void> {
    await this.unload(false);
    await this.inner.table.close();
  }

  /** Returns the columns of the buffer that the optimiser updates. */
  #indices(): number[] {
    const { columns } = this.inner.table.buffer;
    return columns.flatMap(({ name: column }, i) =>
      column === this.inner.name || column.startsWith(`${this.inner.name}.`) ? [i] : [],
    );
  }

  #upload(values: Float32Array): Tensor {
    const { rows, width } = this;
    const used = values.subarray(0, rows * width);
    return unscoped(() => fromTypedArray(used, [rows, width]).to(this.device));
  }

  #onDevice(): Tensor[] {
    if (this.#columns === null) throw new StateError(`${name}: expected load() before rows are used.`);
    return this.#columns;
  }

  /** Updates the underlying table; concurrent calls wait for the same update. */
  #fetch(): Promise<void> {
    this.#fetching ??= this.#copyBack().finally(() => {
      this.#fetching = null;
    });
    return this.#fetching;
  }

  async #copyBack(): Promise<void> {
    if (!this.#changed || this.#columns === null) return;
    const { buffer } = this.inner.table;
    const fetched = await Promise.all(this.#columns.map((column) => column.data()));
    for (const [k, i] of this.#indices().entries())
      (buffer.block(i) as Float32Array).set(fetched[k] as Float32Array);
    buffer.markDirty(Int32Array.from({ length: this.rows }, (_, id) => id));
    this.#changed = false;
  }
}

/**
 * A node table whose trained rows and their optimiser's state live on a device while training runs: batches gather there
 * and are applied there, and nothing but losses comes back. The table in files behind it is brought up to date whenever
 * somebody reads rows, evaluates or saves; features stay with it.
 */
import type { RowOptimizer, TableManifest } from '../../storage/index.js';
import { onDevice } from '../../tensor/device.js';
import {
  fromTypedArray,
  gatherRows,
  noGrad,
  type Tensor,
  type TensorDevice,
  unscoped,
} from '../../tensor/index.js';
import { expected, StateError, ValueError } from '../../util/errors.js';
import { type BufferedNodeTable, embeddingColumn } from './buffered-node-table.js';
import type { DeviceRows, LocalRange, RunTable, Tile } from './node-table.js';

const name = 'DeviceNodeTable';

export class DeviceNodeTable implements RunTable {
  readonly inner: BufferedNodeTable;
  readonly deviceRows: DeviceRows;
  /** Values, then the columns of state. */
  #columns: Tensor[] | null = null;
  /** Whether the device is ahead of the table behind it. */
  #changed = false;

  constructor(inner: BufferedNodeTable, device: TensorDevice) {
    if (inner.embeddingDim === 0 || inner.optimizer === null)
      throw new ValueError(expected(name, 'a table with trained embeddings', 'inner', 'one without'));
    if (inner.capacity < inner.partitions) {
      const got = `${inner.capacity} of ${inner.partitions} partitions`;
      throw new ValueError(expected(name, 'a table that is all in memory', 'inner', got));
    }
    if (inner.buffer.columns.some((column) => column.dtype !== 'f32'))
      throw new ValueError(expected(name, 'rows of float32', 'inner', 'rows of half precision'));
    this.inner = inner;
    this.deviceRows = {
      device,
      gather: (ids) => this.#gather(ids),
      update: (ids, gradient) => this.#update(ids, gradient),
    };
  }

  get numNodes(): number {
    return this.inner.numNodes;
  }

  get partitions(): number {
    return this.inner.partitions;
  }

  get capacity(): number {
    return this.inner.capacity;
  }

  get numLocalRows(): number {
    return this.inner.numLocalRows;
  }

  get embeddingDim(): number {
    return this.inner.embeddingDim;
  }

  get featureDim(): number {
    return this.inner.featureDim;
  }

  get optimizer(): RowOptimizer | null {
    return this.inner.optimizer;
  }

  setOrdering(states: readonly Int32Array[]): void {
    this.inner.setOrdering(states);
  }

  async load(): Promise<void> {
    await this.inner.load();
    this.#columns ??= this.#indices().map((i) => this.#upload(this.inner.buffer.block(i) as Float32Array));
  }

  nextState(): Promise<void> {
    return this.inner.nextState();
  }

  localRanges(): readonly LocalRange[] {
    return this.inner.localRanges();
  }

  gatherEmbeddings(): void {
    throw new StateError(
      `${name}: expected rows to be read where they are, on the device. Use deviceRows.gather, or await readEmbeddings.`,
    );
  }

  async gatherEmbeddingsAsync(localIds: Int32Array, out: Float32Array): Promise<void> {
    await this.#fetch();
    await this.inner.gatherEmbeddingsAsync(localIds, out);
  }

  gatherFeatures(localIds: Int32Array, out: Float32Array): void | Promise<void> {
    return this.inner.gatherFeatures(localIds, out);
  }

  update(): void {
    throw new StateError(`${name}: expected gradients on the device. Use deviceRows.update.`);
  }

  async readEmbeddings(ids: Int32Array): Promise<Float32Array> {
    await this.#fetch();
    return this.inner.readEmbeddings(ids);
  }

  readFeatures(ids: Int32Array): Promise<Float32Array> {
    return this.inner.readFeatures(ids);
  }

  async *embeddingTiles(): AsyncIterable<Tile> {
    await this.#fetch();
    yield* this.inner.embeddingTiles();
  }

  async unload(write: boolean): Promise<void> {
    if (write) await this.#fetch();
    for (const column of this.#columns ?? []) column.dispose();
    this.#columns = null;
    this.#changed = false;
    await this.inner.unload(write);
  }

  async checkpoint(): Promise<TableManifest | null> {
    await this.#fetch();
    return this.inner.checkpoint();
  }

  async restore(manifest: TableManifest): Promise<void> {
    await this.unload(false);
    await this.inner.restore(manifest);
    await this.load();
  }

  removeUnreferenced(keep: readonly TableManifest[]): Promise<void> {
    return this.inner.removeUnreferenced(keep);
  }

  /** Columns of the buffer that the optimiser works on. */
  #indices(): number[] {
    const { columns } = this.inner.buffer;
    const own = (column: string): boolean =>
      column === embeddingColumn || column.startsWith(`${embeddingColumn}.`);
    return [...columns.keys()].filter((i) => own(columns[i].name));
  }

  #upload(values: Float32Array): Tensor {
    const { numNodes, embeddingDim } = this;
    const rows = values.subarray(0, numNodes * embeddingDim);
    return unscoped(() => fromTypedArray(rows, [numNodes, embeddingDim]).to(this.deviceRows.device));
  }

  #onDevice(): Tensor[] {
    if (this.#columns === null) throw new StateError(`${name}: expected load() before rows are used.`);
    return this.#columns;
  }

  #gather(ids: Int32Array): Tensor {
    const [values] = this.#onDevice();
    return unscoped(() => noGrad(() => gatherRows(values, ids)));
  }

  #update(ids: Int32Array, gradient: Tensor): void {
    const [values, ...states] = this.#onDevice();
    const arrays = [values, ...states].map((t) => t.floats as Float32Array);
    onDevice(this.deviceRows.device, () =>
      this.inner.optimizer?.stepArrays(
        arrays[0],
        arrays.slice(1),
        ids,
        gradient.floats as Float32Array,
        this.embeddingDim,
      ),
    );
    this.#changed = true;
  }

  /** Brings the table behind up to date. */
  async #fetch(): Promise<void> {
    if (!this.#changed || this.#columns === null) return;
    this.#changed = false;
    const { buffer } = this.inner;
    const fetched = await Promise.all(this.#columns.map((column) => column.data()));
    for (const [k, i] of this.#indices().entries())
      (buffer.block(i) as Float32Array).set(fetched[k] as Float32Array);
    buffer.markDirty(Int32Array.from({ length: this.numNodes }, (_, id) => id));
  }
}

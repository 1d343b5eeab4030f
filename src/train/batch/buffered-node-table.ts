/**
 * A node table in files, of which some partitions are in memory. With as many slots as partitions everything is, and a
 * run differs from one with a smaller buffer only in the order of its edges.
 */

import { kernels, storageCode } from '../../native/index.js';
import {
  type ColumnType,
  type PartitionBuffer,
  type RowOptimizer,
  type RowStore,
  recutTable,
  type TableManifest,
} from '../../storage/index.js';
import { columnRowBytes } from '../../storage/table-manifest.js';
import { StateError } from '../../util/errors.js';
import type { LocalRange, RunTable, Tile } from './node-table.js';

export const embeddingColumn = 'embeddings';
export const featureColumn = 'features';

/** Rows of fixed features by global id. */
export type Features = { readonly values: Float32Array; readonly width: number } | RowStore<Float32Array>;

/** Memory that one reader reads partitions into, by column: the garbage of many partitions would be memory that was not planned. */
interface Scratch {
  columns?: readonly ArrayBuffer[];
}

const name = 'BufferedNodeTable';

export class BufferedNodeTable implements RunTable {
  readonly buffer: PartitionBuffer;
  readonly optimizer: RowOptimizer | null;
  readonly embeddingDim: number;
  readonly featureDim: number;
  /** Features by global id, in memory or in a file, when they are not a column of the buffer. */
  readonly #features: Features | null;

  constructor(buffer: PartitionBuffer, optimizer: RowOptimizer | null, features: Features | null = null) {
    this.buffer = buffer;
    this.optimizer = optimizer;
    const width = (column: string): number => buffer.columns.find((c) => c.name === column)?.width ?? 0;
    this.embeddingDim = width(embeddingColumn);
    this.featureDim = features?.width ?? width(featureColumn);
    this.#features = features;
  }

  get numNodes(): number {
    return this.buffer.layout.rows;
  }

  get partitions(): number {
    return this.buffer.layout.partitions;
  }

  get capacity(): number {
    return this.buffer.capacity;
  }

  get numLocalRows(): number {
    return this.capacity >= this.partitions ? this.numNodes : this.capacity * this.buffer.layout.size;
  }

  setOrdering(states: readonly Int32Array[]): void {
    const all = this.capacity >= this.partitions;
    this.buffer.setOrdering(all ? [Int32Array.from({ length: this.partitions }, (_, k) => k)] : states);
  }

  async load(): Promise<void> {
    await this.buffer.load();
  }

  async nextState(): Promise<void> {
    await this.buffer.performNextSwap();
  }

  localRanges(): readonly LocalRange[] {
    return this.buffer.localRanges();
  }

  gatherEmbeddings(localIds: Int32Array, out: Float32Array): void {
    gather(this.buffer, embeddingColumn, localIds, out);
  }

  async gatherEmbeddingsAsync(localIds: Int32Array, out: Float32Array): Promise<void> {
    await this.buffer.rows.readAsync(localIds, embeddingColumn, out);
  }

  gatherFeatures(localIds: Int32Array, out: Float32Array): void | Promise<void> {
    if (this.#features === null) {
      gather(this.buffer, featureColumn, localIds, out);
      return;
    }
    return this.#readFeatures(
      this.capacity >= this.partitions ? localIds : this.buffer.toGlobal(localIds),
      out,
    );
  }

  update(localIds: Int32Array, gradient: Float32Array): void {
    if (this.optimizer === null)
      throw new StateError(`${name}: expected an optimiser for updates, got none.`);
    this.optimizer.step(this.buffer, localIds, gradient);
  }

  readEmbeddings(ids: Int32Array): Promise<Float32Array> {
    return this.#readRows(embeddingColumn, this.embeddingDim, ids);
  }

  async readFeatures(ids: Int32Array): Promise<Float32Array> {
    if (this.#features === null) return this.#readRows(featureColumn, this.featureDim, ids);
    const out = new Float32Array(ids.length * this.featureDim);
    await this.#readFeatures(ids, out);
    return out;
  }

  #readFeatures(ids: Int32Array, out: Float32Array): void | Promise<void> {
    const features = this.#features as Features;
    if ('gather' in features) return features.gather(ids, out).then(() => {});
    kernels().gatherRows(features.values, ids, out, ids.length, this.featureDim * 4);
  }

  embeddingTiles(): AsyncIterable<Tile> {
    return this.#tiles(embeddingColumn, this.embeddingDim);
  }

  async unload(write: boolean): Promise<void> {
    await this.buffer.unload(write);
  }

  /** What a checkpoint must keep so that the table can be had back as it is now. */
  async checkpoint(): Promise<TableManifest> {
    return this.buffer.checkpoint();
  }

  async restore(manifest: TableManifest): Promise<void> {
    const { files, layout } = this.buffer;
    const same = manifest.partitions === layout.partitions;
    await this.buffer.restore(same ? manifest : await recutTable(files.folder, manifest, layout.partitions));
    await this.buffer.load();
  }

  async removeUnreferenced(keep: readonly TableManifest[]): Promise<void> {
    await this.buffer.files.removeUnreferenced(keep);
  }

  async release(): Promise<void> {
    if (this.capacity < this.partitions) await this.buffer.unload(true);
  }

  /** Writes of evicted partitions must be over before their files are read; what is not resident is read from there. */
  async #ready(): Promise<void> {
    if (this.capacity < this.partitions) await this.buffer.flush();
    else if (!this.buffer.loaded) await this.buffer.load();
  }

  /** Partitions in order: those in memory as they are, others read, one at a time; each valid until the next. */
  async *#tiles(column: string, width: number): AsyncIterable<Tile> {
    const scratch: Scratch = {};
    const { buffer } = this;
    const { layout } = buffer;
    await this.#ready();
    for (let k = 0; k < layout.partitions; k++) {
      const count = layout.rowsOf(k);
      // With more partitions than rows fill, the last ones are empty.
      if (count === 0) continue;
      const rows = await this.#partition(column, width, k, scratch);
      yield { start: layout.start(k), count, rows };
    }
  }

  async #partition(column: string, width: number, k: number, scratch: Scratch): Promise<Float32Array> {
    const { buffer } = this;
    const rows = buffer.layout.rowsOf(k);
    const { dtype } = buffer.columns[buffer.columnIndex(column)];
    const slot = buffer.slotOf[k];
    if (slot >= 0) {
      const start = slot * buffer.layout.size * width;
      return widened(buffer.block(column).subarray(start, start + rows * width), dtype);
    }
    return widened(await this.#read(k, buffer.columnIndex(column), scratch), dtype);
  }

  /** One column of a partition that is not in memory. */
  async #read(k: number, column: number, scratch: Scratch): Promise<Float32Array | Uint16Array> {
    const { files, layout, columns } = this.buffer;
    const rows = layout.rowsOf(k);
    scratch.columns ??= columns.map((c) => new ArrayBuffer(layout.size * columnRowBytes(c)));
    const memory = scratch.columns;
    const views = columns.map((c, i) => new Uint8Array(memory[i], 0, rows * columnRowBytes(c)));
    await files.readPartition(k, views);
    const { dtype, width } = columns[column];
    return dtype === 'f32'
      ? new Float32Array(memory[column], 0, rows * width)
      : new Uint16Array(memory[column], 0, rows * width);
  }

  async #readRows(column: string, width: number, ids: Int32Array): Promise<Float32Array> {
    const { layout } = this.buffer;
    const out = new Float32Array(ids.length * width);
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
      const rows = await this.#partition(column, width, k, scratch);
      const start = layout.start(k);
      for (const i of places) {
        const from = (ids[i] - start) * width;
        out.set(rows.subarray(from, from + width), i * width);
      }
    }
    return out;
  }
}

function gather(buffer: PartitionBuffer, column: string, ids: Int32Array, out: Float32Array): void {
  buffer.rows.read(ids, column, out);
}

function widened(values: Float32Array | Uint16Array, dtype: ColumnType): Float32Array {
  if (values instanceof Float32Array) return values;
  const out = new Float32Array(values.length);
  kernels().cast(values, storageCode[dtype], out, storageCode.f32, values.length);
  return out;
}

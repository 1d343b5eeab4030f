/**
 * Reads rows of a table from its files, for readers that go through them in order: only the partition that was read
 * last is kept in memory.
 */
import { decodeColumn } from './column-bytes.js';
import type { TableFiles } from './table-files.js';
import { columnRowBytes } from './table-manifest.js';

export class StoredRows {
  readonly #files: TableFiles;
  #held = -1;
  #views: readonly Uint8Array[] = [];

  constructor(files: TableFiles) {
    this.#files = files;
  }

  /** Fills `values` with the rows of a column from `start` on. */
  async read(name: string, start: number, values: Float32Array): Promise<void> {
    const { layout, columns } = this.#files;
    const index = columns.findIndex((column) => column.name === name);
    const column = columns[index];
    const rowBytes = columnRowBytes(column);
    const stop = start + values.length / column.width;
    for (let row = start; row < stop; ) {
      const k = layout.partitionOf(row);
      await this.#load(k);
      const first = layout.start(k);
      const end = Math.min(stop, first + layout.rowsOf(k));
      const bytes = this.#views[index].subarray((row - first) * rowBytes, (end - first) * rowBytes);
      // Half-precision values are exact in f32.
      values.set(decodeColumn(bytes, column), (row - start) * column.width);
      row = end;
    }
  }

  async #load(k: number): Promise<void> {
    if (k === this.#held) return;
    const { layout, columns } = this.#files;
    const views = columns.map((column) => new Uint8Array(layout.rowsOf(k) * columnRowBytes(column)));
    await this.#files.readPartition(k, views);
    this.#views = views;
    this.#held = k;
  }
}

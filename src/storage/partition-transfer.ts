/**
 * Transfers partitions of a table between memory and their files, and verifies checksums. Transfers that need the
 * staging memory run in sequence. Versions of files are managed by the caller (table-files.ts).
 */
import { stat } from 'node:fs/promises';
import { FormatError, InternalError } from '../util/errors.js';
import { storageError } from './atomic-file.js';
import { encodeColumn } from './column-bytes.js';
import { alignedBytes, DirectIo, padToPage } from './direct-io.js';
import type { IoMode } from './io-mode.js';
import { stagingBytes } from './memory-plan.js';
import { readChecked, StagedWriter, scatterToViews, writeChecked } from './partition-file.js';
import type { PartitionLayout } from './partition-layout.js';
import {
  columnRowBytes,
  columnsOf,
  type FileKind,
  fileKinds,
  partitionFileBytes,
  type TableColumn,
} from './table-manifest.js';

/**
 * Fills rows start … start + rows − 1 of a column; `values` is zero before. Called for chunks of a partition in order,
 * and again from the partition's first row if a transfer is restarted.
 */
export type ColumnInit = (piece: {
  readonly column: TableColumn;
  readonly start: number;
  readonly rows: number;
  readonly values: Float32Array;
}) => void | Promise<void>;

/** The file of one kind of partition k, as a manifest describes it. */
export interface StoredFile {
  readonly kind: FileKind;
  readonly k: number;
  readonly path: string;
  readonly crc32: number;
}

/** The number of elements per call of `init`. */
const initElements = 2 ** 20;

export class PartitionTransfer {
  readonly #layout: PartitionLayout;
  readonly #columns: readonly TableColumn[];
  readonly #io: DirectIo;
  #staging: Uint8Array | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  /** Bytes transferred; a write is counted when it is complete. */
  readonly traffic = { read: 0, written: 0 };

  constructor(layout: PartitionLayout, columns: readonly TableColumn[], io: IoMode) {
    this.#layout = layout;
    this.#columns = columns;
    this.#io = new DirectIo(io);
  }

  get direct(): boolean {
    return this.#io.direct;
  }

  fileBytes(kind: FileKind, k: number): number {
    return partitionFileBytes(this.#columns, kind, this.#layout.rowsOf(k));
  }

  /** Runs work with the staging memory after all earlier work with it. */
  withStaging<T>(work: (staging: Uint8Array) => Promise<T>): Promise<T> {
    const run = this.#turn.then(() => {
      const bytes = Math.max(...fileKinds.map((kind) => this.fileBytes(kind, 0)));
      this.#staging ??= alignedBytes(Math.min(stagingBytes, padToPage(bytes)), 'TableFiles');
      return work(this.#staging);
    });
    this.#turn = run.catch(() => {});
    return run;
  }

  /** Reads the columns of the file's kind; `views` has those of all columns. */
  async readViews(file: StoredFile, views: readonly Uint8Array[], staging: Uint8Array): Promise<void> {
    const targets = this.#viewsOf(file.kind, views);
    let offset = 0;
    await this.#read(file, staging, (piece, position) => {
      // A restarted transfer begins at position 0.
      if (position === 0) offset = 0;
      offset = scatterToViews(piece, targets, offset);
    });
  }

  async verify(file: StoredFile, staging: Uint8Array): Promise<void> {
    await this.#read(file, staging, () => {});
  }

  async readImage(file: StoredFile, image: Uint8Array): Promise<void> {
    await this.#read(file, image, null);
  }

  /** Writes the writable columns; returns the checksum. */
  writeViews(path: string, views: readonly Uint8Array[], staging: Uint8Array): Promise<number> {
    return this.#io.withFile(path, 'write', async (file) => {
      const writer = new StagedWriter(file, staging);
      for (const view of this.#viewsOf('writable', views)) await writer.append(view);
      return writer.finish();
    });
  }

  writeImage(path: string, image: Uint8Array): Promise<number> {
    return writeChecked(this.#io, path, image);
  }

  /** Writes the initial values of a partition in chunks; returns the checksum. */
  writeFirst(
    path: string,
    { kind, k }: Pick<StoredFile, 'kind' | 'k'>,
    staging: Uint8Array,
    init: ColumnInit | undefined,
  ): Promise<number> {
    const first = this.#layout.start(k);
    const rows = this.#layout.rowsOf(k);
    return this.#io.withFile(path, 'write', async (file) => {
      const writer = new StagedWriter(file, staging);
      for (const column of columnsOf(this.#columns, kind)) {
        const step = Math.max(1, Math.floor(initElements / column.width));
        for (let done = 0; done < rows; done += step) {
          const count = Math.min(step, rows - done);
          const values = new Float32Array(count * column.width);
          await init?.({ column, start: first + done, rows: count, values });
          await writer.append(encodeColumn(values, column));
        }
      }
      return writer.finish();
    });
  }

  async checkSize({ kind, k, path }: StoredFile): Promise<void> {
    const want = this.fileBytes(kind, k);
    const { size } = await stat(path).catch((error: unknown) => {
      throw storageError('read', path, error);
    });
    if (size !== want) {
      const advice = 'The file is truncated or belongs to another table; resume from an older checkpoint.';
      throw new FormatError(`read: expected ${want} bytes in ${path}, got ${size}. ${advice}`, { path });
    }
  }

  checkViews(where: string, k: number, views: readonly Uint8Array[]): void {
    const rows = this.#layout.rowsOf(k);
    const fits = views.length === this.#columns.length;
    if (!fits || views.some((view, i) => view.length !== rows * columnRowBytes(this.#columns[i]))) {
      throw new InternalError(`${where}: views do not match partition ${k} of ${rows} rows`);
    }
  }

  async #read(
    { kind, k, path, crc32: crc }: StoredFile,
    staging: Uint8Array,
    sink: Parameters<typeof readChecked>[2]['sink'],
  ): Promise<void> {
    const bytes = this.fileBytes(kind, k);
    try {
      await readChecked(this.#io, path, { bytes, crc, staging, sink });
      this.traffic.read += bytes;
    } catch (error) {
      throw error instanceof FormatError ? error : storageError('read', path, error);
    }
  }

  #viewsOf(kind: FileKind, views: readonly Uint8Array[]): Uint8Array[] {
    return views.filter((_, i) => this.#columns[i].writable === (kind === 'writable'));
  }
}

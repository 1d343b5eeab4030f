/**
 * A table of rows on disk, one file per partition, written as new versions.
 *
 * A file that a manifest may refer to is never rewritten: a changed partition becomes a new version, under a temporary
 * name until it is complete. So a manifest is a checkpoint without copies, and a crash at any instant leaves every
 * saved manifest valid. Files without a reference are reused (version-folder.ts). Every file has a checksum, which is
 * verified on each read (partition-transfer.ts).
 *
 * Only `sync` makes data survive a power failure: call it before a manifest is saved. A partition is written by one
 * process: several share a table if each has its `own` partitions and they exchange the versions that they wrote
 * (`ownVersions`, `takeVersions`); then one of them removes unreferenced files, while the others do not write.
 */
import { mkdir, readdir, rename, stat, truncate, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expected, SkeinError, StateError, StorageError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { storageError, syncFolder } from './atomic-file.js';
import { maxElements } from './direct-io.js';
import type { IoMode } from './io-mode.js';
import { syncFile } from './partition-file.js';
import type { PartitionLayout } from './partition-layout.js';
import { type ColumnInit, PartitionTransfer, type StoredFile } from './partition-transfer.js';
import {
  checkColumns,
  checkManifest,
  columnRowBytes,
  columnsOf,
  type FileKind,
  type FileVersion,
  fileKinds,
  manifestFiles,
  partitionFileName,
  type TableColumn,
  type TableManifest,
  temporaryFileName,
  versionInName,
} from './table-manifest.js';
import { VersionFolder } from './version-folder.js';

export interface TableOptions {
  /** `auto` bypasses the page cache where it can, `buffered` never does. */
  readonly io?: IoMode;
  /** The partitions that this process writes; all by default. */
  readonly own?: PartitionRange;
}

/** Partitions first … end − 1 of every `of` consecutive ones (by default of all). */
export interface PartitionRange {
  readonly first: number;
  readonly end: number;
  readonly of?: number;
}

/** The versions of some partitions that one process has written, by kind. */
export interface OwnVersions extends Readonly<Record<FileKind, readonly FileVersion[]>> {
  /** The partitions, ascending. */
  readonly partitions: readonly number[];
}

export interface CreateTableOptions extends TableOptions {
  readonly layout: PartitionLayout;
  readonly columns: readonly TableColumn[];
  /** Fills initial values, which are 0 by default. */
  readonly init?: ColumnInit;
  /** A table in the same folder, whose files are kept. */
  readonly existing?: TableManifest;
}

interface Entry {
  version: number;
  crc32: number;
}

export class TableFiles {
  readonly folder: string;
  readonly layout: PartitionLayout;
  readonly columns: readonly TableColumn[];
  readonly #transfer: PartitionTransfer;
  readonly #entries: Readonly<Record<FileKind, Entry[]>>;
  readonly #versions: VersionFolder;
  readonly #own: Required<PartitionRange>;
  readonly #unsynced = new Set<string>();
  #writing = 0;

  private constructor(
    folder: string,
    layout: PartitionLayout,
    columns: readonly TableColumn[],
    options: TableOptions,
  ) {
    checkOptionNames('TableFiles', options, { io: true, own: true });
    this.folder = folder;
    this.layout = layout;
    this.columns = columns.map((column) => ({ ...column }));
    this.#transfer = new PartitionTransfer(layout, this.columns, options.io ?? 'auto');
    this.#entries = { writable: [], fixed: [] };
    // Spare files have no owner, so processes that share a folder must not keep any.
    this.#versions = new VersionFolder(folder, options.own === undefined ? layout.partitions : 0);
    this.#own = { first: 0, end: layout.partitions, of: layout.partitions, ...options.own };
  }

  /** Creates a table in a folder that has none. */
  static async create(folder: string, options: CreateTableOptions): Promise<TableFiles> {
    checkOptionNames('TableFiles.create', options, {
      io: true,
      own: true,
      layout: true,
      columns: true,
      init: true,
      existing: true,
    });
    const { layout, columns } = options;
    checkColumns('TableFiles.create', columns);
    for (const column of columns) {
      const bytes = layout.size * columnRowBytes(column);
      if (bytes <= maxElements) continue;
      const advice = 'Use more partitions.';
      const what = `at most ${maxElements} bytes`;
      const name = `column ${column.name} of one partition`;
      throw new ValueError(expected('TableFiles.create', what, name, bytes, advice));
    }
    // Another process that shares the folder may have begun already.
    if (options.own === undefined && options.existing === undefined) await TableFiles.prepare(folder);
    const table = new TableFiles(folder, layout, columns, options);
    if (options.existing !== undefined) {
      await table.#versions.adopt();
      table.#versions.pin(manifestFiles(options.existing));
    }
    try {
      for (let k = 0; k < layout.partitions; k++) {
        for (const kind of fileKinds) {
          if (columnsOf(columns, kind).length > 0) await table.#createPartition(kind, k, options.init);
        }
      }
    } catch (error) {
      await table.#discard();
      throw error;
    }
    return table;
  }

  /** Removes the files of a table whose creation failed. Failures are ignored: the caller throws the first error. */
  async #discard(): Promise<void> {
    for (const kind of fileKinds)
      for (const [k, { version }] of this.#entries[kind].entries())
        if (version > 0) await unlink(this.filePath(kind, k)).catch(() => {});
  }

  /** Makes the folder of a new table; throws if it has a table. */
  static async prepare(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true }).catch((error: unknown) => {
      throw storageError('write', folder, error);
    });
    const present = (await readdir(folder)).find((name) => versionInName(name) >= 0);
    if (present === undefined) return;
    const advice = 'Open it with its manifest, or choose another folder.';
    throw new StorageError(
      expected('TableFiles.create', 'a folder without a table', folder, present, advice),
    );
  }

  /** Opens the table of a manifest. */
  static async open(
    folder: string,
    manifest: TableManifest,
    options: TableOptions = {},
  ): Promise<TableFiles> {
    checkOptionNames('TableFiles.open', options, { io: true, own: true });
    const layout = checkManifest(manifest);
    const table = new TableFiles(folder, layout, manifest.columns, options);
    await table.#versions.adopt();
    table.#versions.pin(manifestFiles(manifest));
    for (const kind of fileKinds) {
      table.#entries[kind].push(...manifest[kind].map(({ version, crc32 }) => ({ version, crc32 })));
      for (let k = 0; k < manifest[kind].length; k++) await table.#transfer.checkSize(table.#file(kind, k));
    }
    return table;
  }

  /** Whether this process writes partition k. */
  owns(k: number): boolean {
    const { first, end, of } = this.#own;
    return k % of >= first && k % of < end;
  }

  /** Bytes transferred since the table was opened. */
  get traffic(): Readonly<PartitionTransfer['traffic']> {
    return this.#transfer.traffic;
  }

  /** Whether transfers bypass the page cache; known after the first. */
  get direct(): boolean {
    return this.#transfer.direct;
  }

  /** Returns the bytes of the file of partition k. */
  fileBytes(kind: FileKind, k: number): number {
    return this.#transfer.fileBytes(kind, k);
  }

  /** Returns the bytes of the largest file. */
  maxFileBytes(kind: FileKind): number {
    return this.#transfer.fileBytes(kind, 0);
  }

  filePath(kind: FileKind, k: number): string {
    return join(this.folder, partitionFileName(kind, k, this.#entries[kind][k].version));
  }

  /** Reads partition k into `views`, the bytes of its columns in order, for exactly the rows of the partition. */
  async readPartition(k: number, views: readonly Uint8Array[]): Promise<void> {
    this.#transfer.checkViews('TableFiles.readPartition', k, views);
    await this.#transfer.withStaging(async (staging) => {
      for (const kind of fileKinds)
        if (this.#entries[kind].length > 0)
          await this.#transfer.readViews(this.#file(kind, k), views, staging);
    });
  }

  /** Writes the writable columns of partition k as a new version; `views` as in `readPartition`. */
  async writePartition(k: number, views: readonly Uint8Array[]): Promise<void> {
    this.#transfer.checkViews('TableFiles.writePartition', k, views);
    await this.#transfer.withStaging((staging) =>
      this.#replace('writable', k, (path) => this.#transfer.writeViews(path, views, staging)),
    );
  }

  /** Reads every file; throws an error that names the first corrupt one. */
  async verify(): Promise<void> {
    await this.#transfer.withStaging(async (staging) => {
      for (const kind of fileKinds)
        for (let k = 0; k < this.#entries[kind].length; k++)
          await this.#transfer.verify(this.#file(kind, k), staging);
    });
  }

  /** Reads a whole file into page-aligned memory of `fileBytes`. */
  async readImage(kind: FileKind, k: number, image: Uint8Array): Promise<void> {
    await this.#transfer.readImage(this.#file(kind, k), image);
  }

  /** Writes page-aligned memory of `fileBytes` as a new version of the writable columns. */
  async writeImage(k: number, image: Uint8Array): Promise<void> {
    await this.#replace('writable', k, (path) => this.#transfer.writeImage(path, image));
  }

  /** Returns the current versions. Their files are kept until `removeUnreferenced` is called without this manifest. */
  manifest(): TableManifest {
    if (this.#writing > 0) {
      throw new StateError('TableFiles.manifest: a partition is being written. Await flush() first.');
    }
    const list = (kind: FileKind): FileVersion[] =>
      this.#entries[kind].map(({ version, crc32 }) => ({ version, crc32 }));
    const manifest: TableManifest = {
      format: 'skein-table',
      formatVersion: this.layout.pieces === 1 ? 1 : 2,
      rows: this.layout.rows,
      partitions: this.layout.partitions,
      size: this.layout.size,
      ...(this.layout.pieces === 1 ? {} : { pieces: this.layout.pieces }),
      columns: this.columns.map((column) => ({ ...column })),
      writable: list('writable'),
      fixed: list('fixed'),
    };
    this.#versions.pin(manifestFiles(manifest));
    return manifest;
  }

  /** Returns the versions that this process has written, for processes that share the table. */
  ownVersions(): OwnVersions {
    const { writable, fixed } = this.manifest();
    const partitions = Array.from({ length: this.layout.partitions }, (_, k) => k).filter((k) =>
      this.owns(k),
    );
    const own = (files: readonly FileVersion[]): FileVersion[] =>
      files.length === 0 ? [] : partitions.map((k) => files[k]);
    return { partitions, writable: own(writable), fixed: own(fixed) };
  }

  /** Adopts the versions that another process has written. */
  takeVersions(written: OwnVersions): void {
    for (const kind of fileKinds)
      for (const [i, { version, crc32 }] of written[kind].entries())
        this.#entries[kind][written.partitions[i]] = { version, crc32 };
  }

  /** The version of the next file. */
  get nextVersion(): number {
    return this.#versions.nextVersion;
  }

  /**
   * Sets the least new version; processes that share a folder agree on it, as one may not see all files of others yet.
   */
  startFrom(version: number): void {
    this.#versions.startFrom(version);
  }

  /** Restores the table of a manifest with the same folder, columns and partitions. */
  async restore(manifest: TableManifest): Promise<void> {
    const layout = checkManifest(manifest);
    if (!layout.equals(this.layout))
      throw new StateError(
        `TableFiles.restore: expected a manifest of ${describe(this.layout)}, got one of ${describe(layout)}. Use repartitionTable first.`,
      );
    await this.#versions.adopt();
    this.#versions.pin(manifestFiles(manifest));
    for (const kind of fileKinds) {
      const entries = manifest[kind].map(({ version, crc32 }) => ({ version, crc32 }));
      this.#entries[kind].splice(0, this.#entries[kind].length, ...entries);
      for (let k = 0; k < entries.length; k++) await this.#transfer.checkSize(this.#file(kind, k));
    }
  }

  /** Makes the current versions durable, so that they survive a power failure. */
  async sync(): Promise<void> {
    const current = new Set(manifestFiles(this.#entries));
    for (const name of [...this.#unsynced]) {
      if (current.has(name)) await syncFile(join(this.folder, name));
      this.#unsynced.delete(name);
    }
    await syncFolder(this.folder);
  }

  /** Removes every version that is neither current nor in one of `keep`; some files are kept as spares. */
  async removeUnreferenced(keep: readonly TableManifest[]): Promise<void> {
    const files = keep.flatMap(manifestFiles);
    const current = (): string[] => manifestFiles(this.#entries);
    await this.#versions.removeUnreferenced(files, current, () => this.#writing > 0);
  }

  /** Removes the spare files. */
  removeSpares(): Promise<void> {
    return this.#versions.removeSpares();
  }

  async #createPartition(kind: FileKind, k: number, init: ColumnInit | undefined): Promise<void> {
    this.#entries[kind].push({ version: 0, crc32: 0 });
    if (!this.owns(k)) return;
    await this.#transfer.withStaging((staging) =>
      this.#replace(kind, k, (path) => this.#transfer.writeFirst(path, { kind, k }, staging, init)),
    );
  }

  /** Calls `write` to fill a temporary file, and makes it the current version of partition k. */
  async #replace(kind: FileKind, k: number, write: (path: string) => Promise<number>): Promise<void> {
    const version = this.#versions.newVersion();
    const name = partitionFileName(kind, k, version);
    const temporary = temporaryFileName(name);
    const at = join(this.folder, temporary);
    const bytes = this.fileBytes(kind, k);
    this.#writing++;
    try {
      const reused = await this.#versions.reuse(temporary);
      const crc32 = await write(at);
      if (reused && (await stat(at)).size !== bytes) await truncate(at, bytes);
      await rename(at, join(this.folder, name));
      this.#transfer.traffic.written += bytes;
      const entry = this.#entries[kind][k];
      const old = entry.version;
      entry.version = version;
      entry.crc32 = crc32;
      this.#unsynced.add(name);
      if (old > 0) {
        const before = partitionFileName(kind, k, old);
        this.#unsynced.delete(before);
        await this.#versions.retire(before);
      }
    } catch (error) {
      await unlink(at).catch(() => {});
      // The source of the rows may be corrupt, which is not a failed write.
      throw error instanceof SkeinError ? error : storageError('write', join(this.folder, name), error);
    } finally {
      this.#writing--;
    }
  }

  #file(kind: FileKind, k: number): StoredFile {
    return { kind, k, path: this.filePath(kind, k), crc32: this.#entries[kind][k].crc32 };
  }
}

function describe({ rows, partitions, size }: PartitionLayout): string {
  return `${rows} rows in ${partitions} partitions of ${size}`;
}

/**
 * The manifest of a table on disk: columns, partitions, and the version of every partition file. It is small JSON,
 * which represents the whole table in a checkpoint.
 */
import { checkInteger, expected, FormatError } from '../util/errors.js';
import { padToPage } from './direct-io.js';
import { PartitionLayout } from './partition-layout.js';

export type ColumnType = 'f32' | 'f16' | 'bf16';

export interface TableColumn {
  readonly name: string;
  /** The number of elements per row. */
  readonly width: number;
  readonly dtype: ColumnType;
  /** Whether the column is trained; read-only columns (features) are in separate files, which are written once. */
  readonly writable: boolean;
}

export interface FileVersion {
  readonly version: number;
  /** The checksum of the whole file, including padding. */
  readonly crc32: number;
}

export interface TableManifest {
  readonly format: 'skein-table';
  /** 2 if partitions are divided into `pieces`. */
  readonly formatVersion: 1 | 2;
  readonly rows: number;
  readonly partitions: number;
  readonly size: number;
  /** The number of consecutive partitions that make up one partition of the plan; 1 by default. */
  readonly pieces?: number;
  readonly columns: readonly TableColumn[];
  /** The file of the writable columns per partition; empty if there are none. */
  readonly writable: readonly FileVersion[];
  /** The file of the other columns per partition; empty if there are none. */
  readonly fixed: readonly FileVersion[];
}

export const fileKinds = ['writable', 'fixed'] as const;
export type FileKind = (typeof fileKinds)[number];

export function bytesPerElement(dtype: ColumnType): number {
  return dtype === 'f32' ? 4 : 2;
}

export function columnRowBytes(column: TableColumn): number {
  return column.width * bytesPerElement(column.dtype);
}

export function columnsOf(columns: readonly TableColumn[], kind: FileKind): TableColumn[] {
  return columns.filter((column) => column.writable === (kind === 'writable'));
}

/** Returns the bytes of a partition's file: its columns in order, padded with zeros to a whole page. */
export function partitionFileBytes(columns: readonly TableColumn[], kind: FileKind, rows: number): number {
  return padToPage(columnsOf(columns, kind).reduce((sum, column) => sum + rows * columnRowBytes(column), 0));
}

export function partitionFileName(kind: FileKind, partition: number, version: number): string {
  return `${kind}-${String(partition).padStart(5, '0')}.v${version}.bin`;
}

const namePattern = /^(?:writable|fixed)-\d{5,}\.v(\d+)\.bin$/;
const temporaryPattern = /^\.(.*)\.tmp$/;

/**
 * The highest version. No table reaches it; files with higher ones are foreign, and new versions must not follow them.
 */
export const highestVersion = 2 ** 40;

/** Returns the name of a file while it is written. */
export function temporaryFileName(name: string): string {
  return `.${name}.tmp`;
}

/** Returns the version in a partition file's name, or −1 for any other file. */
export function versionInName(name: string): number {
  const match = namePattern.exec(name);
  return match === null ? -1 : Number(match[1]);
}

/** Like `versionInName`, also for a temporary file. */
export function versionUsed(name: string): number {
  return versionInName(temporaryPattern.exec(name)?.[1] ?? name);
}

/** Returns the names of all files that a manifest refers to. */
export function manifestFiles(manifest: Pick<TableManifest, FileKind>): string[] {
  return fileKinds.flatMap((kind) =>
    manifest[kind].map((file, k) => partitionFileName(kind, k, file.version)),
  );
}

export function checkColumns(where: string, columns: readonly TableColumn[]): void {
  if (columns.length === 0) throw new FormatError(expected(where, 'at least one column', 'columns', columns));
  const names = new Set<string>();
  for (const { name, width, dtype } of columns) {
    checkInteger(where, `the width of column ${name}`, width, 1);
    if (dtype !== 'f32' && dtype !== 'f16' && dtype !== 'bf16') {
      throw new FormatError(expected(where, 'f32, f16 or bf16', `the dtype of column ${name}`, dtype));
    }
    if (names.has(name)) throw new FormatError(expected(where, 'different names', 'columns', name));
    names.add(name);
  }
}

/** Throws if a manifest is inconsistent; returns its layout. */
export function checkManifest(manifest: TableManifest): PartitionLayout {
  const where = 'TableFiles.open';
  const pieces = manifest?.pieces ?? 1;
  const version = pieces === 1 ? 1 : 2;
  if (manifest?.format !== 'skein-table' || manifest.formatVersion !== version) {
    const got = `${manifest?.format} ${manifest?.formatVersion}`;
    throw new FormatError(
      expected(where, `skein-table version ${version}`, 'manifest', got, 'Check the checkpoint.'),
    );
  }
  const layout = new PartitionLayout(manifest.rows, manifest.partitions, { size: manifest.size, pieces });
  const { columns } = manifest;
  if (!Array.isArray(columns) || columns.some((column) => typeof column !== 'object' || column === null))
    throw new FormatError(expected(where, 'a list of columns', 'manifest.columns', columns));
  checkColumns(where, columns);
  for (const kind of fileKinds) {
    const want = columnsOf(manifest.columns, kind).length > 0 ? layout.partitions : 0;
    if (!Array.isArray(manifest[kind]) || manifest[kind].length !== want) {
      throw new FormatError(expected(where, `${want} files`, `manifest.${kind}`, manifest[kind]?.length));
    }
    for (const file of manifest[kind]) {
      checkInteger(where, `a version in manifest.${kind}`, file?.version, 1, highestVersion);
      checkInteger(where, `a crc32 in manifest.${kind}`, file?.crc32, 0, 2 ** 32 - 1);
    }
  }
  return layout;
}

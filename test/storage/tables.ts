/** Small tables on disk for the storage tests. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PartitionLayout } from 'skein/storage';
import { afterAll } from 'vitest';
import type { ColumnInit } from '#internal/storage/partition-transfer.js';
import { TableFiles } from '#internal/storage/table-files.js';
import type { TableColumn } from '#internal/storage/table-manifest.js';

/** A function that gives a new path in a folder that is removed after the tests. */
export function scratchFolder(): () => Promise<string> {
  let root: Promise<string> | null = null;
  let count = 0;
  afterAll(async () => {
    if (root !== null) await rm(await root, { recursive: true, force: true });
  });
  return async () => {
    root ??= mkdtemp(join(tmpdir(), 'skein-table-'));
    return join(await root, `t${count++}`);
  };
}

export const column = (name: string, width: number, more: Partial<TableColumn> = {}): TableColumn => ({
  name,
  width,
  dtype: 'f32',
  writable: true,
  ...more,
});

/** Element j of row i is i + j / 10, so that every value names its place. */
export const valueAt = (row: number, j: number): number => Math.fround(row + j / 10);

export const countingInit: ColumnInit = ({ column: { width }, start, rows, values }) => {
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < width; j++) values[i * width + j] = valueAt(start + i, j);
};

/** 45 rows of 3 in 5 partitions of 10, the last one of 5: the table of the reference tests. */
export function table45(folder: string, columns = [column('embeddings', 3)]): Promise<TableFiles> {
  return TableFiles.create(folder, {
    layout: new PartitionLayout(45, 5, { size: 10 }),
    columns,
    init: countingInit,
  });
}

/** One column of the whole table, read from its files. */
export async function wholeColumn(files: TableFiles, index = 0): Promise<Float32Array> {
  const { layout, columns } = files;
  const parts: number[] = [];
  for (let k = 0; k < layout.partitions; k++) {
    const views = columns.map(
      (c) => new Uint8Array(layout.rowsOf(k) * c.width * (c.dtype === 'f32' ? 4 : 2)),
    );
    await files.readPartition(k, views);
    parts.push(...new Float32Array(views[index].buffer));
  }
  return Float32Array.from(parts);
}

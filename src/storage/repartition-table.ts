/**
 * Repartitions a table in the same folder. This is needed before more workers share a table than it has files per plan
 * partition, and before one worker resumes a table that several have partitioned. The old files stay for the
 * checkpoints that refer to them.
 */
import { expected, ValueError } from '../util/errors.js';
import type { PartitionLayout } from './partition-layout.js';
import type { ColumnInit } from './partition-transfer.js';
import { StoredRows } from './stored-rows.js';
import { TableFiles } from './table-files.js';
import { checkManifest, type TableManifest } from './table-manifest.js';

/** Rewrites the table, one partition in memory at a time, unless it has this layout; returns the new manifest. */
export async function repartitionTable(
  folder: string,
  manifest: TableManifest,
  layout: PartitionLayout,
): Promise<TableManifest> {
  const before = checkManifest(manifest);
  if (before.rows !== layout.rows)
    throw new ValueError(
      expected('repartitionTable', `a layout of ${before.rows} rows`, 'layout', `${layout.rows} rows`),
    );
  if (before.equals(layout)) return manifest;
  const old = new StoredRows(await TableFiles.open(folder, manifest));
  const init: ColumnInit = ({ column, start, values }) => old.read(column.name, start, values);
  const { columns } = manifest;
  const table = await TableFiles.create(folder, { layout, columns, init, existing: manifest });
  await table.sync();
  return table.manifest();
}

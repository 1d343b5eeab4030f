/**
 * Cuts the rows of a table into other partitions, in the same folder. A table needs that before more workers share it than it
 * has partitions or pieces of them, and before one worker resumes a table that several have cut. The files of the old cut
 * stay for the checkpoints that refer to them.
 */
import { expected, ValueError } from '../util/errors.js';
import type { PartitionLayout } from './partition-layout.js';
import type { ColumnInit } from './partition-transfer.js';
import { StoredRows } from './stored-rows.js';
import { TableFiles } from './table-files.js';
import { checkManifest, type TableManifest } from './table-manifest.js';

/** Writes the table again, one partition of it in memory at a time, unless it is cut like this; gives the manifest of the cut. */
export async function recutTable(
  folder: string,
  manifest: TableManifest,
  layout: PartitionLayout,
): Promise<TableManifest> {
  const before = checkManifest(manifest);
  if (before.rows !== layout.rows)
    throw new ValueError(
      expected('recutTable', `a layout of ${before.rows} rows`, 'layout', `${layout.rows} rows`),
    );
  if (before.equals(layout)) return manifest;
  const old = new StoredRows(await TableFiles.open(folder, manifest));
  const init: ColumnInit = ({ column, start, values }) => old.read(column.name, start, values);
  const { columns } = manifest;
  const table = await TableFiles.create(folder, { layout, columns, init, beside: manifest });
  await table.sync();
  return table.manifest();
}

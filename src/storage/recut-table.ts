/**
 * The same rows cut into other partitions, in the same folder: what a table needs before more workers share it than it has
 * partitions or pieces of them, or before one worker resumes a table that several have cut. The files of the old cut stay for the checkpoints that refer to them.
 */
import { kernels, storageCode } from '../native/index.js';
import { expected, ValueError } from '../util/errors.js';
import type { PartitionLayout } from './partition-layout.js';
import { type ColumnInit, TableFiles } from './table-files.js';
import { checkManifest, columnRowBytes, type TableManifest } from './table-manifest.js';

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
  const old = await TableFiles.open(folder, manifest);
  const { columns } = manifest;
  const table = await TableFiles.create(folder, { layout, columns, init: rowsOf(old), beside: manifest });
  await table.sync();
  return table.manifest();
}

/** Rows of a table by number; the partition that was read last is kept. */
function rowsOf(files: TableFiles): ColumnInit {
  const { layout, columns } = files;
  let held = -1;
  let views: Uint8Array[] = [];
  const load = async (k: number): Promise<void> => {
    if (k === held) return;
    views = columns.map((column) => new Uint8Array(layout.rowsOf(k) * columnRowBytes(column)));
    await files.readPartition(k, views);
    held = k;
  };
  return async ({ column, start, rows, values }) => {
    const at = columns.findIndex(({ name }) => name === column.name);
    const { width, dtype } = column;
    for (let row = start; row < start + rows; ) {
      const k = layout.partitionOf(row);
      await load(k);
      const end = Math.min(start + rows, layout.start(k) + layout.rowsOf(k));
      const count = (end - row) * width;
      const first = (row - layout.start(k)) * width;
      const out = values.subarray((row - start) * width, (end - start) * width);
      const { buffer } = views[at];
      // Half-precision values survive the way through f32 exactly.
      if (dtype === 'f32') out.set(new Float32Array(buffer, first * 4, count));
      else
        kernels().cast(
          new Uint16Array(buffer, first * 2, count),
          storageCode[dtype],
          out,
          storageCode.f32,
          count,
        );
      row = end;
    }
  };
}

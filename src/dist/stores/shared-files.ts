/**
 * Files of a table that several workers write, each those of its own slices: saving, restoring and removing them. All
 * functions are collective.
 */
import { repartitionTable } from '../../storage/index.js';
import type { TableFiles } from '../../storage/table-files.js';
import type { TableManifest } from '../../storage/table-manifest.js';
import type { WorkerGroup } from '../group/worker-group.js';

/** Lets every worker write its changes and makes them durable; afterwards all workers know the versions of all. */
export async function checkpointShared(
  group: WorkerGroup,
  files: TableFiles,
  write: () => Promise<void>,
): Promise<TableManifest> {
  const written = await group.onEveryRank(async () => {
    await write();
    await files.sync();
    return files.ownVersions();
  });
  for (const versions of group.gather(written)) files.takeVersions(versions);
  return files.manifest();
}

/** Restores a checkpoint. One of another number of workers may have other slices, so it is repartitioned first. */
export async function restoreShared(
  group: WorkerGroup,
  files: TableFiles,
  manifest: TableManifest,
  restore: (cut: TableManifest) => Promise<void>,
): Promise<void> {
  const cut = await group.onRoot(() => repartitionTable(files.folder, manifest, files.layout));
  await group.onEveryRank(() => restore(cut));
  agreeOnVersions(group, files);
}

/** Agrees on the next version: a worker may not yet see the files of another one, which must not be overwritten. */
export function agreeOnVersions(group: WorkerGroup, files: TableFiles): void {
  files.startFrom(group.highest(files.nextVersion));
}

/** Removes, on rank 0, the files that no checkpoint needs; the other ranks write nothing in the meantime. */
export async function pruneShared(
  group: WorkerGroup,
  files: TableFiles,
  keep: readonly TableManifest[],
): Promise<void> {
  await group.onRoot(() => files.removeUnreferenced(keep));
}

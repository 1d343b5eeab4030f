/**
 * Files of a table that workers write together, each those of its own pieces: what saving, restoring and removing them takes
 * beyond one process. All functions are collective.
 */
import { recutTable, type TableFiles, type TableManifest } from '../../storage/index.js';
import type { WorkerGroup } from '../group/worker-group.js';

/** Lets every worker write its changes; then all know the versions of all, and what they have is durable. */
export async function checkpointShared(
  group: WorkerGroup,
  files: TableFiles,
  write: () => Promise<void>,
): Promise<TableManifest> {
  const written = await group.everywhere(async () => {
    await write();
    await files.sync();
    return files.ownVersions();
  });
  for (const versions of group.gather(written)) files.takeVersions(versions);
  return files.manifest();
}

/** Goes back to a checkpoint; one of another number of workers may be cut into other pieces, so it is cut again first. */
export async function restoreShared(
  group: WorkerGroup,
  files: TableFiles,
  manifest: TableManifest,
  restore: (cut: TableManifest) => Promise<void>,
): Promise<void> {
  const cut = await group.onRoot(() => recutTable(files.folder, manifest, files.layout));
  await group.everywhere(() => restore(cut));
  agreeOnVersions(group, files);
}

/** A worker may not see yet what another one left in the folder; new versions must not meet it. */
export function agreeOnVersions(group: WorkerGroup, files: TableFiles): void {
  files.startFrom(group.highest(files.nextVersion));
}

/** Rank 0 removes what no checkpoint needs; the others write nothing meanwhile. */
export async function pruneShared(
  group: WorkerGroup,
  files: TableFiles,
  keep: readonly TableManifest[],
): Promise<void> {
  await group.onRoot(() => files.removeUnreferenced(keep));
}

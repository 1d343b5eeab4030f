/** Opens the archive of a packed run: it is unpacked into a temporary folder, which is removed when the run is closed. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trackUnfinished, untrackFinished } from '../../data/prepare/unfinished-files.js';
import { readArchive } from '../../storage/read-archive.js';

export interface UnpackedRun {
  readonly directory: string;
  remove(): Promise<void>;
}

/** Returns whether a path is an archive of `packRun`, by its ending. */
export function isPackedRun(path: unknown): path is string {
  return (
    typeof path === 'string' &&
    /\.(tgz|tar\.gz)$/.test(path) &&
    statSync(path, { throwIfNoEntry: false })?.isFile() === true
  );
}

/** Calls `work` with the directory of a run: that of an unpacked archive, which is then removed, or the path itself. */
export async function withRunDirectory<T>(path: string, work: (directory: string) => Promise<T>): Promise<T> {
  if (!isPackedRun(path)) return work(path);
  const unpacked = await unpackRun(path);
  try {
    return await work(unpacked.directory);
  } finally {
    await unpacked.remove();
  }
}

export async function unpackRun(path: string): Promise<UnpackedRun> {
  // Readable by this user alone, under an unpredictable name.
  const directory = mkdtempSync(join(tmpdir(), 'skein-model-'));
  const removeNow = (): void => rmSync(directory, { recursive: true, force: true });
  process.once('exit', removeNow);
  // A signal ends the process without that event; commands remove the folder then.
  trackUnfinished(directory);
  const remove = async (): Promise<void> => {
    process.off('exit', removeNow);
    await rm(directory, { recursive: true, force: true });
    untrackFinished(directory);
  };
  try {
    await readArchive(path, directory);
  } catch (error) {
    await remove();
    throw error;
  }
  return { directory, remove };
}

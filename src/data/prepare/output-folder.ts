/**
 * Builds a prepared directory atomically: everything is written to a temporary folder next to the target, synced, and
 * renamed. A crash leaves the old directory, or one without dataset.yaml, which is not accepted as complete.
 *
 * Only `dataset.yaml`, `edges` and `nodes` are ever replaced: models and other files in the directory are kept.
 */
import { existsSync, statSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { codeOf, fromSystem, isSystemError } from '../../storage/atomic-file.js';
import { makeFolder } from '../../storage/make-folder.js';
import { removeAbandoned } from '../../storage/temporary-name.js';
import { StorageError } from '../../util/errors.js';

/** The entries of a prepared directory; the file that makes it valid comes last. */
const entries = ['edges', 'nodes', 'dataset.yaml'] as const;

/** Throws if the target has contents that must not be replaced. */
export function checkTarget(where: string, outputDir: string, overwrite: boolean): void {
  if (statSync(outputDir, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new StorageError(
      `${where}: expected a directory to write to, got the file ${outputDir}. Choose another.`,
      { path: outputDir },
    );
  const present = entries.filter((name) => existsSync(join(outputDir, name)));
  if (present.length === 0) return;
  if (!overwrite) {
    throw new StorageError(
      `${where}: expected an output directory without prepared data, got ${outputDir} with ${present.join(', ')}. Choose another, or replace it with --overwrite (in programs: overwrite: true).`,
      { path: outputDir },
    );
  }
  if (!present.includes('dataset.yaml')) {
    throw new StorageError(
      `${where}: expected a prepared directory to overwrite, got ${outputDir} with ${present.join(', ')} but no dataset.yaml. Remove these by hand if they are not needed.`,
      { path: outputDir },
    );
  }
}

export interface FolderTarget {
  /** Name of the caller, for messages. */
  readonly where: string;
  readonly outputDir: string;
  /** Replace existing data. Otherwise a target that appears in the meantime is an error. */
  readonly overwrite: boolean;
}

/** Runs `work` with a temporary folder and moves the result to the target. */
export async function buildFolder<T>(
  temporary: string,
  { where, outputDir, overwrite }: FolderTarget,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const target = resolve(outputDir);
  try {
    await removeAbandoned(target);
    makeFolder(temporary);
    const result = await work(temporary);
    await syncFolders(temporary);
    if (overwrite) await replaceIn(temporary, target);
    else await moveInto(temporary, target, where);
    await syncFolder(target);
    await syncFolder(dirname(target));
    return result;
  } catch (error) {
    // Writes to an open file fail without a path.
    throw isSystemError(error) ? fromSystem(error, target) : error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** A folder cannot be renamed to one that is not empty, so of two concurrent processes the second fails. */
async function moveInto(temporary: string, target: string, where: string): Promise<void> {
  checkTarget(where, target, false);
  try {
    if (!existsSync(target)) await rename(temporary, target);
    // The first entry is never empty, so renaming it decides which process gets the target.
    else await moveEntries(temporary, target);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
    checkTarget(where, target, false);
    // Another process created the folder, but has only written other files to it.
    await moveEntries(temporary, target);
  }
}

async function moveEntries(temporary: string, target: string): Promise<void> {
  for (const name of entries)
    if (existsSync(join(temporary, name))) await rename(join(temporary, name), join(target, name));
}

async function replaceIn(temporary: string, target: string): Promise<void> {
  if (!existsSync(target)) return rename(temporary, target);
  const old = join(temporary, 'old');
  await mkdir(old);
  for (const name of entries.toReversed())
    if (existsSync(join(target, name))) await rename(join(target, name), join(old, name));
  await moveEntries(temporary, target);
}

async function syncFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await syncFolder(join(folder, entry.name));
  }
  await syncFolder(folder);
}

/** Syncs a folder; systems that cannot open a folder rely on the renames alone. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code);
    if (!['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP'].includes(code)) throw error;
  }
}

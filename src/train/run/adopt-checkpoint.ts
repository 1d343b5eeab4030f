/** The node table in checkpoints: the location of its files, and starting a new run from the files of another. */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '../../storage/atomic-file.js';
import type { TableManifest } from '../../storage/table-manifest.js';
import { checkManifest } from '../../storage/table-manifest.js';
import { StateError } from '../../util/errors.js';
import { latestCheckpoint, modelFile, type RunRecord, readRecord } from './run-record.js';

/** Returns the folder of a run's table. */
export function tableFolder(directory: string): string {
  return join(directory, 'table');
}

/** Returns the table manifest of a checkpoint, or null if it has none. */
export function tableOf(record: RunRecord | null): TableManifest | null {
  return (record?.state['table'] ?? null) as TableManifest | null;
}

/** Copies a checkpoint (its folder, or that of a run) and its table into a new run as the initial state. */
export async function adoptCheckpoint(from: string, to: string): Promise<RunRecord> {
  const direct = existsSync(join(from, modelFile));
  const latest = direct ? null : await latestCheckpoint(from);
  if (!direct && latest === null)
    throw new StateError(
      `training.resume_from_checkpoint: expected a run or a checkpoint in ${from}, got neither. Name the directory of a run, or its last, best or checkpoint_<epoch>.`,
    );
  const folder = direct ? from : join(from, latest?.name ?? '');
  const record = await readRecord(folder);
  const table = tableOf(record);
  if (table !== null) {
    // File names are derived from it: anything but a number could lead out of the run.
    checkManifest(table);
    const run = existsSync(tableFolder(folder)) ? folder : join(folder, '..');
    await mkdir(tableFolder(to), { recursive: true });
    for (const kind of ['writable', 'fixed'] as const) {
      for (const [k, { version }] of table[kind].entries()) {
        const name = `${kind}-${String(k).padStart(5, '0')}.v${version}.bin`;
        await copyFile(join(tableFolder(run), name), join(tableFolder(to), name));
      }
    }
  }
  await mkdir(join(to, 'last'), { recursive: true });
  await writeFileAtomic(join(to, 'last', modelFile), await readFile(join(folder, modelFile)));
  return record;
}

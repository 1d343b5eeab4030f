/**
 * Packs a saved run into one archive that opens anywhere: the model without the state of its optimisers, the rows of the
 * nodes, and what the model reads of its dataset.
 */
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { withStorageErrors } from '../storage/atomic-file.js';
import type { ArchiveSource } from '../storage/write-archive.js';
import { writeArchive } from '../storage/write-archive.js';
import { checkPath } from '../util/check-path.js';
import { expected, StorageError, ValueError } from '../util/errors.js';
import { skeinVersion } from '../util/version.js';
import { checkRunPath, type FindRunOptions, findRun } from './find-run.js';
import { isEventConfig, renderRunConfig } from './load-run-config.js';
import { readOutcomeFile } from './run/outcome-file.js';
import { jsonLine } from './run/output.js';
import { type PackedParts, packedCheckpoint } from './run/packed-checkpoint.js';
import { appendChecksum } from './run/run-directory.js';
import { modelFile, readRecord, type TaskKind } from './run/run-record.js';
import { isPackedRun } from './run/unpacked-run.js';
import { packEventRun } from './tasks/events/pack-event-run.js';
import { packGraphRun } from './tasks/graph/pack-graph-run.js';

export interface PackedRun {
  readonly file: string;
  readonly kind: TaskKind;
  /** Bytes of the archive, and of its files when they are unpacked. */
  readonly bytes: number;
  readonly unpacked: number;
}

/** Packs the model that `openRun` opens for the path; see there. */
export async function packRun(path: string, file: string, options: FindRunOptions = {}): Promise<PackedRun> {
  const { command = 'packRun' } = options;
  const what = 'a path that ends in .tgz or .tar.gz';
  if (!/\.(tgz|tar\.gz)$/.test(checkPath(command, what, 'file', file)))
    throw new ValueError(expected(command, what, 'file', file));
  checkRunPath(command, path);
  checkUnpacked(command, path);
  const target = resolve(file);
  const folder = dirname(target);
  if (!existsSync(folder))
    throw new StorageError(
      `${command}: expected a folder that exists for the file ${file}, got ${folder}, which does not. Create it first.`,
      { path: folder },
    );
  const found = await findRun(path, { ...options, command });
  const record = await readRecord(found.checkpoint);
  // Rows without optimiser state are written here before they are packed.
  const scratch = withStorageErrors('write', folder, () => mkdtempSync(join(folder, '.skein-pack-')));
  try {
    const { config } = found;
    const parts: PackedParts = isEventConfig(config)
      ? await packEventRun({ ...found, config })
      : await packGraphRun({ ...found, config }, record, scratch);
    const text = (value: string): Uint8Array => new TextEncoder().encode(value);
    const sources: ArchiveSource[] = [
      { name: 'full_config.yaml', from: text(appendChecksum(renderRunConfig(parts.config))) },
      ...runFiles(found.directory),
      {
        name: modelFile,
        from: await packedCheckpoint(found.checkpoint, {
          ...record,
          state: { ...record.state, ...parts.state },
        }),
      },
      ...parts.files,
    ];
    const { task: kind } = record;
    const about = { kind, skein: skeinVersion, epoch: record.position.epoch };
    return { file: target, kind, ...(await writeArchive(target, sources, about)) };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Throws for an archive: there is nothing to leave out of it. */
export function checkUnpacked(command: string, path: string): void {
  if (isPackedRun(path))
    throw new ValueError(
      `${command}: expected a run to pack, got ${path}, which is packed already. Copy the file, or pack its run again.`,
    );
}

/** Returns the metrics of the run; the outcome without its former directory. */
function runFiles(directory: string): ArchiveSource[] {
  const at = (name: string): string => join(directory, name);
  const files: ArchiveSource[] = existsSync(at('metrics.jsonl'))
    ? [{ name: 'metrics.jsonl', from: readFileSync(at('metrics.jsonl')) }]
    : [];
  const outcome = readOutcomeFile(directory);
  if (outcome === null) return files;
  const text = jsonLine({ ...outcome, directory: '.' });
  return [...files, { name: 'done.json', from: new TextEncoder().encode(text) }];
}

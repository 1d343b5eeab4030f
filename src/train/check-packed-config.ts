/**
 * Checks the configuration of an unpacked archive before anything is opened with it. An archive may come from anyone, so its
 * configuration may name no data outside its folder: no query, no database, no dataset of the catalogue and no other path.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isArchiveName } from '../storage/archive-format.js';
import { wrongArchive } from '../storage/read-archive.js';
import { isEventConfig, loadRunConfig, type RunConfig } from './load-run-config.js';
import { checkRunConfig } from './run/run-directory.js';

/** Throws unless an archive was packed as `packRun` does; `directory` is where it was unpacked. Plugins must be loaded. */
export function checkPackedConfig(archive: string, directory: string): void {
  const path = join(directory, 'full_config.yaml');
  if (!existsSync(path)) throw wrongArchive(archive, 'full_config.yaml', 'none');
  checkRunConfig(path);
  const { config } = loadRunConfig(path);
  for (const [key, value] of Object.entries(emptyKeys(config)))
    if (value !== null && value !== '') throw wrongArchive(archive, `an empty ${key}`, shown(value));
  const { model_dir: model } = config.storage;
  if (model !== '.') throw wrongArchive(archive, 'the folder "." for storage.model_dir', shown(model));
  for (const { path: plugin } of config.plugins ?? [])
    if (!isFileName(plugin)) throw wrongArchive(archive, 'the name of a file for each plugin', shown(plugin));
  const { key, name, file } = dataOf(config);
  if (!isArchiveName(name)) throw wrongArchive(archive, `a path in its folder for ${key}`, shown(name));
  if (!existsSync(join(directory, name, file)))
    throw wrongArchive(archive, `the data of ${key}`, `${shown(name)}, which it does not have`);
}

/** Returns the keys that name data elsewhere. */
function emptyKeys(config: RunConfig): Readonly<Record<string, string | null>> {
  const partitions = config.distributed?.partition_dir ?? null;
  if (isEventConfig(config)) {
    const { dataset, evaluation } = config;
    return {
      'dataset.name': dataset.name,
      'dataset.query': dataset.query,
      'dataset.database': dataset.database,
      'evaluation.negatives_path': evaluation.negatives_path,
      'distributed.partition_dir': partitions,
    };
  }
  const { storage, training, evaluation } = config;
  return {
    'storage.dataset.name': storage.dataset.name,
    'training.resume_from_checkpoint': training.resume_from_checkpoint,
    'evaluation.checkpoint_dir': evaluation.checkpoint_dir,
    'distributed.partition_dir': partitions,
  };
}

/** Returns the key and the path of the data, and a file that is in it if it is a folder. */
function dataOf(config: RunConfig): { readonly key: string; readonly name: string; readonly file: string } {
  if (isEventConfig(config)) return { key: 'dataset.path', name: config.dataset.path, file: '' };
  const { dataset_dir: name } = config.storage.dataset;
  return { key: 'storage.dataset.dataset_dir', name, file: 'dataset.yaml' };
}

const isFileName = (path: string): boolean => !/[/\\]/.test(path);

const shown = (value: string | null): string => JSON.stringify(value?.slice(0, 100) ?? null);

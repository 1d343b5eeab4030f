/** Finds the run and checkpoint for a path: the directory of either, or a configuration file. */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { checkPath } from '../util/check-path.js';
import { StateError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { readConfigFile } from './config/config-file.js';
import type { SkeinConfig } from './config/index.js';
import { isEventConfig, loadRunConfig, type RunConfig } from './load-run-config.js';
import { loadPlugins } from './plugins.js';
import { isOverridden } from './run/data-places.js';
import { checkRunConfig, RunDirectory } from './run/run-directory.js';
import { modelFile, readAllRecords, standingCheckpoint } from './run/run-record.js';
import { openDataset } from './tasks/graph/storage/open-dataset.js';

export interface FindRunOptions {
  /** The command or function that opens the run; error messages begin with it. */
  readonly command?: string;
  /** `section.key=value` */
  readonly overrides?: readonly string[];
  /** Changes the configuration of a run over a graph after it is loaded. */
  readonly adapt?: (config: SkeinConfig) => SkeinConfig;
  /** Whether to open a finished run over events at its best checkpoint, before the test advanced its memory. */
  readonly best?: boolean;
  /** Modules to import first, which register types for configurations; see `loadPlugins`. */
  readonly plugins?: readonly string[];
}

/** The location and configuration of a run. */
export interface FoundRun {
  /** The directory of the run. */
  readonly directory: string;
  /** The directory of the model: the run's, or one of its checkpoints'. */
  readonly checkpoint: string;
  readonly config: RunConfig;
  readonly warnings: readonly string[];
  /** Whether an override names the dataset, so that no other place is searched. */
  readonly isDataGiven: boolean;
}

/** Keys that name the data of a run. */
const dataKeys = [
  'storage.dataset.dataset_dir',
  'storage.dataset.name',
  'dataset.path',
  'dataset.name',
  'dataset.query',
];

const configFile = 'full_config.yaml';

export function isRunDirectory(path: string): boolean {
  return existsSync(join(path, configFile));
}

/** Returns whether a directory is a run over events, or a checkpoint of one. */
export function isEventRun(path: string): boolean {
  const given = resolve(path);
  const directory = [given, dirname(given)].find(isRunDirectory);
  return directory !== undefined && isEventConfig(loadRunConfig(join(directory, configFile)).config);
}

/** Throws unless a value can be the path of a run. */
export function checkRunPath(command: string, path: unknown): void {
  const what = 'the path of a run, a checkpoint, a packed model or a configuration file';
  checkPath(command, what, 'path', path, 'Pass the directory that training printed as "Saved in".');
}

export async function findRun(path: string, options: FindRunOptions = {}): Promise<FoundRun> {
  checkOptionNames('findRun', options, {
    ...{ command: true, overrides: true, adapt: true, best: true },
    plugins: true,
  });
  const { command = 'openRun', overrides = [], best = false, plugins = [] } = options;
  await loadPlugins(plugins, command);
  checkRunPath(command, path);
  const isDataGiven = isOverridden(overrides, dataKeys);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined)
    throw new StateError(
      `${command}: expected the directory of a run, a packed model (.tgz) or a configuration (.yaml), got ${path}, which does not exist. Check the path.`,
    );
  if (found.isFile()) {
    checkConfigFile(command, path);
    const { config, warnings } = loadRunConfig(path, overrides);
    const given = resolve(await folderOf(command, path, config));
    const directory = directoryOf(command, given);
    const checkpoint = await checkpointOf(command, given, directory, { config, best });
    return { directory, checkpoint, config: adaptConfig(config, options), warnings, isDataGiven };
  }
  const given = resolve(path);
  const directory = directoryOf(command, given);
  checkRunConfig(join(directory, configFile));
  const { config, warnings } = loadRunConfig(join(directory, configFile), overrides);
  const checkpoint = await checkpointOf(command, given, directory, { config, best });
  return { directory, checkpoint, config: adaptConfig(config, options), warnings, isDataGiven };
}

/** Throws for a file that is certainly no configuration: by its name, or because it has no sections. */
function checkConfigFile(command: string, path: string): void {
  const isText = !/\.(csv|tsv|txt|parquet|jsonl|ndjson|gz|tgz|safetensors|npy|onnx|bin)$/.test(path);
  if (isText && hasSections(path)) return;
  throw new StateError(
    `${command}: expected the directory of a run, a packed model (.tgz) or a configuration (.yaml), got the file ${path}. Pass the directory that training printed as "Saved in".`,
  );
}

/** Returns whether a file may be a configuration; by its ending, or by what is in it. */
function hasSections(path: string): boolean {
  if (/\.ya?ml$/.test(path)) return true;
  try {
    const { values } = readConfigFile(path);
    return typeof values === 'object' && values !== null && !Array.isArray(values);
  } catch {
    return false;
  }
}

/** Returns the directory of the run, or checkpoint, of a configuration. */
async function folderOf(command: string, path: string, config: RunConfig): Promise<string> {
  const { model_dir: model } = config.storage;
  if (isEventConfig(config)) {
    if (model !== null) return model;
    throw new StateError(
      `${command}: expected storage.model_dir in ${path}, got none. Pass the directory of the run, which training printed as "Saved in".`,
    );
  }
  const { checkpoint_dir: chosen } = config.evaluation;
  if (chosen !== '') return model !== null && !existsSync(chosen) ? join(model, chosen) : chosen;
  if (model !== null) return model;
  const { directory } = await openDataset(config);
  const numbers = readdirSync(directory)
    .map((name) => /^model_(\d+)$/.exec(name)?.[1])
    .filter((digits) => digits !== undefined && isRunDirectory(join(directory, `model_${digits}`)))
    .map(Number);
  if (numbers.length === 0)
    throw new StateError(
      `${command}: expected a run in storage.model_dir, got none there and no ${directory}/model_<i>. Train first, or set storage.model_dir.`,
    );
  return join(directory, `model_${Math.max(...numbers)}`);
}

/** Returns the run directory of `given`, which is a run or one of its checkpoints. */
function directoryOf(command: string, given: string): string {
  const directory = [given, dirname(given)].find(isRunDirectory);
  if (directory !== undefined) return directory;
  throw new StateError(
    `${command}: expected the directory of a run, got ${given}, which has no ${configFile}. Pass the directory that training printed as "Saved in".`,
  );
}

/** Returns the directory of the model to open. */
async function checkpointOf(
  command: string,
  given: string,
  directory: string,
  { config, best }: { readonly config: RunConfig; readonly best: boolean },
): Promise<string> {
  const isRun = given === directory;
  if (isRun && best && isEventConfig(config) && existsSync(join(directory, 'best', modelFile)))
    return join(directory, 'best');
  if (existsSync(join(given, modelFile))) return given;
  if (isRun && RunDirectory.isFinished(directory))
    throw new StateError(
      `${command}: expected the final model of a finished run, got ${given} without ${modelFile}. Pass one of its checkpoints, or train again with training.save_model: true.`,
    );
  const standing = isRun ? standingCheckpoint(await readAllRecords(directory), endsWithBest(config)) : null;
  if (standing !== null) return join(directory, standing.name);
  throw new StateError(
    `${command}: expected a model in ${given}, got none. Let the run finish an epoch with a checkpoint, or resume it with training.resume_training: true.`,
  );
}

/** Returns whether the end of a run restores its best epoch, if it was kept. */
export function endsWithBest(config: RunConfig): boolean {
  return isEventConfig(config) || config.training.restore_best !== false;
}

function adaptConfig(config: RunConfig, { adapt }: FindRunOptions): RunConfig {
  return adapt === undefined || isEventConfig(config) ? config : adapt(config);
}

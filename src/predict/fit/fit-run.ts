/**
 * Common steps of `fitLinks`, `fitNodes` and `fitEvents`: a directory, a configuration made for the data, `trainRun`, and
 * the trained model opened as a predictor.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { makeFolder } from '../../storage/make-folder.js';
import { datasetFacts } from '../../train/config/dataset-facts.js';
import { configTemplate } from '../../train/config/template.js';
import type { LearningTask } from '../../train/config/types.js';
import { Output, openRun, resolveConfig, trainRun } from '../../train/index.js';
import type { RunConfig } from '../../train/load-run-config.js';
import { checkInteger, expected, StateError, ValueError } from '../../util/errors.js';
import type { OptionNames } from '../../util/option-names.js';
import { openPredictor } from '../open-model.js';

/** A value of the configuration: a number, a text, a list, a section. */
export type ConfigValue =
  | string
  | number
  | boolean
  | null
  | readonly ConfigValue[]
  | { readonly [key: string]: ConfigValue };

/** Options that `fitLinks`, `fitNodes` and `fitEvents` share. */
export interface FitRunOptions {
  /**
   * Directory to create, with the prepared dataset in `data` and the run in `run`; `openModel` and every command of `skein`
   * open `run` later. Default: a temporary directory, which `close()` or the end of the process deletes. A signal that ends
   * the process between training and `close()` leaves it behind.
   */
  readonly directory?: string;
  /** Passes over the training data, at most; training stops earlier when the validation metric no longer improves. */
  readonly epochs?: number;
  /** Default 1. The same seed gives the same model, bit for bit. */
  readonly seed?: number;
  /** Further keys of the configuration, for example `{ 'training.batch_size': 500 }` (docs/configuration.md). */
  readonly config?: Readonly<Record<string, ConfigValue>>;
  /** Where progress and results are printed, for example `new Output()`. Default: nothing is printed. */
  readonly output?: Output;
}

/** Names of the options above, for `checkOptionNames`. */
export const fitRunOptionNames: OptionNames<FitRunOptions> = {
  directory: true,
  epochs: true,
  seed: true,
  config: true,
  output: true,
};

/** Folders of a call of `fit…`. */
export interface FitFolders {
  readonly data: string;
  readonly run: string;
}

/** Keys that the function chooses; those of `options.config` replace them. */
type ChosenKeys = Readonly<Record<string, ConfigValue>>;

/** Prepares the data in `folders.data` and returns the configuration to train with. */
type Prepare = (folders: FitFolders, output: Output) => Promise<RunConfig>;

/** Creates the directory, prepares, trains and opens the model. Removes a temporary directory on failure. */
export async function fitRun<P>(where: string, options: FitRunOptions, prepare: Prepare): Promise<P> {
  const { directory, output = Output.silent() } = options;
  const root = directory ?? mkdtempSync(join(tmpdir(), 'skein-fit-'));
  if (directory !== undefined) createEmpty(where, directory);
  const remove = directory === undefined ? removeAtExit(root) : async () => {};
  const folders = { data: join(root, 'data'), run: join(root, 'run') };
  let isInterrupted = false;
  try {
    const { interrupted } = await trainRun({ config: await prepare(folders, output), output });
    isInterrupted = interrupted;
    if (interrupted)
      throw new StateError(
        directory === undefined
          ? `${where}: expected training to finish, got an interrupt. Set directory to keep checkpoints.`
          : `${where}: expected training to finish, got an interrupt. Resume with: skein train ${folders.run} --training.resume_training=true.`,
      );
    const run = await openRun(folders.run, { command: where });
    const close = async (): Promise<void> => {
      await run.close();
      await remove();
    };
    const predictor = await openPredictor({ ...run, close });
    // The caller knows the task, and a finished run has the metrics of both splits.
    return predictor as P;
  } catch (error) {
    await remove();
    // The given directory was empty: leave it so, unless there is something to resume.
    if (directory !== undefined && !isInterrupted)
      for (const name of ['data', 'input', 'run'])
        await rm(join(directory, name), { recursive: true, force: true });
    throw error;
  }
}

/** The configuration of `skein config` for a prepared graph, with the keys that were given. @param seconds limit of the training time */
export async function graphConfig(
  folders: FitFolders,
  task: LearningTask,
  options: FitRunOptions,
  seconds?: number,
): Promise<RunConfig> {
  const facts = await datasetFacts(folders.data);
  const time = seconds === undefined ? {} : { seconds };
  const text = configTemplate({ dataset: folders.data, task, facts, ...time });
  const keys: ChosenKeys = {
    'storage.model_dir': folders.run,
    ...(seconds === undefined ? {} : { 'training.time_limit': `${seconds}s` }),
    ...(options.epochs === undefined ? {} : { 'training.num_epochs': options.epochs }),
    ...(options.seed === undefined ? {} : { 'model.random_seed': options.seed }),
  };
  return resolveConfig(parse(text), overridesOf({ ...keys, ...options.config })).config;
}

/** Checks what does not depend on the kind of data. */
export function checkFitOptions(where: string, { directory, epochs, seed, config }: FitRunOptions): void {
  if (directory !== undefined && (typeof directory !== 'string' || directory === ''))
    throw new ValueError(expected(where, 'a path', 'directory', directory));
  if (epochs !== undefined) checkInteger(where, 'epochs', epochs, 1);
  if (seed !== undefined) checkInteger(where, 'seed', seed, 0, 2 ** 32 - 1);
  if (config !== undefined && (typeof config !== 'object' || config === null || Array.isArray(config)))
    throw new ValueError(expected(where, 'an object of configuration keys', 'config', config));
  const path = Object.keys(config ?? {}).find((key) =>
    reservedKeys.some((one) => one.startsWith(key) || key.startsWith(one)),
  );
  if (path !== undefined)
    throw new ValueError(expected(where, 'other keys', 'config', path, 'Set the location with directory.'));
}

/** Keys of locations, which follow from `directory`. */
const reservedKeys = [
  'storage.model_dir',
  'storage.dataset',
  'dataset.path',
  'dataset.name',
  'dataset.query',
];

/** Throws unless `split` has three positive fractions that sum to 1. */
export function checkSplit(where: string, split: unknown): void {
  if (split === undefined) return;
  const fractions = Array.isArray(split) ? (split as unknown[]) : [];
  const sum = fractions.reduce<number>((total, one) => total + Number(one), 0);
  if (fractions.length === 3 && fractions.every((one) => Number(one) > 0) && Math.abs(sum - 1) < 1e-6) return;
  throw new ValueError(
    expected(where, 'three positive fractions that sum to 1', 'split', split, 'Write [0.8, 0.1, 0.1].'),
  );
}

/** Keys and values as the overrides of a command line. */
export function overridesOf(keys: ChosenKeys): string[] {
  return Object.entries(keys).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
}

function createEmpty(where: string, directory: string): void {
  makeFolder(directory);
  if (readdirSync(directory).length > 0)
    throw new ValueError(
      expected(where, 'an empty or new directory', 'directory', directory, 'openModel opens a trained one.'),
    );
}

/** Temporary folders of open models. */
const temporaryFolders = new Set<string>();

function removeTemporaryFolders(): void {
  for (const folder of temporaryFolders) rmSync(folder, { recursive: true, force: true });
}

/** Returns a function that deletes `folder`; the end of the process deletes it too. */
function removeAtExit(folder: string): () => Promise<void> {
  if (temporaryFolders.size === 0) process.once('exit', removeTemporaryFolders);
  temporaryFolders.add(folder);
  return async () => {
    temporaryFolders.delete(folder);
    if (temporaryFolders.size === 0) process.off('exit', removeTemporaryFolders);
    await rm(folder, { recursive: true, force: true });
  };
}

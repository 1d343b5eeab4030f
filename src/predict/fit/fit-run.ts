/**
 * Common steps of `fitLinks`, `fitNodes` and `fitEvents`: a directory, a configuration made for the data, `trainRun`, and
 * the trained model opened as a predictor.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { DatasetFacts } from '../../train/config/check-dataset.js';
import { datasetFacts } from '../../train/config/dataset-facts.js';
import { configTemplate } from '../../train/config/template.js';
import type { LearningTask } from '../../train/config/types.js';
import { Output, openRun, resolveConfig, trainRun } from '../../train/index.js';
import type { RunConfig } from '../../train/load-run-config.js';
import { checkInteger, expected, StateError, ValueError } from '../../util/errors.js';
import type { OptionNames } from '../../util/option-names.js';
import { openPredictor } from '../open-model.js';
import type { Predictor } from '../predictor.js';

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
   * open `run` later. Default: a temporary directory, which `close()` or the end of the process deletes.
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
export type ChosenKeys = Readonly<Record<string, ConfigValue>>;

/** Prepares the data in `folders.data` and returns the configuration to train with. */
type Prepare = (folders: FitFolders, output: Output) => Promise<RunConfig>;

/** Creates the directory, prepares, trains and opens the model. Removes a temporary directory on failure. */
export async function fitRun(where: string, options: FitRunOptions, prepare: Prepare): Promise<Predictor> {
  const { directory, output = Output.silent() } = options;
  const root = directory ?? mkdtempSync(join(tmpdir(), 'skein-fit-'));
  if (directory !== undefined) createEmpty(where, directory);
  const remove = directory === undefined ? removeAtExit(root) : async () => {};
  const folders = { data: join(root, 'data'), run: join(root, 'run') };
  try {
    const { interrupted } = await trainRun({ config: await prepare(folders, output), output });
    if (interrupted)
      throw new StateError(
        directory === undefined
          ? `${where}: expected training to finish, got an interrupt. Call it again; give a directory to keep checkpoints.`
          : `${where}: expected training to finish, got an interrupt. Resume it: skein train ${join(folders.run, 'config.yaml')} --training.resume_training=true.`,
      );
    const run = await openRun(folders.run, { command: where });
    return await openPredictor({
      ...run,
      close: async () => {
        await run.close();
        await remove();
      },
    });
  } catch (error) {
    await remove();
    throw error;
  }
}

/** The configuration of `skein config` for a prepared graph, with the keys that were chosen and given. */
export async function graphConfig(
  folders: FitFolders,
  task: LearningTask,
  options: FitRunOptions,
  chosen: (facts: DatasetFacts) => ChosenKeys,
): Promise<RunConfig> {
  const facts = await datasetFacts(folders.data);
  const text = configTemplate({ dataset: folders.data, task, facts });
  const keys: ChosenKeys = {
    ...chosen(facts),
    'storage.model_dir': folders.run,
    'training.checkpoint.interval': -1,
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
  if (seed !== undefined) checkInteger(where, 'seed', seed);
  if (config !== undefined && (typeof config !== 'object' || config === null || Array.isArray(config)))
    throw new ValueError(expected(where, 'an object of configuration keys', 'config', config));
}

/** Keys and values as the overrides of a command line. */
export function overridesOf(keys: ChosenKeys): string[] {
  return Object.entries(keys).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
}

function createEmpty(where: string, directory: string): void {
  mkdirSync(directory, { recursive: true });
  if (readdirSync(directory).length > 0)
    throw new ValueError(
      expected(where, 'an empty or new directory', 'directory', directory, 'openModel opens a trained one.'),
    );
}

/** Returns a function that deletes `folder`; the end of the process deletes it too. */
function removeAtExit(folder: string): () => Promise<void> {
  const atExit = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', atExit);
  return async () => {
    process.off('exit', atExit);
    await rm(folder, { recursive: true, force: true });
  };
}

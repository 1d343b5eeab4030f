/**
 * Hyper-parameter search: `searchConfig` trains the points of a space, each as an ordinary run, selects by the validation
 * metric alone, and writes the best configuration.
 *
 * No decision depends on time or on the order in which trials end, so that a search that was killed and resumed ends with the
 * models and the configuration of an uninterrupted one.
 */
import { existsSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeFolder } from '../../storage/make-folder.js';
import { lockForProcess } from '../../storage/process-lock.js';
import { isTemporaryName } from '../../storage/temporary-name.js';
import {
  ConfigError,
  checkInteger,
  checkNumber,
  expected,
  StateError,
  ValueError,
} from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { isTree, parsePath, valueAt } from '../../util/schema/key-path.js';
import { datasetFacts } from '../config/dataset-facts.js';
import { resolveConfig, type SkeinConfig } from '../config/index.js';
import { applyOverrides } from '../config/overrides.js';
import { Output } from '../run/output.js';
import { builtInSpace } from './built-in-spaces.js';
import type { PointSampler } from './points.js';
import { defaultVariant, type Variant, variants } from './rounds.js';
import { embeddingWidth, Search, type SearchResult, trialValues } from './search.js';
import { readSettings, type SearchSettings, settingsFile, writeSettings } from './search-files.js';
import { overridesOf, parseSpace } from './space.js';

export interface SearchOptions {
  /** The directory of the search, which is created, or resumed if it has one. */
  readonly directory: string;
  /** The values of the configuration that is varied; not for a search that is resumed. */
  readonly config?: unknown;
  /** The values of a space, or the name of a built-in one: kg, kg-dropout, kg-large. */
  readonly space?: unknown;
  /** Number of points. Default 16; a larger number enlarges a finished search. */
  readonly trials?: number;
  /** `quasi` (default) covers the space evenly; `random` draws points independently. */
  readonly sampler?: PointSampler;
  /** Seed of the points. Default 1. */
  readonly seed?: number;
  /** Default: by the size of the graph. */
  readonly variant?: Variant;
  /** Processes that train trials at the same time. Default 1. */
  readonly jobs?: number;
  /** Start no further trial after this many minutes. Default: no limit. */
  readonly minutes?: number;
  /** Where progress is printed. Default: nowhere. */
  readonly output?: Output;
}

const where = 'searchConfig';
const lockFile = 'search.lock';

/**
 * Searches a space of configurations. Call it again with the directory to resume, or with more trials to enlarge.
 *
 * @example
 * const { trials, best } = await searchConfig({
 *   directory: 'runs/search-1', config, space: { 'training.batch_size': [100, 500, 1000] }, trials: 3,
 * });
 */
export async function searchConfig(options: SearchOptions): Promise<SearchResult> {
  checkOptions(options);
  const directory = resolve(options.directory);
  checkUsable(directory);
  const isNew = !existsSync(directory);
  makeFolder(directory);
  const lock = lockForProcess(
    join(directory, lockFile),
    (pid) =>
      new StateError(`search: expected a directory that no search uses, got ${directory} (process ${pid}).`),
  );
  const { jobs = 1, minutes = Number.POSITIVE_INFINITY, output = Output.silent() } = options;
  try {
    const settings = await openSettings(directory, options);
    return await new Search({ directory, settings, jobs, minutes, output }).run();
  } finally {
    lock.release();
    if (isNew) removeIfEmpty(directory);
  }
}

/** Throws for a directory with files that are not those of a search. */
function checkUsable(directory: string): void {
  if (!existsSync(directory)) return;
  if (!statSync(directory).isDirectory())
    throw new StateError(
      `search: expected a directory for the search, got the file ${directory}. Choose another.`,
    );
  const entries = readdirSync(directory);
  if (entries.includes(settingsFile)) return;
  // A search killed at its start leaves these.
  const foreign = entries.find((name) => name !== lockFile && !isTemporaryName(name));
  if (foreign !== undefined)
    throw new StateError(
      `search: expected a new or empty directory, or that of a search, got ${directory} with ${foreign} in it. Choose another.`,
    );
}

/** Removes the directory of a search that was rejected before it wrote a file. */
function removeIfEmpty(directory: string): void {
  if (readdirSync(directory).length === 0) rmdirSync(directory);
}

function checkOptions(options: SearchOptions): void {
  checkOptionNames(where, options, {
    ...{ directory: true, config: true, space: true, trials: true, sampler: true, seed: true },
    ...{ variant: true, jobs: true, minutes: true, output: true },
  });
  const { directory, trials, sampler, seed, variant, jobs, minutes } = options;
  if (typeof directory !== 'string' || directory === '')
    throw new ValueError(expected(where, 'a path', 'directory', directory));
  if (trials !== undefined) checkInteger(where, 'trials', trials, 1, 100_000);
  if (seed !== undefined) checkInteger(where, 'seed', seed, 0, 2 ** 32 - 1);
  if (jobs !== undefined) checkInteger(where, 'jobs', jobs, 1, 1024);
  if (minutes !== undefined) checkNumber(where, 'minutes', minutes, 0);
  if (sampler !== undefined && !['quasi', 'random'].includes(sampler))
    throw new ValueError(expected(where, 'quasi or random', 'sampler', sampler));
  if (variant !== undefined && !variants.includes(variant))
    throw new ValueError(expected(where, `one of ${variants.join(', ')}`, 'variant', variant));
}

/** Reads the settings of a search that exists, with more trials if requested, or writes those of a new one. */
async function openSettings(directory: string, options: SearchOptions): Promise<SearchSettings> {
  const before = existsSync(join(directory, settingsFile)) ? readSettings(directory) : null;
  const { config = before?.config, space = before?.space } = options;
  if (config === undefined || space === undefined)
    throw new ValueError(
      expected(where, `config and space, or the directory of a search`, 'directory', directory),
    );
  const values = typeof space === 'string' ? builtInSpace(space) : space;
  const keys = parseSpace(values).flatMap((dimension) => dimension.keys);
  const seed = options.seed ?? before?.seed ?? 1;
  const fixed = trialConfig(config, seed);
  const { config: resolved } = resolveConfig(fixed);
  const facts = await datasetFacts(resolved.storage.dataset.dataset_dir);
  const settings: SearchSettings = {
    seed,
    trials: options.trials ?? before?.trials ?? 16,
    sampler: options.sampler ?? before?.sampler ?? 'quasi',
    variant: options.variant ?? before?.variant ?? defaultVariant(facts.num_nodes, embeddingWidth(resolved)),
    space: values,
    config: fixed,
  };
  checkKeys(keys, settings.variant);
  if (before === null) checkSomeTrial(settings, resolved);
  else checkSame(directory, before, settings);
  if (JSON.stringify(before) !== JSON.stringify(settings)) await writeSettings(directory, settings);
  return settings;
}

/** Throws for keys that the search sets itself, so that their values would have no effect. */
function checkKeys(keys: readonly string[], variant: SearchSettings['variant']): void {
  if (keys.includes('storage.model_dir'))
    throw new ConfigError(
      'search: expected a space without storage.model_dir, because every trial has a directory of its own. Pass --output for all of them.',
    );
  if (keys.includes('training.num_epochs'))
    throw new ConfigError(
      'search: expected a space without training.num_epochs, because all trials train the epochs of the configuration. Vary training.learning_rate_schedule or early_stopping instead.',
    );
  if (['rank', 'combined'].includes(variant) && keys.some((key) => key.endsWith('.output_dim')))
    throw new ConfigError(
      'search: expected a space without output_dim with variant rank or combined, which trains all trials with narrow rows first. Choose variant plain, epoch or graph.',
    );
}

/** Throws if the configuration allows none of the trials: a key of the space is misspelt, or excludes another. */
function checkSomeTrial(settings: SearchSettings, config: SkeinConfig): void {
  let first: ConfigError | undefined;
  for (const values of trialValues(settings, config)) {
    try {
      resolveConfig(settings.config, overridesOf(values));
      return;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      first ??= error;
    }
  }
  throw new ConfigError(
    `search: expected a space with a trial that the configuration allows, got ${settings.trials} that it rejects, the first with: ${first?.message}`,
  );
}

/** Returns the values of a configuration without the location and the time limit of a run, and with a seed and checkpoints for resuming. */
function trialConfig(config: unknown, seed: number): unknown {
  if (!isTree(config))
    throw new ConfigError(expected(where, 'the values of a configuration file', 'config', config));
  const given = (key: string): boolean => valueAt(config, parsePath(key)) !== undefined;
  const { model_dir: _, ...storage } = isTree(config['storage']) ? config['storage'] : {};
  // Trials are compared after the same epochs; what fits a time depends on the machine and its load.
  // The configuration of a finished run also has the epochs that fitted, and the checkpoint that it started from.
  const {
    time_limit: __,
    time_limit_epochs: ___,
    resume_from_checkpoint: ____,
    ...training
  } = isTree(config['training']) ? config['training'] : {};
  const defaults = { 'model.random_seed': seed, 'training.checkpoint.minutes': 5 };
  return applyOverrides(
    { ...config, storage, training },
    Object.entries(defaults)
      .filter(([key]) => !given(key))
      .map(([key, value]) => ({ path: parsePath(key), value })),
  );
}

/** Throws if a search is resumed with settings under which its results are not comparable. */
function checkSame(directory: string, before: SearchSettings, now: SearchSettings): void {
  for (const name of ['seed', 'sampler', 'variant', 'space', 'config'] as const)
    if (JSON.stringify(before[name]) !== JSON.stringify(now[name]))
      throw new StateError(
        `search: expected the ${name} that ${directory} was started with, got another. Resume with the directory alone, or use a new directory.`,
      );
  if (now.trials < before.trials)
    throw new ValueError(
      expected('search', `at least ${before.trials}, the trials of ${directory},`, 'trials', now.trials),
    );
}

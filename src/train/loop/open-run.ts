/**
 * A run as it was saved, opened to be used and not to be trained: its configuration, dataset, node table and model. Nothing
 * in its directory is written.
 *
 * A run is named by its directory, by one of its checkpoints (`last`, `best`, `checkpoint_<epoch>`), or by a configuration
 * file, whose evaluation.checkpoint_dir or storage.model_dir then says where the run is.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { PreparedDataset } from '../../data/index.js';
import { FormatError, StateError } from '../../util/errors.js';
import type { BufferedNodeTable } from '../batch/buffered-node-table.js';
import type { GraphBatcher } from '../batch/graph-batcher.js';
import type { GraphModelStorage } from '../batch/graph-model-storage.js';
import {
  checkAgainstDataset,
  loadConfig,
  type PartitionBufferConfig,
  type SkeinConfig,
} from '../config/index.js';
import type { Model } from '../model/model.js';
import { checkRunConfig, RunDirectory } from '../run/index.js';
import { type CheckpointRecord, latestCheckpoint, modelFile, readRecord, tableFolder } from './checkpoint.js';
import { initializeBatcher, initializeModel } from './initialize-model.js';
import { initializeStorage } from './initialize-storage.js';
import { withMemoryBudget } from './memory-budget.js';
import { openDataset } from './open-dataset.js';
import { checkIdentity, runIdentity } from './run-identity.js';

export interface OpenRunOptions {
  /** What opens it; starts the messages of errors. */
  readonly command?: string;
  /** `section.key=value` */
  readonly overrides?: readonly string[];
  /** A last change of the configuration. */
  readonly adapt?: (config: SkeinConfig) => SkeinConfig;
  readonly onWarning?: (message: string) => void;
}

/** Where a run is, before anything of it is read. */
export interface FoundRun {
  /** The directory of the run. */
  readonly directory: string;
  /** The directory of the model: that of the run, or of one of its checkpoints. */
  readonly checkpoint: string;
  readonly config: SkeinConfig;
  readonly warnings: readonly string[];
}

export interface OpenedRun extends FoundRun {
  readonly record: CheckpointRecord;
  readonly dataset: PreparedDataset;
  readonly storage: GraphModelStorage;
  readonly table: BufferedNodeTable;
  readonly model: Model;
  /** Stands where the checkpoint was saved, so that evaluation draws what it drew then. */
  readonly batcher: GraphBatcher;
  close(): Promise<void>;
}

const configFile = 'full_config.yaml';

/** Finds the run that a directory or a configuration file names. */
export async function findRun(path: string, options: OpenRunOptions = {}): Promise<FoundRun> {
  const { command = 'openRun', overrides = [] } = options;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined)
    throw new StateError(
      `${command}: expected the directory of a run or a configuration file, got ${path}, which is not there. Look at the spelling.`,
    );
  if (found.isFile()) {
    const { config, warnings } = loadConfig(path, overrides);
    const folder = await folderOf(command, config);
    return { ...(await locate(command, folder)), config: adapted(config, options), warnings };
  }
  const { directory, checkpoint } = await locate(command, path);
  checkRunConfig(join(directory, configFile));
  const { config, warnings } = loadConfig(join(directory, configFile), overrides);
  return { directory, checkpoint, config: adapted(config, options), warnings };
}

export async function openRun(path: string, options: OpenRunOptions = {}): Promise<OpenedRun> {
  const found = await findRun(path, options);
  const record = await readRecord(found.checkpoint);
  const dataset = await openDataset(found.config);
  checkTask(found.checkpoint, record, found.config);
  checkIdentity(found.checkpoint, record.identity, await runIdentity(found.config, dataset), dataset);
  const { config: trained } = withMemoryBudget(found.config, dataset.stats);
  const config = readingConfig(trained);
  for (const warning of [...found.warnings, ...checkAgainstDataset(trained, dataset.stats)])
    options.onWarning?.(warning);
  const { storage, table } = await initializeStorage(config, dataset, {
    tableDirectory: tableFolder(found.directory),
    manifest: record.table,
  });
  const model = initializeModel(config, {
    numRelations: storage.numRelations,
    numClasses: Math.max(0, dataset.stats.num_classes),
  });
  // Nothing is trained here, so another optimiser in the configuration does no harm.
  model.encoderOptimizer = null;
  await model.load(found.checkpoint);
  model.eval();
  await table.load();
  const batcher = initializeBatcher(config, storage);
  batcher.seek(record.position);
  const close = (): Promise<void> => table.unload(false);
  return { ...found, config, record, dataset, storage, table, model, batcher, close };
}

/** The run that a configuration speaks of. */
async function folderOf(command: string, config: SkeinConfig): Promise<string> {
  const { checkpoint_dir: chosen } = config.evaluation;
  const { model_dir: model } = config.storage;
  if (chosen !== '') return model !== null && !existsSync(chosen) ? join(model, chosen) : chosen;
  if (model !== null) return model;
  const { directory } = await openDataset(config);
  const numbers = readdirSync(directory)
    .map((name) => /^model_(\d+)$/.exec(name)?.[1])
    .filter((digits) => digits !== undefined && existsSync(join(directory, `model_${digits}`, configFile)))
    .map(Number);
  if (numbers.length === 0)
    throw new StateError(
      `${command}: expected a run in storage.model_dir, got none there and no ${directory}/model_<i>. Train first, or set storage.model_dir.`,
    );
  return join(directory, `model_${Math.max(...numbers)}`);
}

/** The run and the model of a directory of either. */
async function locate(command: string, path: string): Promise<Pick<FoundRun, 'directory' | 'checkpoint'>> {
  const given = resolve(path);
  const directory = [given, dirname(given)].find((folder) => existsSync(join(folder, configFile)));
  if (directory === undefined)
    throw new StateError(
      `${command}: expected the directory of a run, got ${path}, which has no ${configFile}. Name what training printed as "Saved in".`,
    );
  if (existsSync(join(given, modelFile))) return { directory, checkpoint: given };
  if (given === directory && RunDirectory.isFinished(directory))
    throw new StateError(
      `${command}: expected the final model of a finished run, got ${path} without ${modelFile}. Name one of its checkpoints, or train again with training.save_model: true.`,
    );
  const latest = given === directory ? await latestCheckpoint(directory) : null;
  if (latest === null)
    throw new StateError(
      `${command}: expected a model in ${path}, got none. Let the run finish an epoch with a checkpoint, or go on with training.resume_training: true.`,
    );
  return { directory, checkpoint: join(directory, latest.name) };
}

function adapted(config: SkeinConfig, { adapt }: OpenRunOptions): SkeinConfig {
  return adapt === undefined ? config : adapt(config);
}

/**
 * One partition at a time is enough where a table is only read, and saves memory. Its files say how it is cut; nothing
 * else has to be, so edges are not sorted into buckets for it.
 */
function readingConfig(config: SkeinConfig): SkeinConfig {
  const smaller = ({ type, options }: PartitionBufferConfig): PartitionBufferConfig => ({
    type,
    options: { ...options, num_partitions: 1, buffer_capacity: 1, prefetching: false },
  });
  const { embeddings, features } = config.storage;
  return {
    ...config,
    storage: {
      ...config.storage,
      embeddings: embeddings.type === 'PARTITION_BUFFER' ? smaller(embeddings) : embeddings,
      features: features.type === 'PARTITION_BUFFER' ? smaller(features) : features,
    },
  };
}

function checkTask(path: string, { learningTask }: CheckpointRecord, { model }: SkeinConfig): void {
  if (learningTask === model.learning_task) return;
  throw new FormatError(
    `${path}: expected a model for ${model.learning_task}, got one for ${learningTask}. Use the configuration that it was trained with.`,
    { path },
  );
}

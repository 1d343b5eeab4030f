/**
 * A whole training run from a configuration: dataset, directory, and a session that trains (training-session.ts).
 * Everything that must survive is in the run's directory; a run that was cut off goes on from its last checkpoint and ends
 * with the bytes that it would have ended with. Several workers train the same run together, rank 0 owns the directory.
 */
import type { PreparedDataset } from '../../data/index.js';
import { agreedError, isAgreed, type WorkerGroup } from '../../dist/index.js';
import { ConfigError, StateError } from '../../util/errors.js';
import { checkAgainstDataset, type SkeinConfig } from '../config/index.js';
import {
  Output,
  openWorkers,
  outputOf,
  prepareProgress,
  RunDirectory,
  withResumeAdvice,
} from '../run/index.js';
import { checkPartitions } from '../sharded/cut-dataset.js';
import { checkSharded, isSharded } from '../sharded/open-shards.js';
import { checkResources } from './check-resources.js';
import { latestCheckpoint } from './checkpoint.js';
import type { Metrics } from './evaluator.js';
import { withMemoryBudget } from './memory-budget.js';
import { locatedConfig, openDataset } from './open-dataset.js';
import { openTrainingDevice } from './training-device.js';
import { type SessionOptions, TrainingSession } from './training-session.js';

export interface TrainRunOptions {
  readonly config: SkeinConfig;
  /** The text of the configuration file, kept with the run. */
  readonly source?: string;
  /** Default: text on stdout. */
  readonly output?: Output;
  /** Write a trace of the stages. */
  readonly profile?: boolean;
  /** The workers; all call this. Default: those that a launcher started. */
  readonly group?: WorkerGroup;
}

export interface TrainRunResult {
  readonly directory: string;
  /** Whether a signal ended it early. */
  readonly interrupted: boolean;
  readonly epochs: number;
  readonly validation: Metrics;
  readonly test: Metrics;
  readonly itemsPerSecond: number;
}

/** Collective, with several workers: all call it, rank 0 writes the run's directory and reports. */
export async function trainRun(given: TrainRunOptions): Promise<TrainRunResult> {
  const { group = openWorkers(given.config.distributed) } = given;
  const output = outputOf(group, given.output ?? new Output());
  const work = (): Promise<TrainRunResult> => trainTogether({ ...given, group, output });
  // Whoever gives the group also ends the job when one of its workers fails.
  return given.group === undefined ? group.run(work) : work();
}

async function trainTogether(given: SessionOptions): Promise<TrainRunResult> {
  const { group, output } = given;
  const agreed = group.agree(given.config);
  checkWorkers(agreed, group.size);
  const started = await group.onRoot(() => withSeedOfRun(agreed));
  const dataset = await openForAll(started, group, output);
  // The budget is that of a process, which has its part of the table.
  const part = { ...dataset.stats, num_nodes: Math.ceil(dataset.stats.num_nodes / group.size) };
  const { config, plan } = await group.everywhere(() => withMemoryBudget(started, part));
  checkWorkers(config, group.size);
  const warnings = await group.onRoot(() => {
    checkTrainingSet(config, dataset);
    return checkAgainstDataset(config, dataset.stats);
  });
  for (const warning of warnings) output.warn(warning);
  if (plan !== null) output.note(plan.report);
  const { partition_dir: partitions = null } = config.distributed ?? {};
  if (isSharded(config) && partitions !== null)
    await group.onRoot(() => checkPartitions(partitions, config, dataset, group.size));
  // Before anything is written: a device that is not there leaves no run behind.
  const device = await openTrainingDevice(config, group.size, output);
  try {
    return await trainInDirectory({ ...given, config, device }, dataset);
  } finally {
    device?.close();
  }
}

async function trainInDirectory(given: SessionOptions, dataset: PreparedDataset): Promise<TrainRunResult> {
  const { group, output, device = null } = given;
  using run = await openDirectory(given, group, dataset);
  const workers = group.size === 1 ? {} : { workers: group.size };
  const adapter = device === null ? {} : { device: 'webgpu', adapter: device.adapter };
  output.event('config', { directory: run.path, dataset: dataset.stats, ...workers, ...adapter });
  const session = new TrainingSession(given, run, dataset);
  try {
    return await session.start();
  } catch (error) {
    // An error of all is told once.
    if (group.isRoot || !isAgreed(error)) run.logFailure(error);
    throw await withResumeAdvice(error, run.path, latestCheckpoint);
  } finally {
    await session.close();
  }
}

/** What several workers cannot do is refused, by name, before anything is made. */
function checkWorkers(config: SkeinConfig, workers: number): void {
  if (isSharded(config)) checkSharded(config, workers);
  if (workers === 1 || isSharded(config)) return;
  const { model, storage } = config;
  for (const name of ['embeddings', 'features'] as const)
    if (storage[name].type === 'PARTITION_BUFFER')
      throw agreedError(
        new ConfigError(
          `storage.${name}.type: expected HOST_MEMORY with ${workers} workers, got PARTITION_BUFFER. Workers hold the table together, each a part of it in memory; take more workers, or one.`,
        ),
      );
  if (model.learning_task === 'NODE_CLASSIFICATION' && model.regularizer.type !== 'NONE')
    throw agreedError(
      new ConfigError(
        `model.regularizer.type: expected NONE for NODE_CLASSIFICATION with ${workers} workers, got ${model.regularizer.type}. A node that several workers use would count several times; use weight_decay, or one worker.`,
      ),
    );
}

/** Epochs over nothing would end with a loss of 0 and a model that learned nothing. */
function checkTrainingSet({ model }: SkeinConfig, dataset: PreparedDataset): void {
  const ofNodes = model.learning_task === 'NODE_CLASSIFICATION';
  const { num_train, num_valid, num_test } = dataset.stats;
  const nodes = dataset.hasNodeSplits ? num_train : 0;
  const count = ofNodes ? nodes : (dataset.edgeFile('train')?.rows ?? 0);
  if (count > 0) return;
  const [what, options] = ofNodes
    ? ['nodes', '--node-split 0.6 0.2 0.2 or a list --train-nodes']
    : ['edges', '--dataset-split 0.8 0.1 0.1'];
  const others = `validation ${Math.max(0, num_valid)}, test ${Math.max(0, num_test)}`;
  throw new StateError(
    `train: expected ${what} to train on, got none in ${dataset.directory} (${others}). Prepare it again with a training set, for example with ${options}.`,
  );
}

/** Rank 0 prepares a dataset on first use; then all open it. */
async function openForAll(config: SkeinConfig, group: WorkerGroup, output: Output): Promise<PreparedDataset> {
  let first: PreparedDataset | null = null;
  await group.onRoot(async () => {
    first = await openDataset(config, prepareProgress(output));
  });
  return group.everywhere(() => first ?? openDataset(config));
}

async function openDirectory(
  { config, source }: TrainRunOptions,
  group: WorkerGroup,
  dataset: PreparedDataset,
): Promise<RunDirectory> {
  const { num_nodes: nodes } = dataset.stats;
  await group.onRoot(() =>
    checkResources(config, Math.ceil(nodes / group.size), config.storage.model_dir ?? dataset.directory),
  );
  return RunDirectory.open({
    config: locatedConfig(config, dataset),
    datasetDir: dataset.directory,
    group,
    ...(source === undefined ? {} : { source }),
  });
}

/** A run that goes on keeps its seed, also when the file names none and would draw another. */
async function withSeedOfRun(config: SkeinConfig): Promise<SkeinConfig> {
  const { model_dir: directory } = config.storage;
  if (!config.training.resume_training || directory === null) return config;
  const latest = await latestCheckpoint(directory);
  if (latest === null) return config;
  return { ...config, model: { ...config.model, random_seed: latest.record.seed } };
}

/**
 * A run over a prepared graph, from its configuration: the checks before anything is written, and the task, in one process,
 * on several workers, or on a graph that is sharded over them.
 */
import type { PreparedDataset } from '../../../data/index.js';
import type { WorkerGroup } from '../../../dist/index.js';
import { manualSeed } from '../../../tensor/index.js';
import { ConfigError, markCollective, StateError, StorageError } from '../../../util/errors.js';
import { subsamples } from '../../config/check.js';
import { checkAgainstDataset, factsOf } from '../../config/check-dataset.js';
import { checkForm } from '../../config/check-form.js';
import { configError, noOrigin, renderConfig } from '../../config/config-file.js';
import type { SkeinConfig } from '../../config/index.js';
import { learningRateFactor, plannedEpochs } from '../../config/schedule.js';
import type { DistributedConfig } from '../../config/types.js';
import { withPlugins } from '../../plugins.js';
import { adoptCheckpoint, tableFolder, tableOf } from '../../run/adopt-checkpoint.js';
import { BufferFile, bufferFile } from '../../run/buffer-file.js';
import type { BufferMemory } from '../../run/buffer-record.js';
import type { Output } from '../../run/index.js';
import { headlineMetric, lowerMetrics } from '../../run/metric.js';
import { prepareProgress } from '../../run/prepare-progress.js';
import type { RunDirectory } from '../../run/run-directory.js';
import type { FinishContext, PreparedRun, RunPlan } from '../../run/run-plan.js';
import type { StageTimings } from '../../run/timings.js';
import type { Task } from '../../task.js';
import { checkSharded, isSharded, openShards } from '../nodes/sharded/open-shards.js';
import {
  checkPartitionDirectory,
  classCounts,
  partitionDataset,
} from '../nodes/sharded/partition-dataset.js';
import { planStep } from '../nodes/sharded/plan-run.js';
import { ShardedTask } from '../nodes/sharded/sharded-task.js';
import { encodeAllNodes, saveEncodedNodes } from './encoded-nodes.js';
import { GraphTask } from './graph-task.js';
import { initializeBatches, initializeModel, type RunSamplers } from './initialize-model.js';
import type { Model } from './model/model.js';
import { keepDataset } from './run-dataset.js';
import { checkIdentity, checkSamplersOfRun, type RunIdentity, runIdentity } from './run-identity.js';
import { configOfRun, withLimitOf, withSeedOf } from './started-run.js';
import { checkResources } from './storage/check-resources.js';
import { withEdgeOrder } from './storage/edge-order.js';
import { initializeSharedStorage } from './storage/initialize-storage.js';
import { shardTable, usesFeatures } from './storage/initialize-table.js';
import { checkFullBatch, checkKeptPartitions, withMemoryBudget } from './storage/memory-budget.js';
import { memoryRecord } from './storage/memory-record.js';
import { locatedConfig, openDataset } from './storage/open-dataset.js';
import { openDeviceFeatures, openTrainingDevice, type TrainingDevice } from './training-device.js';

export interface GraphRunContext {
  readonly group: WorkerGroup;
  readonly output: Output;
  readonly samplers: RunSamplers;
}

/** Opens the dataset and the device, and throws if the configuration cannot be trained. Collective. */
export async function prepareGraphRun(
  given: SkeinConfig,
  { group, output, samplers }: GraphRunContext,
): Promise<PreparedRun> {
  const agreed = await group.onRoot(() => withPlugins('train', given));
  checkWorkers(agreed, group.size);
  const { resume_training: resumes } = agreed.training;
  const started = await group.onRoot(() => withSeedOf(resumes ? agreed.storage.model_dir : null, agreed));
  const dataset = await openForAll(started, group, output);
  // The budget is per process, which has its share of the table.
  const share = { ...dataset.stats, num_nodes: Math.ceil(dataset.stats.num_nodes / group.size) };
  const before = await group.onRoot(() => (resumes ? configOfRun(agreed.storage.model_dir) : null));
  const budgeted = await group.onEveryRank(() => withMemoryBudget(started, share, before, group.size));
  const { plan } = budgeted;
  await group.onEveryRank(() => checkFullBatch(started, plan));
  const config = withLimitOf(before, withEdgeOrder(budgeted.config, dataset.stats, before));
  // The budget may have put rows on disk.
  const problems = checkForm(config);
  if (problems.length > 0) throw markCollective(configError(problems, noOrigin));
  await group.onRoot(() => checkKeptPartitions(config, before));
  checkWorkers(config, group.size);
  const warnings = await group.onRoot(() => {
    checkTrainingSet(config, dataset);
    return checkAgainstDataset(config, factsOf(dataset));
  });
  for (const warning of warnings) output.warn(warning);
  if (plan !== null) output.note(plan.report);
  if (!config.training.pipeline.sync && group.size > 1)
    output.warn('training.pipeline.sync: false has no effect with several workers.');
  else if (!config.training.pipeline.sync && config.training.form !== 'NEGATIVES')
    output.warn(
      `training.pipeline.sync: false has no effect with training.form ${config.training.form}: each step changes all rows.`,
    );
  const { partition_dir: partitions = null } = config.distributed ?? {};
  if (isSharded(config) && partitions !== null)
    await group.onRoot(() => checkPartitionDirectory(partitions, config, dataset, group.size));
  await group.onRoot(() =>
    checkResources(config, {
      ...{ held: share.num_nodes, written: dataset.stats.num_nodes },
      directory: config.storage.model_dir ?? dataset.directory,
    }),
  );
  // Opened before anything is written: a missing device leaves no run behind.
  const device = await openTrainingDevice(config, group.size, output);
  const located = locatedConfig(config, dataset);
  return {
    settings: {
      directory: config.storage.model_dir,
      level: config.storage.log_level,
      parent: dataset.directory,
      resume: config.training.resume_training,
      resolved: (path) => renderConfig({ ...located, storage: { ...located.storage, model_dir: path } }),
    },
    details: {
      dataset: dataset.stats,
      ...(group.size === 1 ? {} : { workers: group.size }),
      ...(device === null ? {} : { device: 'webgpu', adapter: device.adapter }),
    },
    plan: async (run) => {
      if (plan !== null) run.log('info', plan.report);
      const identity = await group.onRoot(() => runIdentity(config, dataset, Object.keys(samplers)));
      const memory = memoryRecord(config, share, plan);
      return new GraphRun({
        ...{ config, dataset, identity, run, group, output, samplers, device, memory },
      }).plan();
    },
    close: () => device?.close(),
  };
}

interface GraphRunParts extends GraphRunContext {
  readonly config: SkeinConfig;
  readonly dataset: PreparedDataset;
  /** Taken before training, because the dataset may change in the meantime. */
  readonly identity: RunIdentity;
  readonly run: RunDirectory;
  readonly device: TrainingDevice | null;
  /** Null for a run in memory without a budget. */
  readonly memory: BufferMemory | null;
}

class GraphRun {
  readonly #parts: GraphRunParts;

  constructor(parts: GraphRunParts) {
    this.#parts = parts;
  }

  plan(): RunPlan {
    const { config, identity, dataset, run } = this.#parts;
    const { model, training, evaluation } = config;
    const { early_stopping: stopping, checkpoint, learning_rate_schedule: schedule } = training;
    const keepBest = checkpoint.save_best || stopping !== null || training.restore_best === true;
    const { min_value: minValue = null } = stopping ?? {};
    const headline = headlineOf(config);
    // Runs of versions without self_filter have no such key in their record.
    const { self_filter: selfFilter, ...negatives } = evaluation.negative_sampling;
    return {
      task: model.learning_task === 'LINK_PREDICTION' ? 'links' : 'nodes',
      seed: model.random_seed,
      seedKey: 'model.random_seed',
      epochs: plannedEpochs(config),
      identity: { ...identity },
      evaluatedBy: JSON.stringify({
        metric: stopping?.metric ?? headline,
        negatives: selfFilter ? evaluation.negative_sampling : negatives,
        ...(evaluation.candidates === 'ALL' ? {} : { candidates: evaluation.candidates }),
        ...(evaluation.max_edges < 0 ? {} : { edges: evaluation.max_edges }),
      }),
      fit: {
        evaluateEvery: evaluation.epochs_per_eval,
        lowerIsBetter: lowerMetrics(),
        metric: stopping?.metric ?? headline,
        ...(stopping === null
          ? {}
          : { patience: stopping.patience, minDelta: stopping.min_delta, minEpochs: stopping.min_epochs }),
        ...(minValue === null ? {} : { minValue }),
        schedule: (epoch, epochs) => learningRateFactor(schedule, epoch, epochs),
        ...(schedule.type === 'PLATEAU'
          ? {
              plateau: {
                factor: schedule.factor,
                patience: schedule.patience,
                threshold: schedule.threshold,
              },
            }
          : {}),
      },
      keepBest,
      restoreBest: training.restore_best ?? keepBest,
      ...this.#timeLimit(),
      saveModel: training.save_model,
      save: { batches: checkpoint.interval_batches, minutes: checkpoint.minutes },
      logsPerEpoch: training.logs_per_epoch,
      epochCheckpoints: (epoch, isLast) =>
        checkpoint.interval > 0 && epoch % checkpoint.interval === 0 && !isLast
          ? ['last', `checkpoint_${epoch}`]
          : [],
      check: (folder, record) => {
        const saved = record.identity as unknown as RunIdentity;
        checkIdentity(folder, saved, identity, dataset);
        checkSamplersOfRun(folder, saved, identity);
      },
      ...(training.resume_from_checkpoint === ''
        ? {}
        : { adopt: () => adoptCheckpoint(training.resume_from_checkpoint, run.path) }),
      open: (record, timings) => this.#open(tableOf(record), timings),
      finish: (context) => this.#finish(context),
    };
  }

  #timeLimit(): Pick<RunPlan, 'timeLimit'> {
    const { config, dataset, run } = this.#parts;
    const { time_limit: seconds, time_limit_epochs: planned } = config.training;
    // A new run with a given number of epochs does not depend on the clock.
    if (seconds === null || (planned !== null && !run.resumed)) return {};
    const resolved = (path: string, epochs: number): string => {
      const located = locatedConfig(config, dataset);
      return renderConfig({
        ...located,
        training: { ...located.training, time_limit_epochs: epochs },
        storage: { ...located.storage, model_dir: path },
      });
    };
    return { timeLimit: { seconds, isPlanned: planned !== null, resolved } };
  }

  async #open(manifest: ReturnType<typeof tableOf>, timings: StageTimings): Promise<Task> {
    const { config, dataset, group, run, device, samplers, memory } = this.#parts;
    const { pipeline } = config.training;
    if (isSharded(config)) return this.#openSharded(manifest, timings);
    const places = { tableDirectory: tableFolder(run.path), manifest };
    const { storage, table } = await initializeSharedStorage(config, dataset, {
      ...{ ...places, group, device: device?.device ?? null },
    });
    if (group.isRoot && memory !== null) storage.onState = new BufferFile(run.file(bufferFile), memory).enter;
    const model = await this.#model();
    const source = initializeBatches(config, storage, group, samplers);
    if (device !== null) {
      source.deviceFeatures = await openDeviceFeatures(config, device, storage);
      model.to(device.device);
      const { deviceFeatures: cache } = source;
      const cached =
        cache === null ? '' : `, ${Math.round(100 * cache.cachedRatio)} % of the features cached`;
      run.log('info', `computing on webgpu (${device.adapter})${cached}`);
    }
    const readsAhead = !pipeline.sync && group.size === 1 && config.training.form === 'NEGATIVES';
    return new GraphTask({
      ...{ model, source, table, timings, opened: manifest, headline: headlineOf(config) },
      stalenessBound: readsAhead ? pipeline.staleness_bound : 1,
      evaluateAhead: !config.evaluation.pipeline.sync && group.size === 1,
    });
  }

  /** Partitions the graph if no worker has done so yet, and reports the memory of a step. */
  async #openSharded(manifest: ReturnType<typeof tableOf>, timings: StageTimings): Promise<Task> {
    const { config, dataset, group, run, output } = this.#parts;
    const model = await this.#model();
    const distributed = config.distributed as DistributedConfig;
    const path = await group.onRoot(
      () =>
        distributed.partition_dir ?? partitionDataset(config, distributed, dataset, run.file('partitions')),
    );
    const { node_feature_dim, num_classes: classes } = dataset.stats;
    const width = usesFeatures(config) ? node_feature_dim : null;
    const labelled = await group.onRoot(() => classCounts(dataset));
    const { sets, nodeIds } = await openShards(config, distributed, path, group, {
      width,
      classes,
      labelled,
    });
    const places = { tableDirectory: tableFolder(run.path), manifest };
    const embeddings = await shardTable(config, dataset, places, { group, nodeIds });
    const rowWidth = embeddings?.width ?? 0;
    const planned = planStep(sets.train, rowWidth, group, () => this.#makeModel()) / 2 ** 20;
    const workers = group.size === 1 ? 'one worker' : `${group.size} workers`;
    const line = `plan: ${planned.toFixed(1)} MB of tensors a worker at the worst moment (${distributed.mode}, ${workers})`;
    output.event('plan', { mode: distributed.mode, workers: group.size, peak_tensor_mb: planned });
    output.text(line);
    run.log('info', line);
    return new ShardedTask({
      ...{ model, sets, embeddings, opened: manifest, timings },
      headline: headlineOf(config),
    });
  }

  async #model(): Promise<Model> {
    const { config, group } = this.#parts;
    manualSeed(config.model.random_seed);
    const model = await group.onEveryRank(() => this.#makeModel());
    if (group.size > 1 || isSharded(config)) model.workers = group;
    return model;
  }

  #makeModel(): Model {
    const { config, dataset } = this.#parts;
    return initializeModel(config, {
      numRelations: dataset.hasRelations ? dataset.stats.num_relations : 0,
      numClasses: Math.max(0, dataset.stats.num_classes),
      text: dataset.textSizes,
    });
  }

  async #finish(context: FinishContext): Promise<Readonly<Record<string, unknown>>> {
    const { config, dataset, group } = this.#parts;
    if (config.training.save_model) await group.onRoot(() => this.#keepDataset(context, dataset));
    return config.storage.export_encoded_nodes ? this.#export(context) : {};
  }

  /** Keeps what answers need in the run. A run without it is complete, so a full disk does not fail it. */
  async #keepDataset({ task, run, output }: FinishContext, dataset: PreparedDataset): Promise<void> {
    const { config } = this.#parts;
    const comparesEmbeddings = task instanceof GraphTask && task.model.comparesEmbeddings;
    try {
      const kept = await keepDataset(run.path, dataset, { config, comparesEmbeddings });
      if (!kept) run.log('info', `the model needs ${dataset.directory}, which is too large for a copy`);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      const line = `no copy of the dataset in the run, which needs ${dataset.directory} to answer: ${error.message}`;
      output.warn(line);
      run.log('warn', line);
    }
  }

  async #export({ task, run }: FinishContext): Promise<Readonly<Record<string, unknown>>> {
    // Where the encoder returns embeddings unchanged, the table has them already.
    if (!(task instanceof GraphTask) || task.model.comparesEmbeddings) return {};
    const { model, source } = task;
    const { group } = this.#parts;
    const encoded = await encodeAllNodes({ model, source });
    // Every worker encodes all nodes with rows of the others: none may close before all have read.
    group.comm.barrier();
    await group.onRoot(() => saveEncodedNodes(run.path, encoded, this.#parts.dataset));
    source.storage.setEncodedNodes(null);
    source.select('train');
    return {};
  }
}

/** Returns the metric of early stopping and of the best state. */
export function headlineOf({ evaluation: { metrics }, model }: SkeinConfig): string {
  return headlineMetric(model.learning_task, metrics);
}

/** Throws if several workers cannot train the configuration; the error names the key. */
function checkWorkers(config: SkeinConfig, workers: number): void {
  checkNorms(config, workers);
  if (isSharded(config)) checkSharded(config, workers);
  if (workers === 1 || isSharded(config)) return;
  const { model, storage, training } = config;
  if (training.form !== 'NEGATIVES')
    throw markCollective(
      new ConfigError(
        `training.form: expected NEGATIVES with ${workers} workers, got ${training.form}. Each worker has only its share of the rows. Pass --training.form=NEGATIVES, or use one worker, which computes on all cores.`,
      ),
    );
  const shardsRequested = config.distributed?.edges === 'spread';
  if (storage.features.type === 'PARTITION_BUFFER') {
    const advice =
      storage.memory_budget === null
        ? 'use FLAT_FILE where they do not fit in memory, or one worker'
        : 'a memory budget puts them into partitions, so set storage.embeddings.type: PARTITION_BUFFER and storage.features.type: FLAT_FILE in its place, or use one worker';
    throw markCollective(
      new ConfigError(
        `storage.features.type: expected HOST_MEMORY or FLAT_FILE with ${workers} workers, got PARTITION_BUFFER. Workers shard features in memory, or all read their file; ${advice}.`,
      ),
    );
  }
  if (shardsRequested && storage.embeddings.type === 'PARTITION_BUFFER')
    throw markCollective(
      new ConfigError(
        'distributed.edges: expected replicated with storage.embeddings.type PARTITION_BUFFER, got spread. A buffer reads the edges of its partitions from their file; no worker holds the others.',
      ),
    );
  const { filtered, known_filter: known } = training.negative_sampling;
  if (shardsRequested && (filtered || known)) {
    const key = filtered ? 'filtered' : 'known_filter';
    throw markCollective(
      new ConfigError(
        `distributed.edges: expected replicated with training.negative_sampling.${key}, got spread. Every worker compares its negatives with all training edges; set distributed.edges to replicated, or ${key} to false.`,
      ),
    );
  }
  if (shardsRequested && subsamples(config))
    throw markCollective(
      new ConfigError(
        'distributed.edges: expected replicated with model.loss.options.subsampling, got spread. Every worker counts all training edges; set distributed.edges to replicated, or subsampling to false.',
      ),
    );
  if (model.learning_task === 'NODE_CLASSIFICATION' && model.regularizer.type !== 'NONE')
    throw markCollective(
      new ConfigError(
        `model.regularizer.type: expected NONE for NODE_CLASSIFICATION with ${workers} workers, got ${model.regularizer.type}. A node that several workers use would count several times; use weight_decay, or one worker.`,
      ),
    );
}

/** Throws for batch normalisation: each worker would normalise by the statistics of its own rows. */
function checkNorms({ model }: SkeinConfig, workers: number): void {
  const layers = model.encoder.layers.flatMap((stage, i) => stage.map(({ norm }, j) => ({ norm, i, j })));
  const found = layers.find(({ norm }) => norm === 'BATCH');
  if (workers === 1 || found === undefined) return;
  throw markCollective(
    new ConfigError(
      `model.encoder.layers[${found.i}][${found.j}].norm: expected LAYER or NONE with ${workers} workers, got BATCH. Its statistics would be those of a worker's share of the batch.`,
    ),
  );
}

/** Throws if there is nothing to train on: epochs would end with a loss of 0 and an untrained model. */
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
  return group.onEveryRank(() => first ?? openDataset(config));
}

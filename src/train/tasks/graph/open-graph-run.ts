/** A saved run over a graph: dataset, table, model and batches as they were when the checkpoint was saved. */
import type { PreparedDataset } from '../../../data/index.js';
import { FormatError } from '../../../util/errors.js';
import { checkAgainstDataset, factsOf } from '../../config/check-dataset.js';
import type { SkeinConfig } from '../../config/index.js';
import type { PartitionBufferConfig } from '../../config/types.js';
import type { FoundRun } from '../../find-run.js';
import { withPlugins } from '../../plugins.js';
import { tableFolder, tableOf } from '../../run/adopt-checkpoint.js';
import { checkSeed } from '../../run/check-seed.js';
import { headlineMetric } from '../../run/metric.js';
import { type RunRecord, readRecord } from '../../run/run-record.js';
import type { BatchSource } from './batch/batch-source.js';
import { GraphTask } from './graph-task.js';
import { initializeBatches, initializeModel } from './initialize-model.js';
import type { Model } from './model/model.js';
import { openRunDataset } from './run-dataset.js';
import { checkIdentity, type RunIdentity, runIdentity } from './run-identity.js';
import { withSeedOf } from './started-run.js';
import type { GraphStorage } from './storage/graph-storage.js';
import { initializeStorage } from './storage/initialize-storage.js';
import { bufferConfig } from './storage/initialize-table.js';
import { withMemoryBudget } from './storage/memory-budget.js';

export interface FoundGraphRun extends FoundRun {
  readonly config: SkeinConfig;
}

export interface OpenedGraphRun extends FoundGraphRun {
  readonly kind: 'links' | 'nodes';
  readonly record: RunRecord;
  readonly dataset: PreparedDataset;
  readonly storage: GraphStorage;
  readonly model: Model;
  /** Positioned where the checkpoint was saved, so that evaluation draws the same negatives. */
  readonly source: BatchSource;
  readonly task: GraphTask;
  close(): Promise<void>;
}

export async function openGraphRun(
  given: FoundGraphRun,
  { onWarning }: { readonly onWarning?: (message: string) => void } = {},
): Promise<OpenedGraphRun> {
  const found = { ...given, config: withPlugins(given.checkpoint, given.config) };
  const record = await readRecord(found.checkpoint);
  const dataset = await openRunDataset(found, record);
  checkTask(found.checkpoint, record, found.config);
  const identity = await runIdentity(found.config, dataset);
  checkIdentity(found.checkpoint, record.identity as unknown as RunIdentity, identity, dataset);
  const { random_seed: seed } = withSeedOf(found.directory, found.config).model;
  checkSeed(found.checkpoint, record, 'model.random_seed', seed);
  // A table that was partitioned for training is read as it is; a budget for several workers may not be enough for one.
  const isPartitioned = bufferConfig(found.config) !== null;
  const trained = isPartitioned ? found.config : withMemoryBudget(found.config, dataset.stats).config;
  const config = readingConfig(trained);
  for (const warning of checkAgainstDataset(trained, factsOf(dataset))) onWarning?.(warning);
  const { storage } = await initializeStorage(config, dataset, {
    tableDirectory: tableFolder(found.directory),
    manifest: tableOf(record),
    readOnly: true,
  });
  const model = initializeModel(config, {
    numRelations: storage.numRelations,
    numClasses: Math.max(0, dataset.stats.num_classes),
    text: dataset.textSizes,
  });
  // Nothing is trained here, so another optimiser in the configuration has no effect.
  model.encoderOptimizer = null;
  await model.load(found.checkpoint);
  model.eval();
  await storage.residency.load();
  const source = initializeBatches(config, storage);
  source.seek(record.position);
  const task = new GraphTask({
    ...{ model, source, evaluateAhead: !config.evaluation.pipeline.sync },
    headline: headlineMetric(config.model.learning_task, config.evaluation.metrics),
  });
  const kind = record.task === 'nodes' ? 'nodes' : 'links';
  const close = async (): Promise<void> => {
    await storage.residency.unload(false);
    await storage.features?.unload?.();
  };
  return { ...found, kind, config, record, dataset, storage, model, source, task, close };
}

/**
 * Returns a configuration that reads a table one partition at a time, which saves memory. The table's files state its
 * partitions; edges are not sorted into buckets for it.
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

function checkTask(path: string, { task }: RunRecord, { model }: SkeinConfig): void {
  const wanted = model.learning_task === 'LINK_PREDICTION' ? 'links' : 'nodes';
  if (task === wanted) return;
  throw new FormatError(
    `${path}: expected a model of ${wanted}, got one of ${task}. Use the configuration that it was trained with.`,
    { path },
  );
}

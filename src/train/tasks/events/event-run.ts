/** Prepares a run over a stream of events from its configuration: checks, the stream and the plan of the run. */
import { resolve } from 'node:path';
import type { WorkerGroup } from '../../../dist/index.js';
import type { Output } from '../../run/index.js';
import { metricCell } from '../../run/reporter.js';
import type { FinishContext, PreparedRun, RunPlan } from '../../run/run-plan.js';
import { withWorkers } from '../../run/workers.js';
import type { HeldOut } from '../../task.js';
import { assembleTemporal } from './assemble.js';
import { assembleWorkers, checkChunks } from './assemble-workers.js';
import { checkEventRecord, eventIdentity } from './check-record.js';
import { evaluatedBy, evaluationPlan, hasRanks } from './evaluation.js';
import { eventBaselines } from './event-baseline.js';
import { EventTask } from './event-task.js';
import { checkAbilities, checkModelOptions, epochsOf, withPlugin } from './model-kind.js';
import { type OpenedStream, openStream } from './open-stream.js';
import { renderTemporalConfig, type TemporalRunConfig } from './run-config.js';
import { checkEventLabels, trainRunLabels } from './run-labels.js';
import { streamWarnings } from './stream-warnings.js';

interface EventRunContext {
  readonly group: WorkerGroup;
  readonly output: Output;
}

/** Opens the stream and throws for a configuration that cannot be trained. Collective. */
export async function prepareEventRun(
  given: TemporalRunConfig,
  { group, output }: EventRunContext,
): Promise<PreparedRun> {
  const config = await group.onEveryRank(() => withPlugin('train', withWorkers(given)));
  await group.onEveryRank(() => checkAbilities(config));
  if (config.distributed !== null) await group.onEveryRank(() => checkChunks(config, group.size));
  const stream = await openOnEveryRank(config, group);
  for (const warning of streamWarnings(config, stream)) output.warn(warning);
  const { graph, rows } = stream;
  return {
    settings: {
      directory: config.storage.model_dir,
      level: config.storage.log_level,
      parent: 'runs',
      resume: config.training.resume_training,
      resolved: (path) => renderTemporalConfig(withAbsolutePaths(config, path)),
    },
    details: {
      dataset: { name: stream.data.name, num_nodes: graph.numNodes, num_events: graph.numEvents },
      events: { train: rows.train.length, validation: rows.validation.length, test: rows.test.length },
    },
    plan: async () => eventPlan(config, stream, group),
    close: () => {},
  };
}

function eventPlan(config: TemporalRunConfig, stream: OpenedStream, group: WorkerGroup): RunPlan {
  const { training, evaluation } = config;
  const { checkpoint, patience } = training;
  return {
    task: 'events',
    seed: training.random_seed,
    seedKey: 'training.random_seed',
    epochs: epochsOf(config),
    identity: eventIdentity(config, stream),
    evaluatedBy: evaluatedBy(config),
    fit: {
      evaluateEvery: evaluation.epochs_per_eval,
      ...(patience === -1 ? {} : { patience }),
    },
    keepBest: checkpoint.save_best || patience !== -1,
    saveModel: true,
    save: { batches: checkpoint.interval_batches, minutes: checkpoint.minutes },
    logsPerEpoch: training.logs_per_epoch,
    epochCheckpoints: () => (checkpoint.minutes > 0 || checkpoint.interval_batches > 0 ? ['last'] : []),
    check: (folder, record) => checkEventRecord(folder, record, config, stream),
    open: async (_record, timings) => {
      const { metric, metrics } = evaluationPlan(config);
      const options = {
        ...{ isNew: stream.split.isNew, metric, metrics, timings },
        baselines: (split: HeldOut) => eventBaselines(config, stream, split),
      };
      return group.onEveryRank(() =>
        config.distributed === null
          ? new EventTask({ parts: assembleTemporal(config, stream), ...options })
          : new EventTask({ parts: assembleWorkers(config, stream, group), ...options }),
      );
    },
    shown: () => shownMetrics(config),
    ...(config.labels.epochs === 0
      ? {}
      : { finish: (context) => learnLabels(config, stream, group, context) }),
  };
}

/** The metrics that are printed; the files of the run have all. */
function shownMetrics(config: TemporalRunConfig): string[] {
  const { metric } = evaluationPlan(config);
  const ranks = hasRanks(config) ? ['mrr', 'frozen_mrr'] : [];
  return [...new Set(['ap', 'auc', ...ranks, metric, 'new_node_ap', 'new_node_auc'])];
}

async function learnLabels(
  config: TemporalRunConfig,
  stream: OpenedStream,
  group: WorkerGroup,
  { task, run, output, stop, say }: FinishContext,
): Promise<Readonly<Record<string, unknown>> | null> {
  const { parts } = task as EventTask;
  const labels = await trainRunLabels(config, stream, parts, group.isRoot ? run.path : null, stop);
  if (labels === null) return null;
  for (const split of ['validation', 'test'] as const) {
    run.record({ event: 'eval', set: `${split} labels`, epoch: labels.epoch, ...labels[split] });
    output.event('eval', { set: `${split} labels`, epoch: labels.epoch, ...labels[split] });
    const cells = Object.entries(labels[split]).map(([name, value]) => metricCell(name, value));
    say(`${split} labels  ${cells.join('  ')}`);
  }
  const metrics = Object.entries(labels.test).map(([name, value]) => [`test.label_${name}`, value]);
  return { labels, ...Object.fromEntries(metrics) };
}

/** Opens the stream on every worker, first on the root, which may have to prepare it. */
async function openOnEveryRank(config: TemporalRunConfig, group: WorkerGroup): Promise<OpenedStream> {
  const open = async (): Promise<OpenedStream> => {
    const stream = await openStream(config);
    checkEventLabels(config, stream);
    checkModelOptions(config, stream);
    return stream;
  };
  let first: OpenedStream | null = null;
  await group.onRoot(async () => {
    first = await open();
  });
  return group.onEveryRank(() => first ?? open());
}

/** Returns the configuration with absolute paths, so that it can be read from any working directory. */
function withAbsolutePaths(
  { dataset, storage, evaluation, ...rest }: TemporalRunConfig,
  directory: string,
): TemporalRunConfig {
  const absolute = (path: string): string => (path === '' ? '' : resolve(path));
  return {
    ...rest,
    dataset: { ...dataset, path: absolute(dataset.path) },
    evaluation: { ...evaluation, negatives_path: absolute(evaluation.negatives_path) },
    storage: { ...storage, model_dir: directory },
  };
}

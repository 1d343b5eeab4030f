/** Describes a run directory without opening its table or dataset: task, progress, checkpoints, last metrics. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TableManifest } from '../storage/table-manifest.js';
import type { TemporalConfig } from '../temporal/index.js';
import { readConfigFile } from './config/config-file.js';
import type { SkeinConfig } from './config/index.js';
import { missingPlugins } from './config/plugin-record.js';
import { plannedEpochs } from './config/schedule.js';
import type { LayerConfig } from './config/types.js';
import { endsWithBest } from './find-run.js';
import { isEventConfig, loadRunConfig, type RunConfig } from './load-run-config.js';
import { dataPlaces } from './run/data-places.js';
import { type MetricsRecord, metricsOf, readCompleteRecords } from './run/metrics-file.js';
import { readOutcomeFile } from './run/outcome-file.js';
import type { MetricValues } from './run/reporter.js';
import { RunDirectory } from './run/run-directory.js';
import { type RunRecord, readAllRecords, standingCheckpoint } from './run/run-record.js';
import type { Baseline } from './task.js';
import { epochsOf } from './tasks/events/model-kind.js';
import { isTemporalConfig, type TemporalRunConfig } from './tasks/events/run-config.js';
import { datasetFolder } from './tasks/graph/run-dataset.js';

export interface RunDescription {
  readonly kind: 'run';
  readonly directory: string;
  readonly task: string;
  /** Encoder and decoder on one line. */
  readonly model: string;
  /** The dataset when the run was trained. */
  readonly dataset: string;
  /** Where commands find it now, or the run's own copy; null if there is neither. */
  readonly datasetFound: string | null;
  readonly finished: boolean;
  /** The epoch of the latest checkpoint; 0 without checkpoints. */
  readonly epochs: number;
  readonly plannedEpochs: number;
  readonly nodes: number;
  /** The best epoch on validation; `metric` is null if a run that has not finished does not tell. */
  readonly best: { readonly epoch: number; readonly value: number; readonly metric: string | null } | null;
  /** Names and epochs; '' is the final state. */
  readonly checkpoints: readonly { readonly name: string; readonly epoch: number }[];
  /** The checkpoint that `eval`, `query` and `predict` open: '' is the final state; null without checkpoints. */
  readonly opened: { readonly name: string; readonly epoch: number } | null;
  /** Metrics of each split: those of the opened checkpoint, or the latest if there is none. */
  readonly metrics: Readonly<Record<string, MetricValues>>;
  readonly baselines: readonly Baseline[];
}

/** @param lines the records of metrics.jsonl, if they have been read; those of epochs are not needed */
export async function describeRun(
  directory: string,
  lines: readonly MetricsRecord[] = [...readCompleteRecords(join(directory, 'metrics.jsonl'))],
): Promise<RunDescription> {
  const config = readRunConfig(join(directory, 'full_config.yaml'));
  const records = await readAllRecords(directory);
  const latest = records.reduce<(typeof records)[number] | null>(
    (best, one) => (best === null || one.record.position.epoch > best.record.position.epoch ? one : best),
    null,
  );
  const final = records.find(({ name }) => name === '');
  const finished = RunDirectory.isFinished(directory);
  const opened = final ?? (finished ? null : standingCheckpoint(records, endsWithBest(config)));
  const saved = opened?.record.position.epoch ?? Number.POSITIVE_INFINITY;
  return {
    kind: 'run',
    directory,
    ...describeConfig(config),
    datasetFound: findDataset(directory, config),
    finished,
    epochs: latest?.record.position.epoch ?? 0,
    nodes: latest === null ? 0 : nodesOf(latest.record),
    best: describeBest(latest?.record.best ?? null, directory, lines),
    checkpoints: records.map(({ name, record }) => ({ name, epoch: record.position.epoch })),
    opened: opened === null ? null : { name: opened.name, epoch: opened.record.position.epoch },
    metrics: splitMetrics(lines, saved),
    baselines: lastBaselines(lines),
  };
}

/** A configuration file that `skein train` takes. */
export interface ConfigDescription {
  readonly kind: 'configuration';
  readonly path: string;
  readonly task: string;
  readonly model: string;
  readonly dataset: string;
  readonly plannedEpochs: number;
  /** Where the run is, or will be; null if the configuration leaves it to the program. */
  readonly directory: string | null;
}

/** Describes a configuration file. Throws if it cannot be trained. */
export function describeConfigFile(path: string): ConfigDescription {
  const config = readRunConfig(path);
  return { kind: 'configuration', path, ...describeConfig(config), directory: config.storage.model_dir };
}

/** Reads the configuration of a run. The modules that registered its types are not needed for a description. */
function readRunConfig(path: string): RunConfig {
  const file = readConfigFile(path);
  const { plugins } = (file.values ?? {}) as { readonly plugins?: unknown };
  if (isTemporalConfig(file) || missingPlugins(plugins).length === 0) return loadRunConfig(file).config;
  // Training wrote it with every default filled in.
  return file.values as SkeinConfig;
}

function describeConfig(config: RunConfig) {
  if (isEventConfig(config)) {
    const { name, path } = config.dataset;
    return {
      task: 'TEMPORAL_LINK_PREDICTION',
      model: eventModelLine(config.model),
      dataset: path === '' ? name : path,
      plannedEpochs: epochsOf(config),
    };
  }
  return {
    task: config.model.learning_task,
    model: modelLine(config),
    dataset: config.storage.dataset.dataset_dir,
    plannedEpochs: plannedEpochs(config),
  };
}

/** Returns where the dataset of a run is now; its content is not compared. */
function findDataset(directory: string, config: RunConfig): string | null {
  const trainedIn = config.storage.model_dir;
  const run = resolve(directory);
  if (isEventConfig(config)) {
    const { name, path } = config.dataset;
    if (path === '') return name;
    return dataPlaces({ directory: run, trainedIn, data: path }).find((place) => existsSync(place)) ?? null;
  }
  const data = config.storage.dataset.dataset_dir;
  const places = [...dataPlaces({ directory: run, trainedIn, data }), join(run, datasetFolder)];
  return places.find((place) => existsSync(join(place, 'dataset.yaml'))) ?? null;
}

/** Returns the number of nodes with rows in a checkpoint, or 0 if it has no rows. */
function nodesOf({ state }: RunRecord): number {
  const { table, mailbox } = state as {
    readonly table?: TableManifest | null;
    readonly mailbox?: { readonly numNodes: number } | null;
  };
  return table?.rows ?? mailbox?.numNodes ?? 0;
}

function modelLine({ model }: SkeinConfig): string {
  const layer = (one: LayerConfig): string =>
    `${one.type === 'GNN' ? one.options.type : one.type} ${one.output_dim}`;
  const stages = model.encoder.layers.map((stage) => stage.map(layer).join(' + '));
  return `${stages.join(' → ')} → ${model.decoder.type}`;
}

function eventModelLine({ kind, options, sections }: TemporalRunConfig['model']): string {
  if (sections !== null) return generalModelLine(sections);
  const settings = Object.entries(options).map(([name, value]) => `${name} ${value}`);
  return [kind, ...settings].join(', ');
}

function generalModelLine({ sampling, memory, gnn }: TemporalConfig): string {
  const parts = [
    memory.type === 'none' ? 'no memory' : `memory ${memory.dim_out} (${memory.memory_update})`,
    gnn.arch === 'identity'
      ? `identity${gnn.time_transform === 'JODIE' ? ' in time' : ''} ${gnn.dim_out}`
      : `attention ${gnn.dim_out} over ${sampling.neighbor.join(' × ')} ${sampling.strategy} neighbours`,
    ...(gnn.pair_depth > 0 ? [`pairs of the last ${gnn.pair_depth} events`] : []),
  ];
  return parts.join(' → ');
}

/** Returns the last metrics of every split; those of the validation split up to the epoch of the saved model. */
function splitMetrics(lines: readonly MetricsRecord[], saved: number): Record<string, MetricValues> {
  const found: Record<string, MetricValues> = {};
  for (const line of lines) {
    const { event, set, epoch } = line;
    if (event !== 'eval' || typeof set !== 'string') continue;
    if (set !== 'validation' || Number(epoch) <= saved) found[set] = metricsOf(line);
  }
  return found;
}

function lastBaselines(lines: readonly MetricsRecord[]): Baseline[] {
  const found = new Map<string, Baseline>();
  for (const line of lines) {
    const { event, baseline: name, items } = line;
    if (event !== 'baseline' || typeof name !== 'string') continue;
    found.set(name, { name, metrics: metricsOf(line), ...(typeof items === 'number' ? { items } : {}) });
  }
  return [...found.values()];
}

/** Adds the name of the metric: that of the outcome, before the end the one that has the best value in the best epoch. */
function describeBest(
  best: RunRecord['best'],
  directory: string,
  lines: readonly MetricsRecord[],
): RunDescription['best'] {
  if (best === null) return null;
  const { metric: known } = (readOutcomeFile(directory)?.['best'] ?? {}) as { readonly metric?: string };
  const line = lines.find(
    ({ event, set, epoch }) => event === 'eval' && set === 'validation' && epoch === best.epoch,
  );
  const equal = Object.entries(metricsOf(line ?? {})).find(([, value]) => value === best.value);
  return { ...best, metric: known ?? equal?.[0] ?? null };
}

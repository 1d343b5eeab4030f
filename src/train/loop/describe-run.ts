/** What a run's directory holds, without opening its table or dataset: task, progress, checkpoints, last metrics. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LayerConfig, loadConfig, type SkeinConfig } from '../config/index.js';
import { RunDirectory } from '../run/index.js';
import { type CheckpointRecord, checkpointNames, readRecord } from './checkpoint.js';

export interface RunDescription {
  readonly kind: 'run';
  readonly directory: string;
  readonly task: string;
  /** Encoder and decoder in a line. */
  readonly model: string;
  readonly dataset: string;
  readonly finished: boolean;
  /** Of the checkpoint that is farthest along; 0 before the first. */
  readonly epochs: number;
  readonly plannedEpochs: number;
  readonly nodes: number;
  readonly best: { readonly epoch: number; readonly value: number } | null;
  /** Names and epochs; '' is the final state. */
  readonly checkpoints: readonly { readonly name: string; readonly epoch: number }[];
  /** The latest evaluation of each set. */
  readonly metrics: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export function isRunDirectory(path: string): boolean {
  return existsSync(join(path, 'full_config.yaml'));
}

export async function describeRun(directory: string): Promise<RunDescription> {
  const { config } = loadConfig(join(directory, 'full_config.yaml'));
  const records: { readonly name: string; readonly record: CheckpointRecord }[] = [];
  for (const name of checkpointNames(directory))
    records.push({ name, record: await readRecord(join(directory, name)) });
  const latest = records.reduce<(typeof records)[number] | null>(
    (best, one) => (best === null || one.record.position.epoch > best.record.position.epoch ? one : best),
    null,
  );
  return {
    kind: 'run',
    directory,
    task: config.model.learning_task,
    model: modelLine(config),
    dataset: config.storage.dataset.dataset_dir,
    finished: RunDirectory.isFinished(directory),
    epochs: latest?.record.position.epoch ?? 0,
    plannedEpochs: config.training.num_epochs,
    nodes: latest?.record.table.rows ?? 0,
    best: latest?.record.best ?? null,
    checkpoints: records.map(({ name, record }) => ({ name, epoch: record.position.epoch })),
    metrics: lastMetrics(join(directory, 'metrics.jsonl')),
  };
}

function modelLine({ model }: SkeinConfig): string {
  const layer = (one: LayerConfig): string =>
    `${one.type === 'GNN' ? one.options.type : one.type} ${one.output_dim}`;
  const stages = model.encoder.layers.map((stage) => stage.map(layer).join(' + '));
  return `${stages.join(' → ')} → ${model.decoder.type}`;
}

const notMetrics = new Set(['epoch', 'seconds']);

/** The last evaluation of every set in a file of metrics. */
export function lastMetrics(path: string): Record<string, Record<string, number>> {
  const found: Record<string, Record<string, number>> = {};
  for (const line of existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []) {
    let record: Readonly<Record<string, unknown>>;
    try {
      record = JSON.parse(line);
    } catch {
      // A run that is being written, or was killed, may end in half a line.
      continue;
    }
    const { event, set, ...values } = record;
    if (event !== 'eval' || typeof set !== 'string') continue;
    found[set] = Object.fromEntries(
      Object.entries(values).flatMap(([name, value]) =>
        typeof value === 'number' && !notMetrics.has(name) ? [[name, value]] : [],
      ),
    );
  }
  return found;
}

/** What the directory of a temporal run holds, without opening its stream: model, progress, checkpoints, last metrics. */
import { join } from 'node:path';
import type { TemporalConfig } from '../../temporal/index.js';
import { lastMetrics, type RunDescription } from '../loop/describe-run.js';
import { RunDirectory } from '../run/index.js';
import { loadTemporalConfig } from './run-config.js';
import { readTemporalRecord, type TemporalRecord, temporalCheckpointNames } from './temporal-checkpoint.js';

export async function describeTemporalRun(directory: string): Promise<RunDescription> {
  const { config } = loadTemporalConfig(join(directory, 'full_config.yaml'));
  const records: { readonly name: string; readonly record: TemporalRecord }[] = [];
  for (const name of temporalCheckpointNames(directory))
    records.push({ name, record: await readTemporalRecord(join(directory, name)) });
  const { name, path } = config.dataset;
  const of = (record: TemporalRecord): number => record.position.epoch;
  return {
    kind: 'run',
    directory,
    task: 'TEMPORAL_LINK_PREDICTION',
    model: modelLine(config.model),
    dataset: path === '' ? name : path,
    finished: RunDirectory.isFinished(directory),
    epochs: Math.max(0, ...records.map(({ record }) => of(record))),
    plannedEpochs: config.model.train.epoch,
    nodes: Math.max(0, ...records.map(({ record }) => record.mailbox?.numNodes ?? 0)),
    best: records.find(({ record }) => record.best !== null)?.record.best ?? null,
    checkpoints: records.map((one) => ({ name: one.name, epoch: of(one.record) })),
    metrics: lastMetrics(join(directory, 'metrics.jsonl')),
  };
}

function modelLine({ sampling, memory, gnn }: TemporalConfig): string {
  const parts = [
    memory.type === 'none' ? 'no memory' : `memory ${memory.dim_out} (${memory.memory_update})`,
    gnn.arch === 'identity'
      ? `identity${gnn.time_transform === 'JODIE' ? ' in time' : ''} ${gnn.dim_out}`
      : `attention ${gnn.dim_out} over ${sampling.neighbor.join(' × ')} ${sampling.strategy} neighbours`,
    ...(gnn.pair_depth > 0 ? [`pairs of the last ${gnn.pair_depth} events`] : []),
  ];
  return parts.join(' → ');
}

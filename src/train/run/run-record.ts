/**
 * What a checkpoint says of its run beside tensors: which task it is, where training was, the best result, what identifies
 * dataset and model. It is one JSON object in the metadata of `model.safetensors`.
 *
 * Version 1 had two forms, one of graphs and one of event streams; both are read.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { loadTensors } from '../../storage/index.js';
import { byNumbers } from '../../util/by-numbers.js';
import { FormatError } from '../../util/errors.js';
import type { RandomState } from '../../util/philox.js';
import type { BestResult, FitState } from '../fit.js';

/** The kinds of tasks that runs have. */
export type TaskKind = 'links' | 'nodes' | 'events';

export interface RunRecord extends FitState {
  readonly version: 2;
  readonly task: TaskKind;
  readonly seed: number;
  /** What a run must have in common with the one that was saved, by name. */
  readonly identity: Readonly<Record<string, unknown>>;
  /** How validation was evaluated: results compare only when it is the same. */
  readonly evaluatedBy: string | null;
  /** Where the run began: 0, or the epoch of the checkpoint that it started from. */
  readonly firstEpoch: number;
  readonly random: RandomState;
  /** Of the task: table, memory. */
  readonly state: Readonly<Record<string, unknown>>;
}

export const modelFile = 'model.safetensors';

/** Names of the checkpoints of a run; '' is its final state. */
export function checkpointNames(directory: string): string[] {
  const entries = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  folders.sort(byNumbers);
  return ['', ...folders].filter(
    (name) => /^(|last|best|checkpoint_\d+)$/.test(name) && existsSync(join(directory, name, modelFile)),
  );
}

/** The record of a checkpoint folder; nothing is restored. */
export async function readRecord(folder: string): Promise<RunRecord> {
  const path = join(folder, modelFile);
  const { metadata } = await loadTensors(path);
  return parseRecord(path, metadata['skein.checkpoint']);
}

function parseRecord(path: string, text: string | undefined): RunRecord {
  let extra: unknown = null;
  try {
    extra = (JSON.parse(text ?? 'null') as { readonly extra?: unknown } | null)?.extra ?? null;
  } catch {
    // Falls through to the one message for all that is not a checkpoint of a run.
  }
  const record = asRecord(extra);
  if (record !== null) return record;
  throw new FormatError(`${path}: expected a checkpoint of a training run, got another file.`, { path });
}

/** The record that a checkpoint's `extra` is; null when it is none. */
export function asRecord(extra: unknown): RunRecord | null {
  const { version, kind, position } = (extra ?? {}) as Partial<VersionOneEvents & { version: number }>;
  if (typeof position?.epoch !== 'number') return null;
  if (version === 2) return extra as RunRecord;
  if (version !== 1) return null;
  return kind === 'temporal'
    ? fromEvents(extra as VersionOneEvents)
    : fromGraph(extra as unknown as VersionOneGraph);
}

/** The checkpoint that is farthest along; null when there is none. */
export async function latestCheckpoint(
  directory: string,
): Promise<{ readonly name: string; readonly record: RunRecord } | null> {
  let latest: { name: string; record: RunRecord } | null = null;
  for (const name of checkpointNames(directory)) {
    if (name === 'best') continue;
    const record = await readRecord(join(directory, name));
    const { epoch, step } = record.position;
    const before = latest?.record.position;
    // The final state comes first in the list, and is that of the best epoch: one of training as far along goes before it.
    if (before === undefined || epoch > before.epoch || (epoch === before.epoch && step >= before.step))
      latest = { name, record };
  }
  return latest;
}

interface VersionOneGraph {
  readonly version: 1;
  readonly position: { readonly epoch: number; readonly step: number };
  readonly firstEpoch: number;
  readonly table: unknown;
  readonly rowOptimizer: unknown;
  readonly random: RandomState;
  readonly best: BestResult | null;
  readonly stale: number;
  readonly learningTask: string;
  readonly seed: number;
  readonly identity: Readonly<Record<string, unknown>>;
  readonly progress: FitState['progress'];
}

function fromGraph(old: VersionOneGraph): RunRecord {
  const { position, firstEpoch, random, best, stale, seed, identity, progress } = old;
  const { table, rowOptimizer } = old;
  return {
    version: 2,
    task: old.learningTask === 'NODE_CLASSIFICATION' ? 'nodes' : 'links',
    ...{ position, firstEpoch, random, best, stale, seed, identity, progress },
    validation: {},
    evaluatedBy: null,
    state: { table, rowOptimizer, evaluationEpoch: position.epoch },
  };
}

interface VersionOneEvents {
  readonly kind: 'temporal';
  readonly stage: string;
  readonly position: { readonly epoch: number; readonly step: number };
  readonly best: BestResult | null;
  readonly judged: string;
  readonly stale: number;
  readonly events: number;
  readonly loss: number;
  readonly random: RandomState;
  readonly mailbox: unknown;
  readonly validation: FitState['validation'];
  readonly stream: string;
  readonly modelShape: string;
  readonly batches: string;
}

function fromEvents(old: VersionOneEvents): RunRecord {
  const { position, random, best, stale, validation, stream, modelShape, batches } = old;
  const { training } = JSON.parse(batches) as { readonly training: { readonly random_seed: number } };
  return {
    version: 2,
    task: 'events',
    ...{ position, random, best, stale, validation },
    firstEpoch: 0,
    seed: training.random_seed,
    identity: { stream, model: modelShape, batches },
    evaluatedBy: old.judged,
    progress: { batches: position.step, items: old.events, loss: old.loss },
    state: { mailbox: old.mailbox, stage: old.stage },
  };
}

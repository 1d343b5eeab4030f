/**
 * The record of a run in a checkpoint: the task, the position of training, the best result, and what identifies dataset and
 * model. It is one JSON object in the metadata of `model.safetensors`.
 *
 * Version 1 had two forms, one of graphs and one of event streams; both are read.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { loadTensors } from '../../storage/index.js';
import { checkManifest, type TableManifest } from '../../storage/table-manifest.js';
import { describe, FormatError, SkeinError } from '../../util/errors.js';
import { compareNaturally } from '../../util/natural-order.js';
import type { RandomState } from '../../util/philox.js';
import type { BestResult, FitState } from '../fit.js';

/** The kinds of tasks that runs have. */
export type TaskKind = 'links' | 'nodes' | 'events';

export interface RunRecord extends FitState {
  readonly version: 2;
  readonly task: TaskKind;
  readonly seed: number;
  /** Properties that a resumed run must share with the saved one, by name. */
  readonly identity: Readonly<Record<string, unknown>>;
  /** How validation was evaluated; results are comparable only if it is the same. */
  readonly evaluatedBy: string | null;
  /** First epoch of the run: 0, or that of the checkpoint that it started from. */
  readonly firstEpoch: number;
  readonly random: RandomState;
  /** State of the task: table, memory. */
  readonly state: Readonly<Record<string, unknown>>;
}

export const modelFile = 'model.safetensors';

/** Returns the names of the checkpoints of a run; '' is its final state. */
export function checkpointNames(directory: string): string[] {
  const entries = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  folders.sort(compareNaturally);
  return ['', ...folders].filter(
    (name) => /^(|last|best|checkpoint_\d+)$/.test(name) && existsSync(join(directory, name, modelFile)),
  );
}

/** Reads the record of a checkpoint folder without restoring anything. */
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
    // Falls through to the message for everything that is not a checkpoint of a run.
  }
  return asRecord(path, extra);
}

/** Returns the record in the `extra` of the checkpoint in `path`; throws if it is missing or was changed. */
export function asRecord(path: string, extra: unknown): RunRecord {
  const { version, kind, position } = (extra ?? {}) as Partial<VersionOneEvents & { version: number }>;
  if (typeof position?.epoch !== 'number' || (version !== 1 && version !== 2))
    throw new FormatError(`${path}: expected a checkpoint of a training run, got another file.`, { path });
  if (version === 2) return checkRecord(path, extra as RunRecord);
  const old = extra as unknown;
  return checkRecord(
    path,
    kind === 'temporal' ? fromEvents(old as VersionOneEvents) : fromGraph(old as VersionOneGraph),
  );
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/** Throws for a record that no run can have written, before anything is restored from it. */
function checkRecord(path: string, record: RunRecord): RunRecord {
  const { position, progress, best, state, random, plateau } = record;
  const check = (fits: boolean, what: string, key: string, got: unknown): void => {
    if (fits) return;
    const advice = 'The checkpoint is damaged or was changed; use another.';
    throw new FormatError(`${path}: expected ${what} for ${key}, got ${describe(got)}. ${advice}`, {
      path,
      key,
    });
  };
  for (const [key, value] of Object.entries(position))
    check(isCount(value), 'a whole number of at least 0', `position.${key}`, value);
  check(isObject(progress), 'batches, items and loss', 'progress', progress);
  // Both must be of the same epoch.
  check(position.step <= progress.batches, `at most ${progress.batches}`, 'position.step', position.step);
  check(best === null || isCount(best?.epoch), 'null, or epoch and value', 'best', best);
  check(
    plateau === undefined ||
      (isObject(plateau) && typeof plateau.rate === 'number' && isCount(plateau.badSteps)),
    'rate and badSteps',
    'plateau',
    plateau,
  );
  check(isCount(record.stale), 'a whole number of at least 0', 'stale', record.stale);
  check(isObject(record.identity), 'an object', 'identity', record.identity);
  check(isObject(random) && Array.isArray(random.key), 'key and position', 'random', random);
  check(isObject(state), 'the state of the task', 'state', state);
  if (record.task !== 'events') checkTable(path, state['table']);
  return record;
}

function checkTable(path: string, table: unknown): void {
  if (table === null || table === undefined) return;
  try {
    checkManifest(table as TableManifest);
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    throw new FormatError(`${path}: expected a table for state.table, got another: ${error.message}`, {
      path,
    });
  }
}

/** A checkpoint of a run; the name of the final state is ''. */
export interface NamedRecord {
  readonly name: string;
  readonly record: RunRecord;
}

/** Reads the records of all checkpoints of a run. */
export async function readAllRecords(directory: string): Promise<NamedRecord[]> {
  const records: NamedRecord[] = [];
  for (const name of checkpointNames(directory))
    records.push({ name, record: await readRecord(join(directory, name)) });
  return records;
}

/** Returns the checkpoint that is farthest in training, or null if there is none. */
export async function latestCheckpoint(directory: string): Promise<NamedRecord | null> {
  return latestOf(await readAllRecords(directory));
}

/**
 * Returns the checkpoint that stands for a run without a final state: that of the best epoch, which the run would test if it
 * ended now, or else the latest.
 *
 * @param restoresBest whether the end of the run restores the best epoch.
 */
export function standingCheckpoint(
  records: readonly NamedRecord[],
  restoresBest: boolean,
): NamedRecord | null {
  const latest = latestOf(records);
  const best = records.find(({ name }) => name === 'best');
  if (best === undefined || !restoresBest) return latest;
  if (latest === null) return best;
  // A best epoch that a resumed run no longer compares with is not that of the latest checkpoint.
  const { epoch } = best.record.position;
  const isCurrent = epoch > latest.record.position.epoch || epoch === latest.record.best?.epoch;
  return isCurrent ? best : latest;
}

function latestOf(records: readonly NamedRecord[]): NamedRecord | null {
  let latest: NamedRecord | null = null;
  for (const { name, record } of records) {
    if (name === 'best') continue;
    const { epoch, step } = record.position;
    const before: RunRecord['position'] | undefined = latest?.record.position;
    // The final state comes first in the list and is that of the best epoch: a training checkpoint at the same position is preferred.
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

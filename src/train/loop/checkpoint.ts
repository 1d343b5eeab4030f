/**
 * Checkpoints of a run: one file with the dense parameters, their optimisers and everything else as JSON, among it the
 * manifest of the node table's versions. Nothing of the table is copied: its files stay as long as a checkpoint names them.
 *
 * A checkpoint is complete or not there: the table is made durable first, then the file replaces its predecessor. Loading
 * checks the file's own checksum here and the checksum of every partition when it is read.
 */
import { existsSync, readdirSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SelfCommunicator, WorkerGroup } from '../../dist/index.js';
import { writeFileAtomic } from '../../storage/atomic-file.js';
import { loadTensors, type RowOptimizerState, type TableManifest } from '../../storage/index.js';
import { randomState, setRandomState } from '../../tensor/index.js';
import { FormatError, StateError } from '../../util/errors.js';
import type { RandomState } from '../../util/philox.js';
import type { BatcherPosition } from '../batch/graph-batcher.js';
import type { RunTable } from '../batch/node-table.js';
import type { Model } from '../model/model.js';
import type { RunIdentity } from './run-identity.js';

/** The best evaluation so far. */
export interface BestResult {
  readonly epoch: number;
  readonly value: number;
}

/** What an epoch that is under way has done. */
export interface EpochProgress {
  readonly batches: number;
  readonly items: number;
  readonly loss: number;
}

/** What a checkpoint holds beside tensors. */
export interface CheckpointRecord {
  readonly version: 1;
  readonly position: BatcherPosition;
  /** Where the run began: 0, or the epoch of the checkpoint that it started from. */
  readonly firstEpoch: number;
  readonly table: TableManifest;
  readonly rowOptimizer: RowOptimizerState | null;
  readonly random: RandomState;
  readonly best: BestResult | null;
  /** Evaluations without improvement. */
  readonly stale: number;
  readonly learningTask: string;
  readonly seed: number;
  readonly identity: RunIdentity;
  /** Of the epoch under way. */
  readonly progress: EpochProgress;
}

export const modelFile = 'model.safetensors';

/** Where a run's table lies. */
export function tableFolder(directory: string): string {
  return join(directory, 'table');
}

export class Checkpoints {
  readonly directory: string;
  readonly #model: Model;
  readonly #table: RunTable;
  readonly #group: WorkerGroup;

  /** Collective, with several workers: all save and restore, and rank 0 writes what is not a part of the table. */
  constructor(
    directory: string,
    model: Model,
    table: RunTable,
    group = new WorkerGroup({ comm: new SelfCommunicator() }),
  ) {
    this.directory = directory;
    this.#model = model;
    this.#table = table;
    this.#group = group;
  }

  /** Saves under each of the names ('' is the run itself); earlier ones of these names are replaced. */
  async save(
    names: readonly string[],
    rest: Omit<CheckpointRecord, 'version' | 'table' | 'rowOptimizer' | 'random'>,
  ): Promise<void> {
    const table = await this.#table.checkpoint();
    const record: CheckpointRecord = {
      version: 1,
      table,
      rowOptimizer: this.#table.optimizer?.state() ?? null,
      random: randomState(),
      ...rest,
    };
    await this.#group.onRoot(async () => {
      for (const name of names) {
        const folder = join(this.directory, name);
        await mkdir(folder, { recursive: true });
        await this.#model.save(folder, record);
      }
    });
    await this.#table.removeUnreferenced(await this.#group.onRoot(() => this.#manifests()));
  }

  /** Puts model, optimisers and random numbers back; the table was opened with the record's manifest. */
  async restore(name: string): Promise<CheckpointRecord> {
    const record = await this.#group.everywhere(async () => {
      const saved = await this.#model.load<CheckpointRecord>(join(this.directory, name));
      if (saved.rowOptimizer !== null) this.#table.optimizer?.restore(saved.rowOptimizer);
      return saved;
    });
    setRandomState(record.random);
    return record;
  }

  async #manifests(): Promise<TableManifest[]> {
    const found: TableManifest[] = [];
    for (const name of checkpointNames(this.directory)) {
      const record = await readRecord(join(this.directory, name));
      found.push(record.table);
    }
    return found;
  }
}

/** Names of a run's checkpoints; '' is its final state. */
export function checkpointNames(directory: string): string[] {
  const folders = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
  const named = folders
    .filter((entry) => entry.isDirectory() && /^(last|best|checkpoint_\d+)$/.test(entry.name))
    .map((entry) => entry.name)
    .filter((name) => existsSync(join(directory, name, modelFile)));
  return existsSync(join(directory, modelFile)) ? ['', ...named] : named;
}

/** The record of a checkpoint folder, without its tensors being applied. */
export async function readRecord(folder: string): Promise<CheckpointRecord> {
  const path = join(folder, modelFile);
  const { metadata } = await loadTensors(path);
  try {
    const { extra } = JSON.parse(metadata['skein.checkpoint'] ?? 'null') as { extra: CheckpointRecord };
    if (extra.version === 1 && typeof extra.position.epoch === 'number') return extra;
  } catch {
    // Falls through to the one message for all that is not a run's checkpoint.
  }
  throw new FormatError(`${path}: expected a checkpoint of a training run, got another file.`, { path });
}

/** The checkpoint of a run that is farthest along; null when there is none. */
export async function latestCheckpoint(
  directory: string,
): Promise<{ readonly name: string; readonly record: CheckpointRecord } | null> {
  let latest: { name: string; record: CheckpointRecord } | null = null;
  for (const name of checkpointNames(directory)) {
    if (name === 'best') continue;
    const record = await readRecord(join(directory, name));
    if (latest === null || isLater(record.position, latest.record.position)) latest = { name, record };
  }
  return latest;
}

function isLater(a: BatcherPosition, b: BatcherPosition): boolean {
  return a.epoch !== b.epoch ? a.epoch > b.epoch : a.step > b.step;
}

/** Copies a checkpoint (a folder of one, or a run's) with its table into a new run, as the state to go on from. */
export async function adoptCheckpoint(from: string, to: string): Promise<CheckpointRecord> {
  const direct = existsSync(join(from, modelFile));
  const latest = direct ? null : await latestCheckpoint(from);
  if (!direct && latest === null)
    throw new StateError(
      `training.resume_from_checkpoint: expected a run or a checkpoint in ${from}, got neither. Name the directory of a run, or its last, best or checkpoint_<epoch>.`,
    );
  const folder = direct ? from : join(from, latest?.name ?? '');
  const record = await readRecord(folder);
  const run = existsSync(tableFolder(folder)) ? folder : join(folder, '..');
  await mkdir(tableFolder(to), { recursive: true });
  for (const kind of ['writable', 'fixed'] as const) {
    for (const [k, { version }] of record.table[kind].entries()) {
      const name = `${kind}-${String(k).padStart(5, '0')}.v${version}.bin`;
      await copyFile(join(tableFolder(run), name), join(tableFolder(to), name));
    }
  }
  await mkdir(join(to, 'last'), { recursive: true });
  const { readFile } = await import('node:fs/promises');
  await writeFileAtomic(join(to, 'last', modelFile), await readFile(join(folder, modelFile)));
  return record;
}

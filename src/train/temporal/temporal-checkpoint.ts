/**
 * Checkpoints of a temporal run: parameters, optimiser, memory and mail, random numbers and the place in the stream, in one
 * file with one checksum, so that they always belong together. What comes after a restore has the bits that it would have had.
 */
import { existsSync, readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkerGroup } from '../../dist/index.js';
import type { Adam } from '../../nn/index.js';
import { loadCheckpoint, loadCheckpointState, saveCheckpoint } from '../../storage/index.js';
import type { GeneralModel, MailBoxSnapshot, SharedMailBox } from '../../temporal/index.js';
import { randomState, setRandomState, type Tensor, tensor } from '../../tensor/index.js';
import { FormatError, StateError } from '../../util/errors.js';
import type { RandomState } from '../../util/philox.js';
import type { Metrics } from '../loop/evaluator.js';

export interface TemporalPosition {
  readonly epoch: number;
  /** Batches done in it. */
  readonly step: number;
}

export interface TemporalRecord {
  readonly kind: 'temporal';
  readonly version: 1;
  /** Where memory stands: in training, after validation, or at the end of the stream. */
  readonly stage: 'training' | 'validated' | 'finished';
  readonly position: TemporalPosition;
  readonly best: { readonly epoch: number; readonly value: number } | null;
  /** How `best` was judged: results of other negatives do not compare. */
  readonly judged: string;
  /** Evaluations without improvement. */
  readonly stale: number;
  /** Of the epoch under way. */
  readonly events: number;
  readonly loss: number;
  readonly random: RandomState;
  /** The mailbox without its arrays; null without memory. */
  readonly mailbox: Omit<MailBoxSnapshot, 'arrays'> | null;
  /** Of the last epoch that was validated. */
  readonly validation: Metrics;
  readonly stream: string;
  readonly modelShape: string;
  /** How an epoch is cut into batches and what is drawn in it: its middle means nothing otherwise. */
  readonly batches: string;
}

export const temporalModelFile = 'model.safetensors';

export class TemporalCheckpoints {
  readonly #directory: string;
  readonly #parts: { readonly model: GeneralModel; readonly optimizer: Adam };
  readonly #mailbox: SharedMailBox | null;
  readonly #group: WorkerGroup | null;

  /** @param group the workers whose state it is; the first of them writes, all read. */
  constructor(
    directory: string,
    { model, optimizer, mailbox }: { model: GeneralModel; optimizer: Adam; mailbox: SharedMailBox | null },
    group: WorkerGroup | null = null,
  ) {
    this.#group = group;
    this.#directory = directory;
    this.#parts = { model, optimizer };
    this.#mailbox = mailbox;
  }

  /** Saves under each of the names; '' is the run itself. */
  async save(
    names: readonly string[],
    rest: Omit<TemporalRecord, 'kind' | 'version' | 'random' | 'mailbox'>,
  ): Promise<void> {
    const snapshot = this.#mailbox?.snapshot() ?? null;
    const { arrays = {}, ...mailbox } = snapshot ?? {};
    const state = Object.fromEntries(
      Object.entries(arrays).map(([name, array]) => [`mailbox.${name}`, asTensor(array)]),
    );
    const record: TemporalRecord = {
      ...{ kind: 'temporal', version: 1, random: randomState() },
      ...rest,
      mailbox: snapshot === null ? null : (mailbox as Omit<MailBoxSnapshot, 'arrays'>),
    };
    const write = async (): Promise<void> => {
      for (const name of names) {
        const folder = join(this.#directory, name);
        await mkdir(folder, { recursive: true });
        await saveCheckpoint(join(folder, temporalModelFile), { ...this.#parts, state }, record);
      }
    };
    await (this.#group === null ? write() : this.#group.onRoot(write));
  }

  /** Becomes what the checkpoint was saved of. */
  restore(name: string): Promise<TemporalRecord> {
    return this.#group === null ? this.#restore(name) : this.#group.everywhere(() => this.#restore(name));
  }

  async #restore(name: string): Promise<TemporalRecord> {
    const path = join(this.#directory, name, temporalModelFile);
    const { state } = await loadCheckpointState(path);
    const record = await loadCheckpoint<TemporalRecord>(path, this.#parts);
    if ((record.mailbox === null) !== (this.#mailbox === null))
      throw new StateError(
        `${path}: expected a checkpoint ${this.#mailbox === null ? 'without' : 'with'} memory, got one ${this.#mailbox === null ? 'with' : 'without'}. Use the configuration of the run.`,
      );
    if (record.mailbox !== null) {
      const arrays = Object.fromEntries(
        Object.entries(state).map(([key, t]) => [key.replace(/^mailbox\./, ''), t.dataSync()]),
      );
      this.#mailbox?.restore({ ...record.mailbox, arrays } as MailBoxSnapshot);
    }
    setRandomState(record.random);
    return record;
  }
}

function asTensor(array: MailBoxSnapshot['arrays'][string]): Tensor {
  const dtype = array instanceof Float32Array ? 'f32' : array instanceof Float64Array ? 'f64' : 'i32';
  return tensor(array as Float32Array, { shape: [array.length], dtype });
}

/** The record of a checkpoint folder. */
export async function readTemporalRecord(folder: string): Promise<TemporalRecord> {
  const path = join(folder, temporalModelFile);
  const { extra } = await loadCheckpointState<TemporalRecord | null>(path);
  if (extra?.kind === 'temporal' && extra.version === 1) return extra;
  throw new FormatError(`${path}: expected a checkpoint of a temporal run, got another file.`, { path });
}

/** Names of a run's checkpoints; '' is its final state. */
export function temporalCheckpointNames(directory: string): string[] {
  const entries = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return ['', ...names].filter(
    (name) => /^(|last|best)$/.test(name) && existsSync(join(directory, name, temporalModelFile)),
  );
}

/**
 * The checkpoint that is farthest along; null when there is none. The final state is that of the best epoch, so one from
 * training goes before it when it has come as far.
 */
export async function latestTemporal(
  directory: string,
): Promise<{ readonly name: string; readonly record: TemporalRecord } | null> {
  let latest: { name: string; record: TemporalRecord } | null = null;
  for (const name of temporalCheckpointNames(directory)) {
    if (name === 'best') continue;
    const record = await readTemporalRecord(join(directory, name));
    const { epoch, step } = record.position;
    const before = latest?.record.position;
    if (before === undefined || epoch > before.epoch || (epoch === before.epoch && step >= before.step))
      latest = { name, record };
  }
  return latest;
}

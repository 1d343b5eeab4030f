/**
 * Checkpoints of a run: parameters, optimiser, the state of the task and the record of the run, in one file with one
 * checksum, so that they cannot be mixed up. A table is not copied: its files stay as long as a checkpoint refers to them.
 *
 * A checkpoint is complete or absent: the state is made durable first, then the file replaces its predecessor.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkerGroup } from '../../dist/index.js';
import { loadCheckpoint, saveCheckpoint } from '../../storage/index.js';
import { loadCheckpointState } from '../../storage/safetensors-file.js';
import { randomState, setRandomState } from '../../tensor/index.js';
import type { Durable } from '../task.js';
import { asRecord, checkpointNames, modelFile, type RunRecord, readRecord } from './run-record.js';

export class Checkpoints {
  readonly directory: string;
  readonly #task: Durable;
  readonly #group: WorkerGroup | null;

  /** @param group the workers that share the state: all of them save and restore, rank 0 writes the file. */
  constructor(directory: string, task: Durable, group: WorkerGroup | null = null) {
    this.directory = directory;
    this.#task = task;
    this.#group = group;
  }

  /** Saves under each of the names ('' is the run itself), replacing earlier checkpoints of these names. */
  async save(names: readonly string[], rest: Omit<RunRecord, 'version' | 'random' | 'state'>): Promise<void> {
    const { model, optimizer } = this.#task;
    const { tensors, state } = await this.#task.snapshot();
    const record: RunRecord = { version: 2, ...rest, random: randomState(), state };
    const parts = { model, ...(optimizer === null ? {} : { optimizer }), state: tensors };
    await this.#onRoot(async () => {
      for (const name of names) {
        const folder = join(this.directory, name);
        await mkdir(folder, { recursive: true });
        await saveCheckpoint(join(folder, modelFile), parts, record);
      }
    });
    await this.prune();
  }

  /** Removes files of the task's state that no checkpoint refers to: earlier versions, and leftovers of an interrupted run. */
  async prune(): Promise<void> {
    if (this.#task.prune !== undefined) await this.#task.prune(await this.#onRoot(() => this.#states()));
  }

  /**
   * Restores the task from a checkpoint.
   *
   * @param trains whether training continues; otherwise the checkpoint may have no state of the optimiser.
   */
  async restore(name: string, { trains = true } = {}): Promise<RunRecord> {
    const { model } = this.#task;
    const optimizer = trains ? this.#task.optimizer : null;
    const path = join(this.directory, name, modelFile);
    const { record, tensors } = await this.#everywhere(async () => {
      const parts = { model, ...(optimizer === null ? {} : { optimizer }) };
      const { state } = await loadCheckpointState(path);
      return { record: asRecord(path, await loadCheckpoint(path, parts)), tensors: state };
    });
    await this.#task.restore({ tensors, state: record.state });
    setRandomState(record.random);
    return record;
  }

  async #states(): Promise<RunRecord['state'][]> {
    const found: RunRecord['state'][] = [];
    for (const name of checkpointNames(this.directory))
      found.push((await readRecord(join(this.directory, name))).state);
    return found;
  }

  #onRoot<T>(work: () => Promise<T>): Promise<T> {
    return this.#group === null ? work() : this.#group.onRoot(work);
  }

  #everywhere<T>(work: () => Promise<T>): Promise<T> {
    return this.#group === null ? work() : this.#group.onEveryRank(work);
  }
}

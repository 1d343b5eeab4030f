/** Tells checkpoints of this run from those of other runs with the same model and dataset: a run keeps its seed. */
import { StateError } from '../../util/errors.js';
import type { RunRecord } from './run-record.js';

export function checkSeed(folder: string, record: RunRecord, key: string, seed: number): void {
  if (record.seed === seed) return;
  throw new StateError(
    `${folder}: expected ${record.seed} for ${key}, with which it was trained, got ${seed}. Leave it at ${record.seed}; if the checkpoint is of another run, put the right one back, or train again in another directory.`,
    { path: folder },
  );
}

/** The properties of a run that identify its checkpoints. */
interface Owner {
  readonly seed: number;
  readonly seedKey: string;
  check(folder: string, record: RunRecord): void;
}

/** Throws for a checkpoint of another run, dataset or model. */
export function checkOwn(owner: Owner, folder: string, record: RunRecord): void {
  checkSeed(folder, record, owner.seedKey, owner.seed);
  owner.check(folder, record);
}

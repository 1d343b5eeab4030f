/** Packs trained models into files that open anywhere. */
import { type PackedRun, packRun } from '../train/pack-run.js';
import { runPath } from './open-model.js';

/**
 * Packs a model into one file with all that it needs to answer: the model without the state of its optimisers, and what it
 * reads of its dataset. `openModel` and every command of `skein` that takes a run open the file.
 *
 * @param path as for `openModel`.
 * @param file the file to write, which ends in .tgz; an existing one is replaced.
 *
 * @example
 * await packModel('runs/first', 'model.tgz');
 * const model = await openModel('model.tgz');
 */
export async function packModel(path: string, file: string): Promise<PackedRun> {
  return packRun(runPath(path), file, { command: 'packModel' });
}

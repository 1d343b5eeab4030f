/** Whether a checkpoint belongs to a run: the same stream and split, the same model and, amid an epoch, the same batches. */
import { StateError } from '../../util/errors.js';
import { differences } from '../run/differences.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';
import type { TemporalRecord } from './temporal-checkpoint.js';

/** What of a model must be the same to go on with its parameters. */
export function modelShape({ model: { sampling, memory, gnn } }: TemporalRunConfig): string {
  return JSON.stringify({ sampling, memory, gnn });
}

/** How its epochs are cut into batches and what is drawn for them. */
export function batchesOf({ model: { train }, training, distributed }: TemporalRunConfig): string {
  const { batch_size, reorder } = train;
  const { random_seed, negatives, tie_groups } = training;
  const all = { train: { batch_size, reorder }, training: { random_seed, negatives, tie_groups } };
  if (distributed === null) return JSON.stringify(all);
  // The number of workers is not among them: with exact it plays no part.
  const { consistency, chunks } = distributed.temporal;
  return JSON.stringify({ ...all, distributed: { temporal: { consistency, chunks } } });
}

/** Refuses a checkpoint of another stream or model, and one from amid an epoch of other batches. */
export function checkTemporalRecord(
  folder: string,
  record: TemporalRecord,
  config: TemporalRunConfig,
  stream: OpenedStream,
): void {
  // The seed decides which nodes are held out, so it goes before the stream.
  const seed = (JSON.parse(record.batches) as { training: { random_seed: number } }).training.random_seed;
  if (seed !== config.training.random_seed)
    throw new StateError(
      `${folder}: expected ${seed} for training.random_seed, with which it was trained, got ${config.training.random_seed}. Leave it at ${seed}, or train anew in another directory.`,
    );
  if (record.stream !== stream.fingerprint)
    throw new StateError(
      `${folder}: expected the stream that it was trained on (${record.stream}), got one with ${stream.fingerprint}. Use that dataset, or train anew.`,
    );
  const changed = (was: string, is: string): string =>
    differences(JSON.parse(was), JSON.parse(is)).join(', ');
  if (record.modelShape !== modelShape(config))
    throw new StateError(
      `${folder}: expected the model that it was trained as, got another: ${changed(record.modelShape, modelShape(config))}. Use the configuration of the run (full_config.yaml).`,
    );
  if (record.position.step > 0 && record.batches !== batchesOf(config))
    throw new StateError(
      `${folder}: expected the batches of the epoch that it was saved in, got others: ${changed(record.batches, batchesOf(config))}. Change them between epochs, or train anew.`,
    );
}

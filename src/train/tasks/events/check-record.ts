/** Whether a checkpoint belongs to a run: the same stream and split, the same model and, within an epoch, the same batches. */
import { StateError } from '../../../util/errors.js';
import { otherPlugin, type PluginRecord } from '../../config/plugin-record.js';
import { checkSeed } from '../../run/check-seed.js';
import { differences } from '../../run/differences.js';
import type { RunRecord } from '../../run/run-record.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

/** What a checkpoint says of the run that it belongs to; a type, so that it is one of the records of any run. */
export type EventIdentity = {
  /** Tells one stream from another. */
  readonly stream: string;
  /** What of a model must be the same to resume with its parameters. */
  readonly model: string;
  /** How an epoch is cut into batches and what is drawn in it: its middle means nothing otherwise. */
  readonly batches: string;
  /** The modules that its kind of model came from; absent where there are none. */
  readonly plugins?: readonly PluginRecord[];
};

export function eventIdentity(config: TemporalRunConfig, { fingerprint }: OpenedStream): EventIdentity {
  return {
    stream: fingerprint,
    model: JSON.stringify(modelIdentity(config)),
    batches: batchesOf(config),
    ...(config.plugins.length === 0 ? {} : { plugins: config.plugins }),
  };
}

function modelIdentity({ model: { kind, options, sections } }: TemporalRunConfig): object {
  if (sections === null) return { model: { kind, ...options } };
  const { sampling, memory, gnn } = sections;
  return { sampling, memory, gnn };
}

function batchesOf({ model: { train }, training, distributed }: TemporalRunConfig): string {
  const { batch_size, reorder } = train;
  const { random_seed, negatives, tie_groups } = training;
  const all = { train: { batch_size, reorder }, training: { random_seed, negatives, tie_groups } };
  if (distributed === null) return JSON.stringify(all);
  // The number of workers is not among them: with exact consistency it does not matter.
  const { consistency, chunks } = distributed.temporal;
  return JSON.stringify({ ...all, distributed: { temporal: { consistency, chunks } } });
}

/** Refuses a checkpoint of another stream or model, and one from within an epoch of other batches. */
export function checkEventRecord(
  folder: string,
  record: RunRecord,
  config: TemporalRunConfig,
  stream: OpenedStream,
): void {
  const saved = record.identity as unknown as EventIdentity;
  const now = eventIdentity(config, stream);
  // The seed decides which nodes are held out, so it goes before the stream.
  checkSeed(folder, record, 'training.random_seed', config.training.random_seed);
  if (saved.stream !== now.stream) {
    const { path, name } = config.dataset;
    throw new StateError(
      `${folder}: expected the stream that it was trained on (${saved.stream}), got ${path === '' ? name : path} with ${now.stream}. Use that dataset, or train a new run.`,
    );
  }
  const changed = (was: string, is: string): string =>
    differences(JSON.parse(was), JSON.parse(is)).join(', ');
  if (saved.model !== now.model)
    throw new StateError(
      `${folder}: expected the model that it was trained as, got another: ${changed(saved.model, now.model)}. Use the configuration of the run (full_config.yaml).`,
    );
  const [before, after] = [saved.plugins?.[0], now.plugins?.[0]];
  // A kind that a program registers has no file to compare.
  if (before !== undefined && after !== undefined && before.sha256 !== after.sha256)
    throw otherPlugin(folder, before, after);
  if (record.position.step > 0 && saved.batches !== now.batches)
    throw new StateError(
      `${folder}: expected the batches of the epoch that it was saved in, got others: ${changed(saved.batches, now.batches)}. Change them between epochs, or train a new run.`,
    );
}

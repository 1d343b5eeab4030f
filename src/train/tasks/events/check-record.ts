/** Checks that a checkpoint belongs to a run: same stream and splits, same model and, within an epoch, same batches. */
import { StateError } from '../../../util/errors.js';
import { otherPlugin, type PluginRecord } from '../../config/plugin-record.js';
import { checkSeed } from '../../run/check-seed.js';
import { differences } from '../../run/differences.js';
import type { RunRecord } from '../../run/run-record.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

/** The identity of a run in its checkpoints. A type alias, not an interface, so that it is assignable to `RunRecord`'s. */
export type EventIdentity = {
  /** The fingerprint of the stream. */
  readonly stream: string;
  /** The options that must be equal to resume with the model's parameters. */
  readonly model: string;
  /** The options that determine the batches of an epoch and their negatives; must be equal to resume within an epoch. */
  readonly batches: string;
  /** The plugin that registered the kind of model; absent if there is none. */
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
  const { random_seed, negatives, tie_groups, historical_negatives } = training;
  // A default is left out, so that checkpoints from before the key still match.
  const historical = historical_negatives === 0 ? {} : { historical_negatives };
  const all = {
    ...{ train: { batch_size, reorder }, training: { random_seed, negatives, tie_groups, ...historical } },
  };
  if (distributed === null) return JSON.stringify(all);
  // The number of workers is not included: with exact consistency it has no effect.
  const { consistency, chunks } = distributed.temporal;
  return JSON.stringify({ ...all, distributed: { temporal: { consistency, chunks } } });
}

/** Throws for a checkpoint of another stream or model, and for one within an epoch of other batches. */
export function checkEventRecord(
  folder: string,
  record: RunRecord,
  config: TemporalRunConfig,
  stream: OpenedStream,
): void {
  const saved = record.identity as unknown as EventIdentity;
  const now = eventIdentity(config, stream);
  // Checked before the stream, because the seed determines which nodes are held out.
  checkSeed(folder, record, 'training.random_seed', config.training.random_seed);
  if (saved.stream !== now.stream) {
    const { path, name } = config.dataset;
    throw new StateError(
      `${folder}: expected the stream that it was trained on (${saved.stream}), got ${path === '' ? name : path} with ${now.stream}. Use the original dataset, or train a new run.`,
    );
  }
  const changed = (was: string, is: string): string =>
    differences(JSON.parse(was), JSON.parse(is)).join(', ');
  if (saved.model !== now.model)
    throw new StateError(
      `${folder}: expected the model that was trained, got a different one: ${changed(saved.model, now.model)}. Use the configuration of the run (full_config.yaml).`,
    );
  const [before, after] = [saved.plugins?.[0], now.plugins?.[0]];
  // A kind that a program registered has no file to compare.
  if (before !== undefined && after !== undefined && before.sha256 !== after.sha256)
    throw otherPlugin(folder, before, after);
  if (record.position.step > 0 && saved.batches !== now.batches)
    throw new StateError(
      `${folder}: expected the batches of the epoch in which it was saved, got different ones: ${changed(saved.batches, now.batches)}. Change them between epochs, or train a new run.`,
    );
}

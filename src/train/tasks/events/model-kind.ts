/** The kind of model that a run names: found, or missed with what to do; and what it cannot do, refused by name. */

import type { TemporalModelKind } from '../../../temporal/index.js';
import type { TemporalPlace } from '../../../temporal/models/model-kind.js';
import { findTemporalModel, temporalModelKinds } from '../../../temporal/models/registry.js';
import { ConfigError, expected, StateError } from '../../../util/errors.js';
import type { Settings, ValuesOf } from '../../../util/settings.js';
import { missingPlugin, otherPlugin } from '../../config/plugin-record.js';
import { pluginOf } from '../../plugins.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

/** The kind of a run's model; without it, what would bring it. */
export function requiredKind(command: string, { model, plugins }: TemporalRunConfig): TemporalModelKind {
  const found = findTemporalModel(model.kind);
  if (found !== undefined) return found;
  if (plugins.length > 0) throw missingPlugin(command, plugins[0], `model.kind ${model.kind}`);
  const known = temporalModelKinds().map(({ kind }) => kind);
  const advice = 'Name its module with --plugin, or call registerTemporalModel first.';
  throw new StateError(expected(command, `one of ${known.join(', ')}`, 'model.kind', model.kind, advice));
}

/**
 * The configuration with the module that its kind of model comes from. Refuses a module other than that which the run was
 * trained with.
 */
export function withPlugin(command: string, config: TemporalRunConfig): TemporalRunConfig {
  const { kind } = requiredKind(command, config);
  const now = pluginOf(kind);
  const [before] = config.plugins;
  if (now === null) return config;
  if (before !== undefined && before.sha256 !== now.sha256) throw otherPlugin(command, before, now);
  return { ...config, plugins: [now] };
}

/** Epochs of a run: a model that learns nothing from epochs has one. */
export function epochsOf(config: TemporalRunConfig): number {
  return findTemporalModel(config.model.kind)?.learns === false ? 1 : config.model.train.epoch;
}

/** What the model of a run is made for. */
export function placeOf(
  { model }: TemporalRunConfig,
  { graph, split }: OpenedStream,
): TemporalPlace<ValuesOf<Settings>> {
  const { train, sections } = model;
  // The options were read by the settings of the kind.
  const options = model.options as ValuesOf<Settings>;
  return { ...{ options, train, sections, graph }, trainEnd: split.trainEnd };
}

/** Refuses what the kind of model cannot do, before the stream is read. */
export function checkAbilities(config: TemporalRunConfig): void {
  const { kind, workers = false, labels = false } = requiredKind('train', config);
  if (config.distributed !== null && !workers)
    throw new ConfigError(
      `train: expected no workers for model.kind ${kind}, got "run -n" or a section distributed. Train it in one process; several workers train model.kind general.`,
    );
  if (config.labels.epochs > 0 && !labels)
    throw new ConfigError(
      expected(
        'train',
        `0 for model.kind ${kind}, which has no embeddings of nodes,`,
        'labels.epochs',
        config.labels.epochs,
      ),
    );
}

/** Refuses options that do not fit the stream, before anything is made. */
export function checkModelOptions(config: TemporalRunConfig, stream: OpenedStream): void {
  const wrong = requiredKind('train', config).check?.(placeOf(config, stream)) ?? null;
  if (wrong !== null) throw new ConfigError(`train: ${wrong}`);
}

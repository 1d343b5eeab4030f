/** The kind of model of a run: looks it up among the registered kinds and checks the run against its abilities. */

import type { TemporalModelKind } from '../../../temporal/index.js';
import type { TemporalPlace } from '../../../temporal/models/model-kind.js';
import { findTemporalModel, temporalModelKinds } from '../../../temporal/models/registry.js';
import { ConfigError, expected, StateError } from '../../../util/errors.js';
import type { Settings, ValuesOf } from '../../../util/settings.js';
import { missingPlugin, otherPlugin } from '../../config/plugin-record.js';
import { pluginOf } from '../../plugins.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

/** Returns the kind of a run's model. Throws with the plugin to load if it is not registered. */
export function requiredKind(command: string, { model, plugins }: TemporalRunConfig): TemporalModelKind {
  const found = findTemporalModel(model.kind);
  if (found !== undefined) return found;
  if (plugins.length > 0) throw missingPlugin(command, plugins[0], `model.kind ${model.kind}`);
  const known = temporalModelKinds().map(({ kind }) => kind);
  const advice = 'Load its module with --plugin, or call registerTemporalModel first.';
  throw new StateError(expected(command, `one of ${known.join(', ')}`, 'model.kind', model.kind, advice));
}

/**
 * Adds the record of the plugin that registered the kind of model to a configuration. Throws if the run was trained with
 * another plugin.
 */
export function withPlugin(command: string, config: TemporalRunConfig): TemporalRunConfig {
  const { kind } = requiredKind(command, config);
  const now = pluginOf(kind);
  const [before] = config.plugins;
  if (now === null) return config;
  if (before !== undefined && before.sha256 !== now.sha256) throw otherPlugin(command, before, now);
  return { ...config, plugins: [now] };
}

/** Returns the number of epochs of a run: 1 for a model without learning. */
export function epochsOf(config: TemporalRunConfig): number {
  return findTemporalModel(config.model.kind)?.learns === false ? 1 : config.model.train.epoch;
}

/** Returns the context in which the model of a run is created. */
export function modelContext(
  { model }: TemporalRunConfig,
  { graph, split, rows }: OpenedStream,
): TemporalPlace<ValuesOf<Settings>> {
  const { train, sections } = model;
  // The options were read with the settings of the kind.
  const options = model.options as ValuesOf<Settings>;
  return { ...{ options, train, sections, graph }, trainEnd: split.trainEnd, trainRows: rows.train };
}

/** Throws for settings that the kind of model does not support; called before the stream is read. */
export function checkAbilities(config: TemporalRunConfig): void {
  const { kind, workers = false, labels = false } = requiredKind('train', config);
  if (config.distributed !== null && !workers)
    throw new ConfigError(
      `train: expected a single process for model.kind ${kind}, got "run -n" or a section distributed. Only model.kind general supports several workers: pass --model.kind=general to "skein config", or train in one process.`,
    );
  if (config.labels.epochs > 0 && !labels)
    throw new ConfigError(
      expected(
        'train',
        `0 for model.kind ${kind}, which has no node embeddings,`,
        'labels.epochs',
        config.labels.epochs,
      ),
    );
}

/** Throws for options that do not fit the stream; called before the model is created. */
export function checkModelOptions(config: TemporalRunConfig, stream: OpenedStream): void {
  const wrong = requiredKind('train', config).check?.(modelContext(config, stream)) ?? null;
  if (wrong !== null) throw new ConfigError(`train: ${wrong}`);
}

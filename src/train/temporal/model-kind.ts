/** The kind of model that a run names: found, or missed with what to do; and what it cannot do, refused by name. */
import {
  findTemporalModel,
  type TemporalModelKind,
  type TemporalPlace,
  temporalModelKinds,
} from '../../temporal/index.js';
import { ConfigError, expected, StateError } from '../../util/errors.js';
import type { Settings, ValuesOf } from '../../util/settings.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

/** The kind of a run's model. */
export function requiredKind(command: string, { model }: TemporalRunConfig): TemporalModelKind {
  const found = findTemporalModel(model.kind);
  if (found !== undefined) return found;
  const known = temporalModelKinds().map(({ kind }) => kind);
  throw new StateError(
    expected(
      command,
      `one of ${known.join(', ')}`,
      'model.kind',
      model.kind,
      'Register it first: --plugin with its module, or registerTemporalModel in a program.',
    ),
  );
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
      `train: expected one process for model.kind ${kind}, got several workers. Train it without "run -n" and without the section distributed; several workers train model.kind general.`,
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
export function checkOptions(config: TemporalRunConfig, stream: OpenedStream): void {
  const wrong = requiredKind('train', config).check?.(placeOf(config, stream)) ?? null;
  if (wrong !== null) throw new ConfigError(`train: ${wrong}`);
}

/**
 * Reads the kind of model of a configuration and its options: `model: { kind: evolve_gcn, dim_out: 32 }`. A file without a
 * kind has a `general` model, whose options are TGL's sections sampling, memory and gnn. All kinds share the section train.
 */

import type { TrainSection } from '../../../temporal/config/keys.js';
import { modelSections, withoutEffect } from '../../../temporal/config/keys.js';
import { readTemporalConfig } from '../../../temporal/config/parse.js';
import type { TemporalConfig, TemporalModelKind } from '../../../temporal/index.js';
import { findTemporalModel, temporalModelKinds } from '../../../temporal/models/registry.js';
import { expected } from '../../../util/errors.js';
import { nearest } from '../../../util/nearest.js';
import { readSections } from '../../../util/read-settings.js';
import { dropIgnored } from '../../../util/schema/ignored.js';
import { isTree, type Tree } from '../../../util/schema/key-path.js';
import type { ConfigProblem } from '../../../util/schema/problem.js';

export const generalModel = 'general';

/** The model of a run. */
export interface ModelChoice {
  readonly kind: string;
  /** The options of the kind, with every default filled in. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly train: TrainSection;
  /** TGL's sections; null for all kinds but `general`. */
  readonly sections: TemporalConfig | null;
}

export interface ReadModel {
  /** Null if there are problems. */
  readonly model: ModelChoice | null;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly string[];
}

/** Sections that only `general` reads. */
const generalSections = ['sampling', 'memory', 'gnn'] as const;

/**
 * Reads the model of a file.
 *
 * @param recorded whether the file records its plugins: then an unknown kind is reported later, with the plugin's path.
 */
export function readModel(given: unknown, file: Tree, recorded: boolean): ReadModel {
  const { kind = generalModel, ...options } = isTree(given) ? given : { kind: given ?? generalModel };
  const found = typeof kind === 'string' ? findTemporalModel(kind.toLowerCase()) : undefined;
  if (found === undefined)
    return recorded && typeof kind === 'string'
      ? withTrain({ kind, options, sections: null }, file, [], [])
      : { model: null, warnings: [], problems: [unknownKind(kind)] };
  if (found.kind === generalModel) return readGeneral(options, file);
  const read = readOptions(found, options);
  return withTrain({ kind: found.kind, options: read.options, sections: null }, file, read.problems, [
    ...generalSections
      .filter((name) => name in file)
      .map((name) => `${name}: has no effect, model.kind is ${found.kind}.`),
    ...(found.learns === false && isTree(file['train']) && 'epoch' in file['train']
      ? [`train.epoch: has no effect, ${found.kind} makes one pass over the training events.`]
      : []),
  ]);
}

/** Returns the sections `model` and `train` for a file, for any kind but `general`. */
export function renderModel({ kind, options, train }: ModelChoice): Tree {
  const { epoch, ...others } = train;
  const once = findTemporalModel(kind)?.learns === false;
  return { model: { kind, ...options }, train: once ? others : { epoch, ...others } };
}

function unknownKind(kind: unknown): ConfigProblem {
  const known = temporalModelKinds().map(({ kind: name }) => name);
  const close = typeof kind === 'string' ? nearest(kind, known) : undefined;
  const advice =
    close === undefined
      ? 'Load a custom kind with --plugin, or with registerTemporalModel in a program.'
      : `Did you mean ${close}?`;
  const message = expected('config', `one of ${known.join(', ')}`, 'model.kind', kind, advice);
  return { key: 'model.kind', message: message.replace(/^config: /, '') };
}

function readOptions(
  { settings }: TemporalModelKind,
  options: Tree,
): { readonly options: Tree; readonly problems: readonly ConfigProblem[] } {
  const read = readSections({ model: settings }, { model: options });
  return { options: read.values?.model ?? {}, problems: read.problems };
}

function readGeneral(options: Tree, file: Tree): ReadModel {
  const misplaced = Object.keys(options).map((key) => ({
    key: `model.${key}`,
    message: `expected sampling, memory, gnn and train for the options of model.kind ${generalModel}, got model.${key}. Move it there, or set another kind.`,
  }));
  const { config, warnings, problems } = readTemporalConfig(file);
  const all = [...misplaced, ...problems, ...checkStrategy(config)];
  if (config === null || all.length > 0) return { model: null, warnings: [], problems: all };
  return {
    model: { kind: generalModel, options: {}, train: config.train, sections: config },
    ...{ warnings, problems: [] },
  };
}

function withTrain(
  choice: Omit<ModelChoice, 'train'>,
  file: Tree,
  problems: readonly ConfigProblem[],
  warnings: readonly string[],
): ReadModel {
  const { train: standard = {} } = findTemporalModel(choice.kind) ?? {};
  const given: Tree = isTree(file['train'] ?? {})
    ? { train: { ...standard, ...(file['train'] as Tree | undefined) } }
    : pick(file, 'train');
  const more: string[] = [];
  dropIgnored(given, withoutEffect, (message) => more.push(message));
  const read = readSections({ train: modelSections.train }, given);
  const all = [...problems, ...read.problems];
  if (read.values === null || all.length > 0) return { model: null, warnings, problems: all };
  const { train } = read.values;
  for (const key of ['dropout', 'att_dropout'] as const)
    if (train[key] > 0) more.push(`train.${key}: has no effect, model.kind is ${choice.kind}.`);
  return { model: { ...choice, train }, warnings: [...warnings, ...more], problems: [] };
}

function pick(file: Tree, name: string): Tree {
  return name in file ? { [name]: file[name] } : {};
}

/** Rejects weighted sampling: event weights can only be passed to `TemporalNeighborSampler` in a program. */
function checkStrategy(config: TemporalConfig | null): ConfigProblem[] {
  if (config?.sampling.strategy !== 'weighted') return [];
  const key = 'sampling.strategy';
  const message = `${key}: expected recent, uniform or identity, got weighted. Streams have no event weights; use TemporalNeighborSampler in a program to sample by weight.`;
  return [{ key, message }];
}

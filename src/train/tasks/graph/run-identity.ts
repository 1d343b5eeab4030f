/**
 * The identity of a trained run: how its dataset numbers nodes, relations and classes, which edges and nodes were trained
 * on, and the shape of the model. It is saved with every checkpoint and compared before a checkpoint is resumed or used: a
 * test edge that was trained on gives metrics that look right.
 */

import type { PreparedDataset } from '../../../data/index.js';
import {
  type DatasetFingerprint,
  type DatasetUse,
  datasetFingerprint,
  differingFiles,
} from '../../../data/prepare/dataset-fingerprint.js';
import { StateError } from '../../../util/errors.js';
import { usesEdgeWeights, usesText } from '../../config/check-layers.js';
import type { SkeinConfig } from '../../config/index.js';
import { checkSamePlugins, type PluginRecord } from '../../config/plugin-record.js';
import { differences } from '../../run/differences.js';

export interface RunIdentity {
  readonly dataset: string;
  readonly model: string;
  /** The files of the dataset, as far as the model uses it. Checkpoints of older versions have none. */
  readonly files?: DatasetFingerprint;
  /** The modules that registered types of its configuration; absent if there are none. */
  readonly plugins?: readonly PluginRecord[];
  /** Custom samplers of training; absent without any. */
  readonly samplers?: readonly string[];
}

/** Options of decoders that runs of older versions do not have, with the value that means the same. */
const newerOptions: Readonly<Record<string, unknown>> = {
  entity_dropout: 0,
  relation_dropout: 0,
  bias: false,
  relation_init: { type: 'DEFAULT', options: {} },
};

/** Leaves out newer options that change nothing, so that runs of older versions have the same description. */
function olderOptions(options: object): object {
  const isSame = ([key, value]: [string, unknown]): boolean =>
    Object.hasOwn(newerOptions, key) && JSON.stringify(value) === JSON.stringify(newerOptions[key]);
  return Object.fromEntries(Object.entries(options).filter((entry) => !isSame(entry)));
}

const mappings = ['nodes/node_mapping.txt', 'edges/relation_mapping.txt'];

/** Returns the identity of a run that trains, or is opened, with this dataset. */
export async function runIdentity(
  config: SkeinConfig,
  dataset: PreparedDataset,
  samplers: readonly string[] = [],
): Promise<RunIdentity> {
  const { num_nodes, num_relations } = dataset.stats;
  const sums = mappings.map((name) => dataset.details?.files[name]?.crc32 ?? 'none');
  const { learning_task, encoder, decoder } = config.model;
  const layers = encoder.layers.map((stage) =>
    stage.map(({ type, input_dim, output_dim, bias, activation, norm, options }) => ({
      ...{ type, input_dim, output_dim, bias, activation, options },
      // Runs of older versions have no such key.
      ...(norm === 'NONE' ? {} : { norm }),
    })),
  );
  const directions = [encoder.use_incoming_nbrs, encoder.use_outgoing_nbrs];
  return {
    dataset: `${num_nodes} nodes, ${num_relations} relations, names ${sums.join(' ')}`,
    model: JSON.stringify({
      learning_task,
      layers,
      directions,
      decoder: [decoder.type, olderOptions(decoder.options)],
    }),
    files: await datasetFingerprint(dataset, datasetUse(config)),
    ...(config.plugins === undefined ? {} : { plugins: config.plugins }),
    ...(samplers.length === 0 ? {} : { samplers: [...samplers].sort() }),
  };
}

/** Returns which files of the dataset a model reads as well as the graph. */
export function datasetUse(config: SkeinConfig): DatasetUse {
  const { learning_task, encoder } = config.model;
  return {
    classes: learning_task === 'NODE_CLASSIFICATION',
    features: encoder.layers.flat().some(({ type }) => type === 'FEATURE'),
    text: usesText(config),
    weights: usesEdgeWeights(config),
  };
}

/** Throws if the model's shape or the dataset in `directory` differs from the checkpoint in `folder`. */
export function checkIdentity(
  folder: string,
  saved: RunIdentity,
  now: RunIdentity,
  { directory }: Pick<PreparedDataset, 'directory'>,
): void {
  // The model is compared first: it determines which files of the dataset are used.
  if (saved.model !== now.model)
    throw new StateError(
      `${folder}: expected the model that it was trained as, got another: ${differences(keysOf(saved.model), keysOf(now.model)).join(', ')}. Use the configuration of the run (full_config.yaml).`,
      { path: folder },
    );
  checkSamePlugins(folder, saved.plugins ?? [], now.plugins ?? []);
  const files = saved.files === undefined ? [] : differingFiles(saved.files, now.files ?? {});
  if (files.length > 0)
    throw new StateError(
      `${folder}: expected the dataset that it was trained on, got ${directory}, which differs in ${files.join(', ')}. Prepare it as before (the same input, options and seed), or give the dataset that the run was trained on as storage.dataset.dataset_dir.`,
      { path: folder, files },
    );
  if (saved.dataset !== now.dataset)
    throw new StateError(
      `${folder}: expected the dataset that it was trained on (${saved.dataset}), got one with ${now.dataset}. Node ids would refer to other nodes; use that dataset, or train a new run.`,
      { path: folder },
    );
}

/** Throws if a run is resumed with other samplers; evaluation does not use them. */
export function checkSamplersOfRun(folder: string, saved: RunIdentity, now: RunIdentity): void {
  const [before, after] = [saved, now].map(({ samplers = [] }) => samplers.join(' and ') || 'none');
  if (before === after) return;
  throw new StateError(
    `${folder}: expected the samplers that it was trained with (${before}) for samplers of trainRun, got ${after}. Give the same, or train a new run.`,
    { path: folder },
  );
}

/** Returns a description of a model under the keys of its configuration. */
function keysOf(described: string): unknown {
  const { learning_task, layers, directions, decoder } = JSON.parse(described);
  const [use_incoming_nbrs, use_outgoing_nbrs] = directions ?? [];
  const [type, options] = decoder ?? [];
  const encoder = { layers, use_incoming_nbrs, use_outgoing_nbrs };
  return { model: { learning_task, encoder, decoder: { type, options } } };
}

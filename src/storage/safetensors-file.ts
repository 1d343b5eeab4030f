/**
 * Saves and loads tensors, models and checkpoints in safetensors files. Files are replaced atomically and have data
 * only: loading one never runs code.
 *
 * Values are copied when a save is called, so training may continue while the file is written; those on a device are
 * fetched.
 */

import type { LoadOptions, LoadResult, Module, OptimizerState } from '../nn/index.js';
import type { Tensor } from '../tensor/index.js';
import {
  type DecodedTensors,
  decodeSafetensors,
  encodeSafetensors,
  type SafetensorsMetadata,
} from '../tensor/safetensors.js';
import { expected, FormatError, SkeinError, StateError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { readWholeFile, writeFileAtomic } from './atomic-file.js';

/** Saves named tensors. */
export async function saveTensors(
  path: string,
  tensors: Readonly<Record<string, Tensor>>,
  metadata: SafetensorsMetadata = {},
): Promise<void> {
  const isHere = Object.values(tensors).every((t) => t.device === null);
  const values = isHere ? tensors : await copyToCpu(tensors);
  await writeFileAtomic(checkPath(path), encodeSafetensors(values, metadata));
}

/** Copies tensors to the CPU; all reads start at the same time, so that they are consistent. */
async function copyToCpu(tensors: Readonly<Record<string, Tensor>>): Promise<Record<string, Tensor>> {
  const fetched = Object.entries(tensors).map(async ([name, t]) => [name, await t.cpu()] as const);
  return Object.fromEntries(await Promise.all(fetched));
}

/** Loads the tensors of a file and its metadata. */
export async function loadTensors(path: string): Promise<DecodedTensors> {
  const bytes = await readWholeFile(checkPath(path));
  return inFile(path, () => decodeSafetensors(bytes));
}

/** Saves the parameters and buffers of a module. */
export async function saveModel(
  path: string,
  module: Module,
  metadata: SafetensorsMetadata = {},
): Promise<void> {
  await saveTensors(path, module.stateDict(), metadata);
}

/** Loads a file of `saveModel` into a module of the same structure. */
export async function loadModel(
  path: string,
  module: Module,
  options: LoadOptions = {},
): Promise<LoadResult & { readonly metadata: SafetensorsMetadata }> {
  checkOptionNames('loadModel', options, { strict: true });
  const { tensors, metadata } = await loadTensors(path);
  return { ...module.loadStateDict(tensors, options), metadata };
}

/** An object whose state can be saved and loaded, such as an optimiser. */
export interface Resumable {
  stateDict(): OptimizerState;
  loadStateDict(state: OptimizerState): void;
}

export interface CheckpointParts {
  readonly model: Module;
  readonly optimizer?: Resumable;
}

/** The content of a checkpoint including further tensors, which `loadCheckpointState` returns. */
export interface SavedParts extends CheckpointParts {
  readonly state?: Readonly<Record<string, Tensor>>;
}

const checkpointKey = 'skein.checkpoint';

/**
 * Saves a model and its optimiser in one file, so that they are always consistent.
 *
 * @param extra any value that can be stored as JSON: epoch, `randomState()`, the state of a schedule.
 */
export async function saveCheckpoint(
  path: string,
  { model, optimizer, state = {} }: SavedParts,
  extra: unknown = null,
): Promise<void> {
  const tensors: [string, Tensor][] = Object.entries(model.stateDict()).map(([name, t]) => [
    `model.${name}`,
    t,
  ]);
  let optimizerState: Omit<OptimizerState, 'tensors'> | null = null;
  if (optimizer !== undefined) {
    const { tensors: moments, ...rest } = optimizer.stateDict();
    optimizerState = rest;
    for (const [name, t] of Object.entries(moments)) tensors.push([`optimizer.${name}`, t]);
  }
  for (const [name, t] of Object.entries(state)) tensors.push([`state.${name}`, t]);
  await saveTensors(path, Object.fromEntries(tensors), checkpointMetadata(optimizerState, extra));
  // These handles hold memory of the device.
  for (const [name, t] of tensors) if (!name.startsWith('state.') && t.device !== null) t.dispose();
}

/** Returns the metadata of a checkpoint; `optimizer` is null for one without an optimiser. */
export function checkpointMetadata(
  optimizer: Omit<OptimizerState, 'tensors'> | null,
  extra: unknown,
): SafetensorsMetadata {
  return { [checkpointKey]: JSON.stringify({ version: 1, optimizer, extra }) };
}

/** Loads a file of `saveCheckpoint` and returns its `extra`. */
export async function loadCheckpoint<T = unknown>(
  path: string,
  { model, optimizer }: CheckpointParts,
): Promise<T> {
  const { tensors, metadata } = await loadTensors(path);
  const saved = inFile(path, () => parseCheckpoint(metadata[checkpointKey]));
  const part = (prefix: string): Record<string, Tensor> =>
    Object.fromEntries(
      Object.entries(tensors).flatMap(([name, t]) =>
        name.startsWith(prefix) ? [[name.slice(prefix.length), t]] : [],
      ),
    );
  if (optimizer !== undefined) {
    if (saved.optimizer === null) {
      throw new StateError(
        `loadCheckpoint: expected a checkpoint with an optimizer, got ${path} without one. Use loadModel for the model alone.`,
      );
    }
  }
  const before = Object.entries(model.stateDict()).map(([name, t]) => [name, t.clone()] as const);
  model.loadStateDict(part('model.'));
  try {
    if (saved.optimizer !== null)
      optimizer?.loadStateDict({ ...saved.optimizer, tensors: part('optimizer.') });
  } catch (error) {
    // Both or neither: a model must not continue with another run's optimiser.
    model.loadStateDict(Object.fromEntries(before));
    throw error;
  } finally {
    for (const [, t] of before) t.dispose();
  }
  return saved.extra as T;
}

/** Returns the tensors of a checkpoint other than those of model and optimiser, and its `extra`. */
export async function loadCheckpointState<T = unknown>(
  path: string,
): Promise<{ readonly state: Record<string, Tensor>; readonly extra: T }> {
  const { tensors, metadata } = await loadTensors(path);
  const saved = inFile(path, () => parseCheckpoint(metadata[checkpointKey]));
  const state = Object.entries(tensors).filter(([name]) => name.startsWith('state.'));
  return {
    state: Object.fromEntries(state.map(([name, t]) => [name.slice('state.'.length), t])),
    extra: saved.extra as T,
  };
}

interface SavedCheckpoint {
  readonly version: 1;
  readonly optimizer: Omit<OptimizerState, 'tensors'> | null;
  readonly extra: unknown;
}

function parseCheckpoint(text: string | undefined): SavedCheckpoint {
  if (text === undefined)
    throw new FormatError(
      'loadCheckpoint: expected a checkpoint, got a file of tensors. Use loadModel or loadTensors.',
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new FormatError(`loadCheckpoint: expected JSON for ${checkpointKey}, got ${String(error)}.`);
  }
  const { version, optimizer } = value as Partial<SavedCheckpoint>;
  if (version !== 1)
    throw new FormatError(
      expected(
        'loadCheckpoint',
        'version 1',
        checkpointKey,
        version,
        'It was written by a newer version of Skein.',
      ),
    );
  const shaped = optimizer === null || (Array.isArray(optimizer?.groups) && Array.isArray(optimizer.steps));
  if (!shaped)
    throw new FormatError(expected('loadCheckpoint', 'groups and steps', 'the optimizer', optimizer));
  return value as SavedCheckpoint;
}

/** Runs `read` and adds the path to its format errors. */
export function inFile<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    throw new FormatError(`${path}: ${error.message}`, { ...error.details, path }, { cause: error });
  }
}

function checkPath(path: unknown): string {
  if (typeof path !== 'string' || path === '')
    throw new ValueError(expected('storage', 'a file name', 'path', path));
  return path;
}

/**
 * Modules of a user's own that make kinds of temporal models known. A module is imported only when a caller names it: a
 * configuration or a run says which modules it needs, and by which checksum, but never makes anything be imported.
 *
 * The module's default export is a function that is called with the library, so that the module uses the copy of Skein that
 * runs it:
 *
 * @example
 * export default ({ registerTemporalModel, temporal, nn, tensor, settings }) => registerTemporalModel({ kind: 'mine', … });
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as gnn from '../gnn/index.js';
import * as graph from '../graph/index.js';
import * as nn from '../nn/index.js';
import * as temporal from '../temporal/index.js';
import * as tensor from '../tensor/index.js';
import { expected, StorageError, ValueError } from '../util/errors.js';
import * as settings from '../util/settings.js';
import type { PluginRecord } from './temporal/plugin-record.js';

/** What the default export of a plugin is called with. */
export interface PluginLibrary {
  readonly registerTemporalModel: typeof temporal.registerTemporalModel;
  readonly tensor: typeof tensor;
  readonly nn: typeof nn;
  readonly graph: typeof graph;
  readonly gnn: typeof gnn;
  readonly temporal: typeof temporal;
  /** Describe options: `integer`, `number`, `share`, `flag`, `choice`. */
  readonly settings: typeof settings;
}

interface LoadedPlugin {
  readonly record: PluginRecord;
  readonly kinds: readonly string[];
  readonly remove: readonly (() => void)[];
}

/** By path. */
const loaded = new Map<string, LoadedPlugin>();

/** Imports modules, each once; one whose file has changed since takes the place of what it was. */
export async function loadPlugins(paths: readonly string[], command = 'loadPlugins'): Promise<void> {
  for (const given of paths) await loadPlugin(command, resolve(given));
}

/** The paths of the modules that were imported. */
export function loadedPlugins(): string[] {
  return [...loaded.keys()];
}

/** The module that a kind of model came from; null when it is built in, or was registered by a program. */
export function pluginOf(kind: string): PluginRecord | null {
  for (const { record, kinds } of loaded.values()) if (kinds.includes(kind)) return record;
  return null;
}

async function loadPlugin(command: string, path: string): Promise<void> {
  const sha256 = checksum(command, path);
  const before = loaded.get(path);
  if (before?.record.sha256 === sha256) return;
  for (const remove of before?.remove ?? []) remove();
  loaded.delete(path);
  const remove: (() => void)[] = [];
  const known = new Set(temporal.temporalModelKinds().map(({ kind }) => kind));
  try {
    await importPlugin(command, path, sha256, (kind) => {
      const undo = temporal.registerTemporalModel(kind);
      remove.push(undo);
      return undo;
    });
  } catch (error) {
    for (const undo of remove) undo();
    throw error;
  }
  const kinds = temporal
    .temporalModelKinds()
    .map(({ kind }) => kind)
    .filter((kind) => !known.has(kind));
  if (kinds.length === 0)
    throw new ValueError(
      `${command}: expected a plugin that registers a temporal model, got ${path}, which registers none. Export a function by default and call registerTemporalModel of its argument; what is registered with another copy of Skein is not seen.`,
    );
  loaded.set(path, { record: { path, sha256 }, kinds, remove });
}

function checksum(command: string, path: string): string {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new StorageError(`${command}: expected a readable module for --plugin, got ${path} (${reason}).`, {
      path,
    });
  }
}

async function importPlugin(
  command: string,
  path: string,
  sha256: string,
  registerTemporalModel: PluginLibrary['registerTemporalModel'],
): Promise<void> {
  // The checksum makes a changed file another module.
  const address = `${pathToFileURL(path).href}?sha256=${sha256}`;
  let start: unknown;
  try {
    ({ default: start } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ address)) as {
      readonly default?: unknown;
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new ValueError(
      `${command}: expected a module for --plugin, got ${path}: ${message}`,
      {},
      { cause: error },
    );
  }
  // Without one, the module must have registered its kinds itself.
  if (start === undefined) return;
  if (typeof start !== 'function')
    throw new ValueError(expected(command, 'a function', `the default export of ${path}`, start));
  await start({ registerTemporalModel, tensor, nn, graph, gnn, temporal, settings } satisfies PluginLibrary);
}

/**
 * Plugins: modules that register types for configurations (decoders, graph layers, losses, optimisers, metrics and
 * kinds of temporal models). A module is imported only if the caller names it: a configuration or a run states which
 * modules it needs, with their checksums, but never causes an import.
 *
 * The module's default export is a function that is called with the library, so that the module uses the copy of Skein that
 * runs it:
 *
 * @example
 * export default ({ registerTemporalModel, temporal, nn, tensor, settings }) => registerTemporalModel({ kind: 'mine', … });
 * export default ({ registerLoss, gnn, tensor }) => registerLoss({ name: 'MINE', … });
 */
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as gnn from '../gnn/index.js';
import * as graph from '../graph/index.js';
import * as nn from '../nn/index.js';
import * as storage from '../storage/index.js';
import * as temporal from '../temporal/index.js';
import * as tensor from '../tensor/index.js';
import { expected, SkeinError, StorageError, ValueError } from '../util/errors.js';
import { registeredNames } from '../util/registry.js';
import * as settings from '../util/settings.js';
import type { SkeinConfig } from './config/index.js';
import { checkSamePlugins, type PluginRecord } from './config/plugin-record.js';
import * as metric from './run/metric.js';

/** The functions that register types. */
const registers = {
  registerTemporalModel: temporal.registerTemporalModel,
  registerConvLayer: gnn.registerConvLayer,
  registerDecoder: gnn.registerDecoder,
  registerLoss: gnn.registerLoss,
  registerOptimizer: storage.registerOptimizer,
  registerMetric: metric.registerMetric,
};

/** Base classes of custom metrics. */
const metrics = { RankingMetric: metric.RankingMetric, ClassificationMetric: metric.ClassificationMetric };

/** The argument of a plugin's default export. */
export interface PluginLibrary extends Readonly<typeof registers> {
  readonly tensor: typeof tensor;
  readonly nn: typeof nn;
  readonly graph: typeof graph;
  readonly gnn: typeof gnn;
  readonly storage: typeof storage;
  readonly metrics: typeof metrics;
  readonly temporal: typeof temporal;
  /** Describe options: `integer`, `number`, `fraction`, `flag`, `choice`. */
  readonly settings: typeof settings;
}

interface LoadedPlugin {
  readonly record: PluginRecord;
  /** `model.kind mine`, `model.decoder.type MINE`. */
  readonly names: readonly string[];
  readonly remove: readonly (() => void)[];
}

/** By path. */
const loaded = new Map<string, LoadedPlugin>();

/** Imports modules, each once. A module whose file has changed is imported again and replaces the previous one. */
export async function loadPlugins(paths: readonly string[], command = 'loadPlugins'): Promise<void> {
  for (const given of paths) await loadPlugin(command, resolve(given));
}

/** Returns the paths of the imported modules. */
export function loadedPlugins(): string[] {
  return [...loaded.keys()];
}

/** Returns the module that registered a kind of model; null if it is built in or was registered by a program. */
export function pluginOf(kind: string): PluginRecord | null {
  for (const { record, names } of loaded.values()) if (names.includes(`model.kind ${kind}`)) return record;
  return null;
}

/** Adds the modules that registered its types to a configuration. Throws if the run was trained with other modules. */
export function withPlugins(where: string, config: SkeinConfig): SkeinConfig {
  const used = new Set(valuesIn({ model: config.model, evaluation: { metrics: config.evaluation.metrics } }));
  const now = [...loaded.values()].flatMap(({ record, names }) => {
    const own = names.filter((name) => used.has(name));
    return own.length === 0 ? [] : [{ ...record, words: own }];
  });
  checkSamePlugins(where, config.plugins ?? [], now);
  return now.length === 0 ? config : { ...config, plugins: now };
}

/** Returns the strings of a configuration as `<key> <value>`, the form of registered names: another key may hold the same string. */
function valuesIn(value: unknown, key = ''): string[] {
  // One registry has the optimisers of all keys.
  if (typeof value === 'string')
    return [`${key.replace(/.*optimizer\.type$/, 'model.dense_optimizer.type')} ${value}`];
  if (Array.isArray(value)) return value.flatMap((item) => valuesIn(item, key));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    valuesIn(item, key === '' ? name : `${key}.${name}`),
  );
}

async function loadPlugin(command: string, path: string): Promise<void> {
  const sha256 = checksum(command, path);
  const before = loaded.get(path);
  if (before?.record.sha256 === sha256) return;
  for (const remove of before?.remove ?? []) remove();
  loaded.delete(path);
  const remove: (() => void)[] = [];
  const known = new Set(registeredNames());
  const { exitCode } = process;
  try {
    await importPlugin(command, path, sha256, remove);
  } catch (error) {
    for (const undo of remove) undo();
    throw error;
  } finally {
    // A plugin reports failure by throwing and must not change the exit code of the command.
    process.exitCode = exitCode;
  }
  const names = registeredNames().filter((name) => !known.has(name));
  if (names.length === 0)
    throw new ValueError(
      `${command}: expected a plugin that registers a type or a kind of model, got ${path}, which registers none. Export a default function and call registerDecoder, registerTemporalModel or another function of its argument; registrations in another copy of Skein have no effect.`,
    );
  loaded.set(path, { record: { path, sha256 }, names, remove });
}

/** Returns the register functions, wrapped to append the function that undoes each registration to `remove`. */
function recordingRegisters(remove: (() => void)[]): typeof registers {
  const wrapped = Object.entries(registers).map(([name, register]) => [
    name,
    (record: never): (() => void) => {
      const undo = (register as (record: never) => () => void)(record);
      remove.push(undo);
      return undo;
    },
  ]);
  return Object.fromEntries(wrapped) as typeof registers;
}

function checksum(command: string, path: string): string {
  try {
    // Reading a pipe or a device might never end.
    if (!statSync(path).isFile())
      throw new StorageError(`${command}: expected a file for --plugin, got ${path}, which is not a file.`, {
        path,
      });
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  } catch (error) {
    if (error instanceof SkeinError) throw error;
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
  remove: (() => void)[],
): Promise<void> {
  // With the checksum in its URL, a changed file is a new module.
  const address = `${pathToFileURL(path).href}?sha256=${sha256}`;
  let start: unknown;
  try {
    const module = import(/* @vite-ignore */ /* webpackIgnore: true */ address);
    ({ default: start } = (await settled(command, path, module)) as { readonly default?: unknown });
  } catch (error) {
    if (error instanceof SkeinError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new ValueError(
      `${command}: expected a module for --plugin, got ${path}: ${message}`,
      {},
      { cause: error },
    );
  }
  // A module without a default export registers its types on import.
  if (start === undefined) return;
  if (typeof start !== 'function')
    throw new ValueError(expected(command, 'a function', `the default export of ${path}`, start));
  const library = { tensor, nn, graph, gnn, storage, temporal, metrics, settings };
  try {
    const given = { ...recordingRegisters(remove), ...library } satisfies PluginLibrary;
    await settled(command, path, Promise.resolve((start as (library: PluginLibrary) => unknown)(given)));
  } catch (error) {
    if (error instanceof SkeinError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new ValueError(
      `${command}: expected a plugin that runs, got ${path}, which fails${lineIn(error, sha256)}: ${message}`,
      {},
      { cause: error },
    );
  }
}

/** Returns the line of the module in which an error was thrown: ` in line 3`. */
function lineIn(error: unknown, sha256: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const line = new RegExp(`${sha256}:(\\d+):\\d+`).exec(stack)?.[1];
  return line === undefined ? '' : ` in line ${line}`;
}

/** Awaits the work of a module. Throws if it never settles: Node.js would otherwise exit silently when nothing is pending. */
async function settled(command: string, path: string, work: Promise<unknown>): Promise<unknown> {
  let end = (): void => undefined;
  const unsettled = new Promise<never>((_, reject) => {
    end = () =>
      reject(
        new ValueError(
          `${command}: expected a plugin that finishes loading, got ${path}, which awaits a promise that never settles. Check its top-level await and the promise that its default export returns.`,
        ),
      );
  });
  process.once('beforeExit', end);
  try {
    return await Promise.race([work, unsettled]);
  } finally {
    process.off('beforeExit', end);
  }
}

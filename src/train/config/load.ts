/**
 * Loads a checked `SkeinConfig` from a YAML file and overrides. One error reports all problems. Keys that have no effect
 * here, or another meaning than in Marius, give warnings.
 */
import { ConfigError, expected, ValueError } from '../../util/errors.js';
import { dropIgnored } from '../../util/schema/ignored.js';
import { problemsOf } from '../../util/schema/issues.js';
import { isTree, leafPaths, parsePath, type Tree, valueAt } from '../../util/schema/key-path.js';
import { checkConfig } from './check.js';
import {
  type ConfigFile,
  configError,
  noOrigin,
  type Origin,
  readConfigFile,
  withOverrides,
} from './config-file.js';
import { derive } from './derive.js';
import { ignoredKeys } from './ignored.js';
import { modernise } from './legacy.js';
import { applyOverrides, checkOverrides, parseOverride } from './overrides.js';
import { missingPlugin, missingPlugins } from './plugin-record.js';
import { configSchema } from './schema.js';
import type { SkeinConfig } from './types.js';

export interface LoadedConfig {
  readonly config: SkeinConfig;
  /** One sentence each. */
  readonly warnings: readonly string[];
  /** Key paths that the file or an override sets, for example `storage.embeddings.options.num_partitions`. */
  readonly given: ReadonlySet<string>;
}

/** Loads the configuration of a file, given as its path or already read. `overrides` are `--section.key=value`. */
export function loadConfig(path: string | ConfigFile, overrides: readonly string[] = []): LoadedConfig {
  const file = typeof path === 'string' ? readConfigFile(path) : path;
  if (file?.lineOf === undefined)
    throw new ValueError(expected('loadConfig', 'the path of a file', 'path', path));
  checkOverrides(overrides);
  return resolve(file.values, overrides, withOverrides(file, overrides));
}

/** Resolves a configuration from parsed YAML or a plain object. */
export function resolveConfig(object: unknown, overrides: readonly string[] = []): LoadedConfig {
  checkOverrides(overrides);
  return resolve(object, overrides, noOrigin);
}

function resolve(object: unknown, overrides: readonly string[], origin: Origin): LoadedConfig {
  if (!isTree(object))
    throw new ConfigError(
      `config: expected the sections model, storage, training and evaluation for the configuration, got ${Array.isArray(object) ? 'a list' : typeof object}.`,
    );
  const warnings: string[] = [];
  const warn = (message: string): void => void (warnings.includes(message) || warnings.push(message));
  const tree: Tree = applyOverrides(object, overrides.map(parseOverride));
  modernise(tree, warn);
  dropIgnored(tree, ignoredKeys, warn);
  warnAboutDeviceMemory(tree, warn);
  const given = new Set(leafPaths(tree));
  for (const plugin of missingPlugins(tree['plugins']))
    throw missingPlugin('config', plugin, (plugin.words ?? []).join(', '));
  const parsed = configSchema().safeParse(tree);
  if (!parsed.success) throw configError(problemsOf(parsed.error, tree), origin);
  const config = derive(parsed.data, { given, warn });
  const problems = checkConfig(config, parsed.data.model.encoder.embedding_dim);
  if (problems.length > 0) throw configError(problems, origin);
  return { config, warnings, given };
}

/** Warns once about DEVICE_MEMORY tables, which are held in host memory; only embeddings can be on a GPU. */
function warnAboutDeviceMemory(tree: Tree, warn: (message: string) => void): void {
  // The schema rejects values that are not strings.
  const textAt = (key: string): string => {
    const value = valueAt(tree, parsePath(key));
    return typeof value === 'string' ? value.trim().toLowerCase() : '';
  };
  const usesGpu = ['cuda', 'gpu', 'webgpu'].includes(textAt('storage.device_type'));
  const tables = ['edges', 'nodes', ...(usesGpu ? [] : ['embeddings']), 'features']
    .map((name) => `storage.${name}.type`)
    .filter((key) => textAt(key) === 'device_memory');
  if (tables.length > 0) warn(`${tables.join(', ')}: DEVICE_MEMORY is read as HOST_MEMORY.`);
}

/**
 * From a YAML file and overrides to a checked `SkeinConfig`. Everything that is wrong is reported at once; everything
 * that has no effect here, or means something else here, is a warning.
 */
import { ConfigError } from '../../util/errors.js';
import { dropIgnored } from '../../util/schema/ignored.js';
import { problemsOf } from '../../util/schema/issues.js';
import { isTree, leafPaths, parsePath, type Tree, valueAt } from '../../util/schema/key-path.js';
import { checkConfig } from './check.js';
import {
  type ConfigFile,
  configError,
  nowhere,
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
  /** Key paths that the file or an override gives, for example `storage.embeddings.options.num_partitions`. */
  readonly given: ReadonlySet<string>;
}

/** The configuration of a file, given by its path or read already. `overrides` are `--section.key=value`. */
export function loadConfig(path: string | ConfigFile, overrides: readonly string[] = []): LoadedConfig {
  const file = typeof path === 'string' ? readConfigFile(path) : path;
  checkOverrides(overrides);
  return resolve(file.values, overrides, withOverrides(file, overrides));
}

/** The same from a parsed object. */
export function resolveConfig(object: unknown, overrides: readonly string[] = []): LoadedConfig {
  checkOverrides(overrides);
  return resolve(object, overrides, nowhere);
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
  deviceMemory(tree, warn);
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

/** Tables that a file puts on a GPU are in host memory, embeddings beside a graphics processor excepted; one warning. */
function deviceMemory(tree: Tree, warn: (message: string) => void): void {
  // What is no text is for the schema to refuse.
  const textAt = (key: string): string => {
    const value = valueAt(tree, parsePath(key));
    return typeof value === 'string' ? value.trim().toLowerCase() : '';
  };
  const computesThere = ['cuda', 'gpu', 'webgpu'].includes(textAt('storage.device_type'));
  const tables = ['edges', 'nodes', ...(computesThere ? [] : ['embeddings']), 'features']
    .map((name) => `storage.${name}.type`)
    .filter((key) => textAt(key) === 'device_memory');
  if (tables.length > 0) warn(`${tables.join(', ')}: DEVICE_MEMORY is host memory here.`);
}

/**
 * From a YAML file and overrides to a checked `SkeinConfig`. Everything that is wrong is reported at once; everything
 * that has no effect here, or means something else here, is a warning.
 */
import { readFileSync } from 'node:fs';
import { LineCounter, parseDocument } from 'yaml';
import { ConfigError, StorageError } from '../../util/errors.js';
import { checkConfig } from './check.js';
import { derive } from './derive.js';
import { dropIgnored } from './ignored.js';
import { type ConfigProblem, problemsOf } from './issues.js';
import { isTree, leafPaths, parsePath, type Tree, valueAt } from './key-path.js';
import { modernise } from './legacy.js';
import { applyOverrides, parseOverride } from './overrides.js';
import { configSchema } from './schema.js';
import type { SkeinConfig } from './types.js';

export interface LoadedConfig {
  readonly config: SkeinConfig;
  /** One sentence each. */
  readonly warnings: readonly string[];
  /** Key paths that the file or an override gives, for example `storage.embeddings.options.num_partitions`. */
  readonly given: ReadonlySet<string>;
}

/** Finds the line of a key; undefined when it is not in the file. */
type LineOf = (key: string) => number | undefined;

/** Reads a configuration file. `overrides` are `--section.key=value`. */
export function loadConfig(path: string, overrides: readonly string[] = []): LoadedConfig {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new StorageError(
      `config: expected a readable file for the configuration, got ${path} (${reason}). Check the path.`,
      { path },
    );
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  if (document.errors.length > 0) {
    const [first] = document.errors;
    throw new ConfigError(
      `config: expected YAML in ${path}, got an error at line ${first.linePos?.[0].line}: ${first.message.split('\n')[0]}`,
      { path },
    );
  }
  const lineOf: LineOf = (key) => {
    const node = document.getIn(parsePath(key), true) as { range?: [number, number, number] } | undefined;
    return node?.range == null ? undefined : lines.linePos(node.range[0]).line;
  };
  let parsed: unknown;
  try {
    parsed = document.toJS() ?? {};
    // What refers to itself has no end; JSON finds that out.
    JSON.stringify(parsed);
  } catch (error) {
    throw new ConfigError(
      `config: expected plain YAML in ${path}, got aliases that do not end or are too many (${(error as Error).message.split('\n')[0]}). Write the values out.`,
      { path },
    );
  }
  const changed = overrides.map((text) => text.split('=', 1)[0]);
  // A line of the file says nothing about a value that was given beside it.
  const lineInFile: LineOf = (key) =>
    changed.some((given) => key.startsWith(given)) ? undefined : lineOf(key);
  return resolve(parsed, overrides, { path, lineOf: lineInFile });
}

/** The same from a parsed object. */
export function resolveConfig(object: unknown, overrides: readonly string[] = []): LoadedConfig {
  return resolve(object, overrides, { path: undefined, lineOf: () => undefined });
}

interface Origin {
  readonly path: string | undefined;
  readonly lineOf: LineOf;
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
  dropIgnored(tree, warn);
  deviceMemory(tree, warn);
  const given = new Set(leafPaths(tree));
  const parsed = configSchema.safeParse(tree);
  if (!parsed.success) throw configError(problemsOf(parsed.error, tree), origin);
  const config = derive(parsed.data, { given, warn });
  const problems = checkConfig(config, parsed.data.model.encoder.embedding_dim);
  if (problems.length > 0) throw configError(problems, origin);
  return { config, warnings, given };
}

function configError(problems: readonly ConfigProblem[], { path, lineOf }: Origin): ConfigError {
  const sentences = problems.map(({ key, message }) => {
    const line = lineOf(key);
    return line === undefined ? message : `${path}:${line}: ${message}`;
  });
  const head = problems.length === 1 ? 'config: ' : `config: ${problems.length} problems\n  `;
  return new ConfigError(head + sentences.join('\n  '), { path, problems });
}

/** Tables that a file puts on a GPU are in host memory; one warning names them all. */
function deviceMemory(tree: Tree, warn: (message: string) => void): void {
  const tables = ['edges', 'nodes', 'embeddings', 'features']
    .map((name) => `storage.${name}.type`)
    .filter((key) => String(valueAt(tree, parsePath(key))).toUpperCase() === 'DEVICE_MEMORY');
  if (tables.length > 0) warn(`${tables.join(', ')}: DEVICE_MEMORY is host memory here.`);
}

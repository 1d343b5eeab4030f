/**
 * Configuration files: reads YAML with the line of every key, so that messages can name it, and renders a resolved
 * configuration as YAML.
 */
import { readFileSync } from 'node:fs';
import { type Document, isScalar, LineCounter, parseDocument, stringify, visit } from 'yaml';
import { ConfigError, StorageError } from '../../util/errors.js';
import { invocation } from '../../util/invocation.js';
import { isTree, parsePath } from '../../util/schema/key-path.js';
import type { ConfigProblem } from '../../util/schema/problem.js';
import type { SkeinConfig } from './types.js';

/** The file that values come from and the line of each key in it; undefined for a key that is not in the file. */
export interface Origin {
  readonly path: string | undefined;
  readonly lineOf: (key: string) => number | undefined;
}

/** A configuration file: its text, its values and their lines. */
export interface ConfigFile extends Origin {
  readonly path: string;
  readonly text: string;
  readonly values: unknown;
}

/**
 * Reads and parses a YAML file. Callers pass the result on, so that a file is read once.
 *
 * @param mayBeEmpty whether an empty file is allowed, whose values are null.
 */
export function readConfigFile(path: string, mayBeEmpty = false): ConfigFile {
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
  // The parser compares every key of a mapping with all others; repeatedKey does the same in linear time.
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false });
  const notYaml = (line: number | undefined, reason: string): ConfigError =>
    new ConfigError(
      `config: expected YAML in ${path}, got an error at line ${line}: ${reason}.${isDataFile(path) ? ` ${startAdvice(path)}` : ''}`,
      { path },
    );
  if (document.errors.length > 0) {
    const [first] = document.errors;
    // The message names the line itself; the excerpt of the file is dropped.
    const reason = first.message.split('\n')[0].replace(/( at line \d+, column \d+)?[:.]?\s*$/, '');
    throw notYaml(first.linePos?.[0].line, reason);
  }
  const repeated = repeatedKey(document);
  if (repeated !== undefined)
    throw notYaml(lines.linePos(repeated.offset).line, `keys must be unique, ${repeated.key} occurs twice`);
  let values: unknown;
  try {
    values = document.toJS();
    // JSON rejects values that contain themselves.
    JSON.stringify(values);
  } catch (error) {
    throw new ConfigError(
      `config: expected plain YAML in ${path}, got aliases that are recursive or too many (${(error as Error).message.split('\n')[0]}). Write the values out.`,
      { path },
    );
  }
  if ((values === null || values === undefined) && !mayBeEmpty)
    throw new ConfigError(
      `config: expected sections such as model, storage and training in ${path}, got an empty file. "${invocation()} config <dataset>" prints one to start from.`,
      { path },
    );
  if (!mayBeEmpty && !isTree(values)) {
    const got = Array.isArray(values) ? 'a list' : `a ${typeof values}`;
    throw new ConfigError(
      `config: expected the sections model, storage, training and evaluation for the configuration, got ${got} in ${path}. ${startAdvice(path)}`,
      { path },
    );
  }
  const lineOf: Origin['lineOf'] = (key) => {
    const node = document.getIn(parsePath(key), true) as { range?: [number, number, number] } | undefined;
    return node?.range == null ? undefined : lines.linePos(node.range[0]).line;
  };
  return { path, text, values, lineOf };
}

/** Returns what to do about a file that is not a configuration: data must be prepared first. */
function startAdvice(path: string): string {
  const skein = invocation();
  return isDataFile(path)
    ? `Prepare data with "${skein} preprocess --edges ${path} --output-directory <dataset>"; "${skein} config <dataset>" then prints a configuration.`
    : `"${skein} config <dataset>" prints one to start from.`;
}

/** Returns whether a file is, by its name, a table of data. */
function isDataFile(path: string): boolean {
  return /\.(csv|tsv|txt|edges|parquet|jsonl|ndjson)(\.gz)?$/.test(path);
}

/** Returns the origin without lines for the keys that `overrides` (`--section.key=value`) change. */
export function withOverrides({ path, lineOf }: Origin, overrides: readonly string[]): Origin {
  const changed = overrides.map((text) => text.split('=', 1)[0].replace(/^--/, ''));
  return {
    path,
    lineOf: (key) => (changed.some((given) => key.startsWith(given)) ? undefined : lineOf(key)),
  };
}

/** The origin of values that come from no file. */
export const noOrigin: Origin = { path: undefined, lineOf: () => undefined };

/** Returns the first key that occurs twice in a mapping, and the offset of its second occurrence. */
function repeatedKey(document: Document): { readonly key: string; readonly offset: number } | undefined {
  let found: { readonly key: string; readonly offset: number } | undefined;
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) {
          found = { key: String(key.value), offset: key.range?.[0] ?? 0 };
          return visit.BREAK;
        }
        seen.add(key.value);
      }
      return undefined;
    },
  });
  return found;
}

/** At most this many problems are printed; `details.problems` has all of them. */
const mostShown = 20;

/** Returns one error for all problems. */
export function configError(problems: readonly ConfigProblem[], { path, lineOf }: Origin): ConfigError {
  const sentences = problems.slice(0, mostShown).map(({ key, message }) => {
    const line = lineOf(key);
    return line === undefined ? message : `${path}:${line}: ${message}`;
  });
  if (problems.length > mostShown) sentences.push(`… and ${problems.length - mostShown} more`);
  const head = problems.length === 1 ? 'config: ' : `config: ${problems.length} problems\n  `;
  return new ConfigError(head + sentences.join('\n  '), { path, problems });
}

/** Renders a resolved configuration as YAML. Reading it back gives the same configuration and seed, without warnings. */
export function renderConfig(config: SkeinConfig): string {
  // A key that may be null is absent where it is null, and reads back as absent.
  return stringify(config, { lineWidth: 0, aliasDuplicateObjects: false });
}

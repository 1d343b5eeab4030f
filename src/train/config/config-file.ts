/**
 * Configuration files: reads YAML with the line of every key, so that messages can name it, and renders a resolved
 * configuration as YAML.
 */
import { readFileSync } from 'node:fs';
import { type Document, isScalar, LineCounter, parseDocument, stringify, visit } from 'yaml';
import { ConfigError, StorageError } from '../../util/errors.js';
import { invocation } from '../../util/invocation.js';
import { parsePath } from '../../util/schema/key-path.js';
import type { ConfigProblem } from '../../util/schema/problem.js';
import type { SkeinConfig } from './types.js';

/** Where values come from: the file, and the line of a key in it; undefined when it is not in the file. */
export interface Origin {
  readonly path: string | undefined;
  readonly lineOf: (key: string) => number | undefined;
}

/** A configuration file that is read: its text, what it says, and where it says it. */
export interface ConfigFile extends Origin {
  readonly path: string;
  readonly text: string;
  readonly values: unknown;
}

/** Reads and parses a YAML file, once: what looks at it afterwards takes what this gives. */
export function readConfigFile(path: string): ConfigFile {
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
    new ConfigError(`config: expected YAML in ${path}, got an error at line ${line}: ${reason}.`, { path });
  if (document.errors.length > 0) {
    const [first] = document.errors;
    // The line is named already, and what stands there is not shown.
    const reason = first.message.split('\n')[0].replace(/( at line \d+, column \d+)?[:.]?\s*$/, '');
    throw notYaml(first.linePos?.[0].line, reason);
  }
  const repeated = repeatedKey(document);
  if (repeated !== undefined)
    throw notYaml(lines.linePos(repeated.offset).line, `keys must be unique, ${repeated.key} is there twice`);
  let values: unknown;
  try {
    values = document.toJS();
    // What refers to itself has no end; JSON finds that out.
    JSON.stringify(values);
  } catch (error) {
    throw new ConfigError(
      `config: expected plain YAML in ${path}, got aliases that do not end or are too many (${(error as Error).message.split('\n')[0]}). Write the values out.`,
      { path },
    );
  }
  if (values === null || values === undefined)
    throw new ConfigError(
      `config: expected sections such as model, storage and training in ${path}, got an empty file. "${invocation()} config <dataset>" prints one to begin with.`,
      { path },
    );
  const lineOf: Origin['lineOf'] = (key) => {
    const node = document.getIn(parsePath(key), true) as { range?: [number, number, number] } | undefined;
    return node?.range == null ? undefined : lines.linePos(node.range[0]).line;
  };
  return { path, text, values, lineOf };
}

/** The same without what `overrides` (`--section.key=value`) change: of that no line is known. */
export function withOverrides({ path, lineOf }: Origin, overrides: readonly string[]): Origin {
  const changed = overrides.map((text) => text.split('=', 1)[0].replace(/^--/, ''));
  return {
    path,
    lineOf: (key) => (changed.some((given) => key.startsWith(given)) ? undefined : lineOf(key)),
  };
}

/** Values that are in no file. */
export const nowhere: Origin = { path: undefined, lineOf: () => undefined };

/** The first key that a mapping has twice, and where its second occurrence begins. */
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

/** More than this many problems are counted, not printed; `details.problems` has them all. */
const mostShown = 20;

/** One error for everything that is wrong. */
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

/**
 * Overrides from the command line: `--training.num_epochs=5`, `training.num_epochs=5` or
 * `--model.encoder.layers[0][0].output_dim=64`. The value is YAML, so lists and mappings work too.
 */
import { parseDocument } from 'yaml';
import { ConfigError, describe } from '../../util/errors.js';
import { isTree, parsePath, showPath, type Tree } from '../../util/schema/key-path.js';

export interface Override {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/** Throws unless `overrides` is a list of strings: callers in plain JavaScript are not type-checked. */
export function checkOverrides(overrides: unknown): void {
  const wrong = Array.isArray(overrides)
    ? overrides.find((text) => typeof text !== 'string')
    : (overrides ?? null);
  if (wrong === undefined) return;
  throw new ConfigError(
    `config: expected a list of strings such as training.num_epochs=5 for overrides, got ${describe(wrong)}${Array.isArray(overrides) ? ' in the list' : ''}.`,
  );
}

export function parseOverride(text: string): Override {
  const match = /^(?:--)?([A-Za-z_][\w.[\]]*)=([\s\S]*)$/.exec(text);
  if (match === null)
    throw new ConfigError(
      `config: expected --section.key=value for an override, got ${JSON.stringify(text)}. Write for example --training.num_epochs=5.`,
    );
  const document = parseDocument(match[2]);
  if (document.errors.length > 0)
    throw new ConfigError(
      `config: expected a YAML value for ${match[1]} on the command line, got ${JSON.stringify(match[2])}. Quote it, or write lists as [a, b].`,
    );
  return { path: parsePath(match[1]), value: document.toJS() };
}

/** Returns a copy of `tree` with the overrides applied; missing sections are created. */
export function applyOverrides(tree: Tree, overrides: readonly Override[]): Tree {
  const root = structuredClone(tree);
  for (const { path, value } of overrides) {
    let at: Record<string | number, unknown> = root;
    for (const [depth, key] of path.entries()) {
      checkStep(at, path, depth);
      if (depth === path.length - 1) at[key] = value;
      else {
        if (!Object.hasOwn(at, key) || at[key] === null || at[key] === undefined) at[key] = {};
        at = at[key] as Record<string | number, unknown>;
      }
    }
  }
  return root;
}

/** Throws unless `at`, the value at depth `depth` of the path, can hold the next key of the path. */
function checkStep(at: unknown, path: Override['path'], depth: number): void {
  const key = path[depth];
  const where = showPath(path.slice(0, depth));
  if (Array.isArray(at)) {
    if (typeof key === 'number' && key <= at.length) return;
    throw new ConfigError(
      `config: expected an index from 0 to ${at.length} in the list ${where}, got ${key}. Write for example --${where}[0]=….`,
    );
  }
  if (!isTree(at))
    throw new ConfigError(
      `config: expected a section for ${where}, got ${JSON.stringify(at)}. The override ${showPath(path)} needs one.`,
    );
  if (key === '__proto__' || key === '')
    throw new ConfigError(`config: expected a known key, got ${showPath(path)}. See docs/configuration.md.`);
}

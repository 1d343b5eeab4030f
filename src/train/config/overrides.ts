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

/** Plain JavaScript may give anything. */
export function checkOverrides(overrides: unknown): void {
  const wrong = Array.isArray(overrides)
    ? overrides.find((text) => typeof text !== 'string')
    : (overrides ?? null);
  if (wrong === undefined) return;
  throw new ConfigError(
    `config: expected a list of texts such as training.num_epochs=5 for overrides, got ${describe(wrong)}${Array.isArray(overrides) ? ' among them' : ''}.`,
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

/** A copy of `tree` with the overrides set, sections made where they are missing. */
export function applyOverrides(tree: Tree, overrides: readonly Override[]): Tree {
  const root = structuredClone(tree);
  for (const { path, value } of overrides) {
    let at: Record<string | number, unknown> = root;
    for (const [depth, part] of path.entries()) {
      checkStep(at, path, depth);
      if (depth === path.length - 1) at[part] = value;
      else {
        if (!Object.hasOwn(at, part) || at[part] === null || at[part] === undefined) at[part] = {};
        at = at[part] as Record<string | number, unknown>;
      }
    }
  }
  return root;
}

/** Is there a place for the part of the path at `depth`? */
function checkStep(at: unknown, path: Override['path'], depth: number): void {
  const part = path[depth];
  const where = showPath(path.slice(0, depth));
  if (Array.isArray(at)) {
    if (typeof part === 'number' && part <= at.length) return;
    throw new ConfigError(
      `config: expected a place from 0 to ${at.length} in the list ${where}, got ${part}. Write for example --${where}[0]=….`,
    );
  }
  if (!isTree(at))
    throw new ConfigError(
      `config: expected a section for ${where}, got ${JSON.stringify(at)}. The override ${showPath(path)} needs one.`,
    );
  if (part === '__proto__' || part === '')
    throw new ConfigError(
      `config: expected a known key, got ${showPath(path)}. Look at docs/configuration.md.`,
    );
}

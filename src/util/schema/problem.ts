/** Problems of a configuration: key path, what was expected, what was found, what to do. */
import { describe } from '../errors.js';
import { nearest } from '../nearest.js';
import { isTree, type KeyPath, showPath } from './key-path.js';

export interface ConfigProblem {
  /** For example `training.num_epochs`. */
  readonly key: string;
  readonly message: string;
}

export function problem(path: KeyPath | string, what: string, got: unknown, fix: string): ConfigProblem {
  const key = typeof path === 'string' ? path : showPath(path);
  return { key, message: `expected ${what} for ${key}, got ${render(got)}. ${fix}` };
}

/** Like `describe`, with the content of small mappings. */
function render(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (isTree(value)) {
    const text = JSON.stringify(value);
    return text.length <= 60 ? text : `a section with ${Object.keys(value).slice(0, 4).join(', ')}`;
  }
  return describe(value);
}

/** Returns the problem of a key that its section does not have. */
export function unknownKey(path: KeyPath, known: readonly string[]): ConfigProblem {
  const key = showPath(path);
  const close = nearest(String(path[path.length - 1]), known);
  const advice =
    close !== undefined
      ? `Did you mean ${showPath([...path.slice(0, -1), close])}?`
      : known.length === 0
        ? 'Remove it: this section has no keys.'
        : `Known keys here: ${known.join(', ')}.`;
  return { key, message: `expected a known key, got ${key}. ${advice}` };
}

/** Returns advice on how to write a list, if names or numbers were given without brackets. */
export function listAdvice(got: unknown): string | undefined {
  if (typeof got !== 'string' && typeof got !== 'number') return undefined;
  const items = String(got)
    .split(/[\s,]+/)
    .filter((item) => item !== '');
  return `Write a list in brackets: [${items.join(', ')}].`;
}

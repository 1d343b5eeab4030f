/** What is wrong with a configuration, as sentences: key path, what was expected, what came, what to do. */
import { describe } from '../errors.js';
import { nearest } from '../nearest.js';
import { isTree, type KeyPath, showPath } from './key-path.js';

/** One thing wrong with a configuration. */
export interface ConfigProblem {
  /** For example `training.num_epochs`. */
  readonly key: string;
  readonly message: string;
}

export function problem(path: KeyPath | string, what: string, got: unknown, fix: string): ConfigProblem {
  const key = typeof path === 'string' ? path : showPath(path);
  return { key, message: `expected ${what} for ${key}, got ${shown(got)}. ${fix}` };
}

/** Like `describe`, with the content of small mappings. */
function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (isTree(value)) {
    const text = JSON.stringify(value);
    return text.length <= 60 ? text : `a section with ${Object.keys(value).slice(0, 4).join(', ')}`;
  }
  return describe(value);
}

/** A key that the section at its path does not have. */
export function unknownKey(path: KeyPath, known: readonly string[]): ConfigProblem {
  const key = showPath(path);
  const close = nearest(String(path[path.length - 1]), known);
  const advice =
    close !== undefined
      ? `Did you mean ${showPath([...path.slice(0, -1), close])}?`
      : known.length === 0
        ? 'Remove it: this section takes no keys here.'
        : `Known keys here: ${known.join(', ')}.`;
  return { key, message: `expected a known key, got ${key}. ${advice}` };
}

/** How a list is written, where words or numbers came without brackets. */
export function listAdvice(got: unknown): string | undefined {
  if (typeof got !== 'string' && typeof got !== 'number') return undefined;
  const items = String(got)
    .split(/[\s,]+/)
    .filter((item) => item !== '');
  return `Write a list in brackets: [${items.join(', ')}].`;
}

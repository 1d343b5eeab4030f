/**
 * Keys of other programs' configurations that have no effect here: they are dropped, with one warning each, so that
 * such files run. A value that requests what happens anyway is dropped silently.
 */
import { isTree, type KeyPath, showPath } from './key-path.js';

export interface IgnoredKey {
  /** Key path; `*` stands for any one index. */
  readonly key: string;
  readonly why: string;
  /** The value that needs no warning. */
  readonly same?: unknown;
  /** Whether to ignore the key in the mapping that has it; where not, the schema decides. */
  readonly where?: (holder: Readonly<Record<string, unknown>>) => boolean;
}

/** Removes the ignored keys from `tree` and warns about each. */
export function dropIgnored(
  tree: unknown,
  ignored: readonly IgnoredKey[],
  warn: (message: string) => void,
): void {
  for (const { key, why, same, where } of ignored) {
    const parts = key.split('.');
    const last = parts.pop() as string;
    const found: string[] = [];
    for (const { holder, path } of holders(tree, parts)) {
      if (!(last in holder) || where?.(holder) === false) continue;
      if (holder[last] !== same) found.push(showPath([...path, last]));
      delete holder[last];
    }
    if (found.length > 0) warn(`${found[0]}: has no effect, ${why}.`);
  }
}

interface Holder {
  readonly holder: Record<string, unknown>;
  readonly path: KeyPath;
}

function holders(value: unknown, parts: readonly string[], path: KeyPath = []): Holder[] {
  if (parts.length === 0) return isTree(value) ? [{ holder: value, path }] : [];
  const [head, ...rest] = parts;
  if (head === '*')
    return Array.isArray(value) ? value.flatMap((item, i) => holders(item, rest, [...path, i])) : [];
  return isTree(value) && head in value ? holders(value[head], rest, [...path, head]) : [];
}

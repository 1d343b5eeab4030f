/** Key paths such as `model.encoder.layers[0][1].type`, and trees of plain objects and lists addressed by them. */

export type KeyPath = readonly (string | number)[];
export type Tree = Record<string, unknown>;

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function showPath(path: KeyPath): string {
  let shown = '';
  for (const part of path) shown += typeof part === 'number' ? `[${part}]` : shown === '' ? part : `.${part}`;
  return shown;
}

/** Reads `model.encoder.layers[0][1].type` or `model.encoder.layers.0.1.type`. */
export function parsePath(text: string): (string | number)[] {
  return text
    .replace(/\[(\d+)\]/g, '.$1')
    .split('.')
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

export function valueAt(root: unknown, path: KeyPath): unknown {
  let value = root;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string | number, unknown>)[part];
  }
  return value;
}

/**
 * Returns every path of a value, lists included: `storage.dataset.dataset_dir`, `model.encoder.layers[0][0].type`, …
 */
export function leafPaths(value: unknown, path: KeyPath = []): string[] {
  if (Array.isArray(value))
    return [showPath(path), ...value.flatMap((item, i) => leafPaths(item, [...path, i]))];
  if (isTree(value)) {
    const inner = Object.entries(value).flatMap(([key, item]) => leafPaths(item, [...path, key]));
    return path.length === 0 ? inner : [showPath(path), ...inner];
  }
  return [showPath(path)];
}

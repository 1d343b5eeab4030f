/**
 * Returns the names that a module exports by `export *`. The language leaves out a name that two of its modules define
 * differently, unless the module exports it itself.
 *
 * @template T
 * @param {readonly string[]} stars the modules of `export *`
 * @param {(module: string) => Map<string, T>} exportsOf
 * @param {(found: T) => string} keyOf tells definitions apart
 * @returns {Map<string, T>}
 */
export function starExports(stars, exportsOf, keyOf) {
  const all = new Map();
  const ambiguous = new Set();
  for (const [name, found] of stars.flatMap((star) => [...exportsOf(star)])) {
    if (all.has(name) && keyOf(all.get(name)) !== keyOf(found)) ambiguous.add(name);
    all.set(name, found);
  }
  for (const name of ambiguous) all.delete(name);
  return all;
}

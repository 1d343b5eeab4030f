/**
 * Checks the names of options: TypeScript rejects a misspelt name, plain JavaScript would ignore it silently. The known
 * names are typed by the type of the options, so that the two cannot drift apart.
 */
import { expected, ValueError } from './errors.js';
import { nearest } from './nearest.js';

type KeysOf<T> = T extends unknown ? keyof T : never;

/** Every option of T, each once. */
export type OptionNames<T> = { readonly [K in KeysOf<T> & string]: true };

/**
 * The names accepted so far by options object. A function may pass checked options on unchanged to functions that have
 * fewer options; names added to the object later are still checked.
 */
const accepted = new WeakMap<object, Set<string>>();

/**
 * Throws if an option is not among `names`; the error suggests the nearest one, such as `pipelineDepth` for
 * `pipeline_depth`.
 *
 * @example
 * checkOptionNames('erdosRenyi', options, { seed: true, directed: true });
 */
export function checkOptionNames<T extends object>(
  where: string,
  options: T | undefined,
  names: NoInfer<OptionNames<T>>,
): void {
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null)
    throw new ValueError(expected(where, 'an object', 'options', options));
  const before = accepted.get(options);
  const keys = Object.keys(options);
  for (const name of keys) {
    if (Object.hasOwn(names, name) || before?.has(name) === true) continue;
    const all = Object.keys(names);
    const close = nearestName(name, all);
    const advice =
      close === undefined ? `Known options: ${all.sort().join(', ')}.` : `Did you mean ${close}?`;
    throw new ValueError(`${where}: expected a known option, got ${name}. ${advice}`);
  }
  if (before === undefined) accepted.set(options, new Set(keys));
  else for (const name of keys) before.add(name);
}

/** Returns the nearest known name; one with the same letters in another style (batch_size, batchSize) comes first. */
function nearestName(name: string, all: readonly string[]): string | undefined {
  const letters = (text: string): string => text.replace(/[^a-zA-Z0-9]/g, '').toLowerCase();
  return all.find((other) => letters(other) === letters(name)) ?? nearest(name, all);
}

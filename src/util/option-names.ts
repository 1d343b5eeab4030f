/**
 * Names of options, checked where a function takes them: TypeScript refuses a misspelt name, plain JavaScript would ignore
 * it in silence. The known names are typed by the options' own type, so that the two cannot drift apart.
 */
import { expected, ValueError } from './errors.js';
import { nearest } from './nearest.js';

type KeysOf<T> = T extends unknown ? keyof T : never;

/** Every option of T, each once. */
export type OptionNames<T> = { readonly [K in KeysOf<T> & string]: true };

/**
 * What a function checked it may hand to others as it is, with names that they do not have: the names that were accepted,
 * not the object, which may get others later.
 */
const accepted = new WeakMap<object, Set<string>>();

/**
 * Refuses an option that is not among `names`, with the nearest known one: `pipeline_depth` is told of `pipelineDepth`.
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

/** The same letters in another style come first: batch_size is batchSize. */
function nearestName(name: string, all: readonly string[]): string | undefined {
  const letters = (text: string): string => text.replace(/[^a-zA-Z0-9]/g, '').toLowerCase();
  return all.find((other) => letters(other) === letters(name)) ?? nearest(name, all);
}

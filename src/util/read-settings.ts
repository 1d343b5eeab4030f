/**
 * Reads sections whose keys are `Settings`: fills in defaults and reports all problems, with the messages of the
 * configuration's validator (util/schema/fields.ts). It is small and needs no library, so that browsers can read a
 * model file; a test compares the two.
 */
import { nearest } from './nearest.js';
import { isTree, type Tree } from './schema/key-path.js';
import { type ConfigProblem, listAdvice, problem, unknownKey } from './schema/problem.js';
import type { Setting, Settings, ValuesOf } from './settings.js';

export type Sections = Readonly<Record<string, Settings>>;

/** The values of sections once they are read. */
export type SectionValues<S extends Sections> = { readonly [K in keyof S]: ValuesOf<S[K]> };

export type ReadSections<S extends Sections> =
  | { readonly values: SectionValues<S>; readonly problems: readonly [] }
  | { readonly values: null; readonly problems: readonly ConfigProblem[] };

/** Reads sections. @param tree the sections of a file; one that is absent or empty has its defaults. */
export function readSections<S extends Sections>(sections: S, tree: Tree): ReadSections<S> {
  const problems: ConfigProblem[] = [];
  const values = Object.fromEntries(
    Object.entries(sections).map(([name, settings]) => [
      name,
      readSection(name, settings, tree[name], problems),
    ]),
  );
  const known = Object.keys(sections);
  for (const name of Object.keys(tree)) if (!known.includes(name)) problems.push(unknownKey([name], known));
  if (problems.length > 0) return { values: null, problems };
  return { values: values as SectionValues<S>, problems: [] };
}

function readSection(name: string, settings: Settings, given: unknown, problems: ConfigProblem[]): Tree {
  const known = Object.keys(settings);
  const section = given ?? {};
  if (!isTree(section)) {
    const what =
      known.length === 0 ? 'no options' : `a section with keys such as ${known.slice(0, 3).join(', ')}`;
    problems.push(problem(name, what, given, 'Change the value.'));
    return {};
  }
  const values: Tree = {};
  for (const [key, setting] of Object.entries(settings)) {
    const value = section[key] === undefined ? setting.standard : section[key];
    const read = readValue(setting, value);
    if ('expected' in read) {
      const at = [name, key, ...(read.at === undefined ? [] : [read.at])];
      const got = read.at === undefined ? value : (value as readonly unknown[])[read.at];
      const fix = read.fix ?? (got === undefined ? 'Add the key.' : 'Change the value.');
      problems.push(problem(at, read.expected, got, fix));
    } else values[key] = read.value;
  }
  for (const key of Object.keys(section))
    if (!known.includes(key)) problems.push(unknownKey([name, key], known));
  return values;
}

type ReadValue =
  | { readonly value: unknown }
  /** `at`: the index of the wrong element in a list. */
  | { readonly expected: string; readonly fix?: string | undefined; readonly at?: number };

/** Returns the value of a setting, or what was expected instead. */
export function readValue(setting: Setting, value: unknown): ReadValue {
  switch (setting.kind) {
    case 'flag':
      return typeof value === 'boolean' ? { value } : { expected: 'true or false' };
    case 'choice':
      return readChoice(setting, value);
    case 'list': {
      if (!Array.isArray(value)) return { expected: setting.what, fix: listAdvice(value) };
      const at = value.findIndex((item) => !isInRange({ kind: 'integer', min: setting.min }, item));
      if (at >= 0) return { expected: `a whole number of at least ${setting.min}`, at };
      return { value: [...value] };
    }
    default:
      return isInRange(setting, value) ? { value } : { expected: rangeText(setting) };
  }
}

/** The numbers that a setting accepts. */
export interface Range {
  readonly kind: 'integer' | 'number';
  readonly min?: number;
  readonly max?: number;
  readonly above?: number;
  readonly below?: number;
}

function isInRange(
  { kind, min = -Infinity, max = Infinity, above = -Infinity, below = Infinity }: Range,
  value: unknown,
): boolean {
  if (
    typeof value !== 'number' ||
    !(kind === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value))
  )
    return false;
  return value >= min && value <= max && value > above && value < below;
}

/** Describes a range: `a number from 0 up to, not including, 1`. */
export function rangeText({ kind, min, max, above, below }: Range): string {
  const noun = kind === 'integer' ? 'a whole number' : 'a number';
  const from = above === undefined && min !== undefined;
  const upper = below !== undefined || max !== undefined;
  const parts = [
    ...(above === undefined ? [] : [`above ${above}`]),
    ...(from ? [upper ? `from ${min}` : `of at least ${min}`] : []),
    ...(below === undefined ? [] : [from ? `up to, not including, ${below}` : `below ${below}`]),
    ...(max === undefined || below !== undefined ? [] : [from ? `to ${max}` : `of at most ${max}`]),
  ];
  return [noun, ...parts].join(' ').replace(/(above \S+) /, '$1 and ');
}

function readChoice(
  { values, aliases = {} }: Extract<Setting, { kind: 'choice' }>,
  given: unknown,
): ReadValue {
  const lower = typeof given === 'string' ? given.trim().toLowerCase() : '';
  const value =
    values.find((known) => known.toLowerCase() === lower) ??
    (Object.hasOwn(aliases, lower) ? aliases[lower] : undefined);
  if (value !== undefined) return { value };
  const close = typeof given === 'string' ? nearest(given, values) : undefined;
  const expected = `one of ${values.join(', ')}`;
  return close === undefined ? { expected } : { expected, fix: `Did you mean ${close}?` };
}

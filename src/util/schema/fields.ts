/**
 * Building blocks of the schema: zod types whose message is the "what was expected" of an error and whose metadata is a
 * line of docs/configuration.md; enumerations may be in any case. A section that is empty in YAML (null) is treated as
 * absent. `.prefault` gives the default, so that defaults pass the same checks as given values.
 */
import { z } from 'zod';
import { nearest } from '../nearest.js';
import { type Range, rangeText } from '../read-settings.js';
import type { ConfigType, Setting, Settings, ValuesOf } from '../settings.js';
import { parseByteCount } from '../size.js';

declare global {
  // zod's declarations refer to it, and the types of configurations follow from schemas, but a project with neither the
  // types of DOM nor those of Node.js has no URL. With them, the declarations merge.
  interface URL {}
}

/** The documentation of a key. */
export interface FieldNote {
  readonly doc: string;
  /** Whether Marius lacks this key. */
  readonly ours?: boolean;
  /** The text of the default in the documentation, where the value is not clear enough. */
  readonly shown?: string;
}

type DeepReadonly<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** The output of a schema, deeply read-only. */
export type ReadonlyOutput<T extends z.ZodType> = DeepReadonly<z.output<T>>;

/** The expected values as text, which is also the message of every zod issue about the value. */
const expectedTexts = new WeakMap<z.ZodType, string>();
const notes = new WeakMap<z.ZodType, FieldNote>();
/** The aliases of choices. */
const choiceAliases = new WeakMap<z.ZodType, readonly string[]>();
const standards = new WeakMap<z.ZodType, Standard<string>>();

export const expectedOf = (schema: z.ZodType): string | undefined => expectedTexts.get(schema);
export const aliasesOfChoice = (schema: z.ZodType): readonly string[] => choiceAliases.get(schema) ?? [];
export const noteOf = (schema: z.ZodType): FieldNote | undefined => notes.get(schema);

/** Records what a schema expects, for messages and documentation. */
export function withExpected<T extends z.ZodType>(schema: T, text: string): T {
  expectedTexts.set(schema, text);
  return schema;
}

/** Makes a key with a default and a line of documentation. */
export function field<T extends z.ZodType>(schema: T, value: z.input<T>, note: FieldNote | string) {
  const made = schema.prefault(value as never);
  notes.set(made, typeof note === 'string' ? { doc: note } : note);
  return made;
}

/** Makes a key without a default. */
export function required<T extends z.ZodType>(schema: T, note: FieldNote | string): T {
  notes.set(schema, typeof note === 'string' ? { doc: note } : note);
  return schema;
}

/** Returns the default of a key; undefined if it has none. */
export function defaultOf(schema: z.ZodType): unknown {
  const { def } = schema as unknown as { def: { type: string; defaultValue?: unknown } };
  return def.type === 'prefault' ? def.defaultValue : undefined;
}

function range(min: number, max: number): string {
  if (max >= Number.MAX_SAFE_INTEGER) max = Number.POSITIVE_INFINITY;
  if (min > Number.NEGATIVE_INFINITY && max < Number.POSITIVE_INFINITY) return ` from ${min} to ${max}`;
  if (min > Number.NEGATIVE_INFINITY) return ` of at least ${min}`;
  return max < Number.POSITIVE_INFINITY ? ` of at most ${max}` : '';
}

export function integer(min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY) {
  const text = `a whole number${range(min, max)}`;
  return withExpected(z.number(text).int(text).min(min, text).max(max, text), text);
}

/** A whole number of at least 1, or -1 for `meaning`. */
export function countOr(meaning: string) {
  const text = `a whole number of at least 1, or -1 (${meaning})`;
  return withExpected(
    z
      .number(text)
      .int(text)
      .refine((value) => value === -1 || value >= 1, text),
    text,
  );
}

export function number(min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY) {
  const text = `a number${range(min, max)}`;
  return withExpected(z.number(text).min(min, text).max(max, text), text);
}

/** A number above 0, or -1 for `meaning`. */
export function positiveOr(meaning: string) {
  const text = `a number above 0, or -1 (${meaning})`;
  return withExpected(
    z.number(text).refine((value) => value === -1 || value > 0, text),
    text,
  );
}

/** A number above 0. */
export function positive() {
  return withExpected(z.number('a number above 0').positive('a number above 0'), 'a number above 0');
}

/** A number in [0, 1). */
export function fraction() {
  const text = 'a number from 0 up to, not including, 1';
  return withExpected(z.number(text).min(0, text).lt(1, text), text);
}

export function flag() {
  return withExpected(z.boolean('true or false'), 'true or false');
}

export function text(what = 'a text') {
  return withExpected(z.string(what), what);
}

/** A number of bytes of at least `min`, also written as 500M or 2G. */
export function size(min = 1) {
  const text = `a size such as 2G, 500M or a number of bytes${min === 0 ? ', or 0' : ''}`;
  return withExpected(
    z.union([z.string(), z.number()], text).transform((value, context) => {
      const bytes = min === 0 && Number(value) === 0 ? 0 : parseByteCount(value);
      if (bytes !== undefined) return bytes;
      context.addIssue({ code: 'custom', message: text, input: value });
      return z.NEVER;
    }),
    text,
  );
}

/** A time in seconds, also written as 45s, 30m or 1.5h. */
export function timeSpan() {
  const text = 'a time such as 45s, 30m or 1.5h, or a number of seconds above 0';
  return withExpected(
    z.union([z.string(), z.number()], text).transform((value, context) => {
      const match = /^\s*(\d+(?:\.\d*)?|\.\d+)\s*([smhd]?)\s*$/i.exec(String(value));
      const seconds = match === null ? 0 : Number(match[1]) * secondsOf[match[2].toLowerCase()];
      if (seconds > 0 && Number.isFinite(seconds)) return seconds;
      context.addIssue({ code: 'custom', message: text, input: value });
      return z.NEVER;
    }),
    text,
  );
}

const secondsOf: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };

/** One of `values`, in any case, or one of the `aliases` (written in lower case). */
export function choice<const V extends readonly [string, ...string[]]>(
  values: V,
  aliases: Readonly<Record<string, V[number]>> = {},
) {
  const text = `one of ${values.join(', ')}`;
  const message = (issue: { readonly input?: unknown }): string => text + didYouMean(issue.input, values);
  const known = z.enum(values, { error: message });
  choiceAliases.set(known, Object.keys(aliases));
  return withExpected(
    z.preprocess((value) => canonical(value, values, aliases), known),
    text,
  );
}

function canonical<V extends readonly string[]>(
  value: unknown,
  values: V,
  aliases: Readonly<Record<string, V[number]>>,
): unknown {
  if (typeof value !== 'string') return value;
  const lower = value.trim().toLowerCase();
  return (
    values.find((known) => known.toLowerCase() === lower) ??
    (Object.hasOwn(aliases, lower) ? aliases[lower] : value)
  );
}

/** Returns the suggestion that is appended to a message if one of `values` is near; problemsOf separates the two. */
export function didYouMean(input: unknown, values: readonly string[]): string {
  const close = typeof input === 'string' ? nearest(input, values) : undefined;
  return close === undefined ? '' : `\u0001Did you mean ${close}?`;
}

type Shape = Readonly<Record<string, z.ZodType>>;

function strict<S extends Shape>(shape: S) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    // The message of an unknown key lists the known ones, which problemsOf cannot find otherwise.
    error: (issue) => (issue.code === 'unrecognized_keys' ? known.join(' ') : sectionText(known)),
  });
}

const sectionText = (known: readonly string[]): string =>
  known.length === 0 ? 'no options' : `a section with keys such as ${known.slice(0, 3).join(', ')}`;

/** A mapping with exactly these keys. */
export function section<S extends Shape>(shape: S) {
  return z.preprocess((value) => value ?? {}, strict(shape));
}

interface Standard<V extends string> {
  /** The default type. */
  readonly type: V;
  readonly aliases?: Readonly<Record<string, V>>;
}

/** The options of each type: a shape or a schema. */
type Variants = Readonly<Record<string, Shape | z.ZodType>>;
/** The output of a shape: defaults are filled in, so that every key has a value. */
type OutputOf<S extends Shape> = { readonly [K in keyof S]: z.output<S[K]> };
type OptionsOf<O> = O extends z.ZodType ? z.output<O> : O extends Shape ? OutputOf<O> : never;
type VariantOf<M extends Variants, C extends Shape> = {
  [K in keyof M & string]: { readonly type: K; readonly options: OptionsOf<M[K]> } & OutputOf<C>;
}[keyof M & string];

/** A mapping `{ type, …common, options }` whose options follow from its type. */
export function variants<M extends Variants, C extends Shape = Record<never, never>>(
  byType: M,
  standard: Standard<keyof M & string> | null,
  common: C = {} as C,
): z.ZodType<VariantOf<M, C>, unknown> {
  const members = Object.entries(byType).map(([type, options]) => {
    const inner = options instanceof z.ZodType ? options : section(options);
    return strict({ type: z.literal(type), ...common, options: inner.prefault({} as never) });
  });
  return tagged(Object.keys(byType), members, standard) as unknown as z.ZodType<VariantOf<M, C>, unknown>;
}

type FlatOf<M extends Readonly<Record<string, Shape>>> = {
  [K in keyof M & string]: { readonly type: K } & OutputOf<M[K]>;
}[keyof M & string];

/** A mapping `{ type, …keys of that type }`, all on one level. */
export function flatVariants<M extends Readonly<Record<string, Shape>>>(
  byType: M,
  standard: Standard<keyof M & string> | null,
): z.ZodType<FlatOf<M>, unknown> {
  const members = Object.entries(byType).map(([type, shape]) => strict({ type: z.literal(type), ...shape }));
  return tagged(Object.keys(byType), members, standard) as unknown as z.ZodType<FlatOf<M>, unknown>;
}

function tagged(
  types: readonly string[],
  members: readonly z.ZodObject[],
  standard: Standard<string> | null,
) {
  const union = z.discriminatedUnion('type', members as unknown as [z.ZodObject], {
    error: (issue) => `one of ${types.join(', ')}${didYouMean(typeIn(issue.input), types)}`,
  });
  if (standard !== null) standards.set(union, standard);
  return z.preprocess((value) => {
    if (value === null || value === undefined) return standard === null ? {} : { type: standard.type };
    if (typeof value !== 'object' || Array.isArray(value)) return value;
    const { type, ...rest } = value as { type?: unknown };
    return { type: canonical(type ?? standard?.type, types, standard?.aliases ?? {}), ...rest };
  }, union);
}

/** Returns the default type of a mapping and the aliases of its types. */
export const standardOfUnion = (union: z.ZodType): Standard<string> | undefined =>
  standards.get(union) ?? undefined;

const typeIn = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? (value as { type?: unknown }).type : value;

/** Returns the zod type of a setting. */
function settingField(setting: Setting): z.ZodType {
  const { standard, doc, ours } = setting;
  const note = { doc, ...(ours === true ? { ours } : {}) };
  const type = settingType(setting) as z.ZodType<unknown, unknown>;
  return standard === undefined ? required(type, note) : field(type, standard, note);
}

function settingType(setting: Setting): z.ZodType {
  if (setting.kind === 'flag') return flag();
  if (setting.kind === 'choice')
    return choice(setting.values as unknown as readonly [string, ...string[]], setting.aliases);
  if (setting.kind === 'list') return list(integer(setting.min), setting.what);
  return inRange(setting);
}

/** A number within all bounds that are given. */
function inRange(range: Range): z.ZodType<number, number> {
  const { kind, min, max, above, below } = range;
  const text = rangeText(range);
  // Report one issue per value.
  const how = { error: text, abort: true };
  let type = kind === 'integer' ? z.number(text).int(how) : z.number(text);
  if (min !== undefined) type = type.min(min, how);
  if (max !== undefined) type = type.max(max, how);
  if (above !== undefined) type = type.gt(above, how);
  if (below !== undefined) type = type.lt(below, how);
  return withExpected(type, text);
}

type ShapeOf<S extends Settings> = {
  -readonly [K in keyof S]: z.ZodType<ValuesOf<S>[K], unknown>;
};

/** Returns the keys of settings as zod types. */
export function settingsShape<S extends Settings>(settings: S): ShapeOf<S> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, setting]) => [key, settingField(setting)]),
  ) as ShapeOf<S>;
}

type ShapesOf<R extends ConfigType> = { [K in R as K['name']]: ShapeOf<K['settings']> };

/** Returns the keys of each type, for `variants` and `flatVariants`. */
export function typeShapes<R extends ConfigType>(types: readonly R[]): ShapesOf<R> {
  return Object.fromEntries(
    types.map(({ name, settings }) => [name, settingsShape(settings)]),
  ) as unknown as ShapesOf<R>;
}

export function list<T extends z.ZodType>(item: T, what: string) {
  return withExpected(z.array(item, what), what);
}

/**
 * Settings as data: which values a key of a configuration accepts, its default and its line of documentation. The
 * folder that owns a layer, a loss or an optimiser describes its options with these, next to the code that reads them;
 * `train/config` turns them into a validator, documentation and a JSON Schema. Nothing here validates, which keeps the
 * code small for browsers.
 */

interface Common<T> {
  /** The default; undefined if a value must be given. */
  readonly standard: T | undefined;
  /** One sentence for the documentation. */
  readonly doc: string;
  /** Whether Marius lacks this key. */
  readonly ours?: boolean;
}

export interface NumberSetting extends Common<number> {
  readonly kind: 'integer' | 'number';
  readonly min?: number;
  readonly max?: number;
  /** An exclusive lower bound. */
  readonly above?: number;
  /** An exclusive upper bound. */
  readonly below?: number;
}

export interface FlagSetting extends Common<boolean> {
  readonly kind: 'flag';
}

export interface ChoiceSetting<V extends string = string> extends Common<V> {
  readonly kind: 'choice';
  readonly values: readonly V[];
  /** Other spellings, in lower case. */
  readonly aliases?: Readonly<Record<string, V>>;
}

export interface ListSetting extends Common<readonly number[]> {
  readonly kind: 'list';
  /** The least value of an element, which is a whole number. */
  readonly min: number;
  /** A description of the list, for messages. */
  readonly what: string;
}

export type Setting = NumberSetting | FlagSetting | ChoiceSetting | ListSetting;
export type Settings = Readonly<Record<string, Setting>>;

/** The values that settings have once a configuration is read. */
export type ValuesOf<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends { readonly kind: 'flag' }
    ? boolean
    : S[K] extends { readonly kind: 'list' }
      ? readonly number[]
      : S[K] extends ChoiceSetting<infer V>
        ? V
        : number;
};

type More = Pick<Common<unknown>, 'ours'>;

/** A whole number of at least `min`. */
export function integer(min: number, standard: number, doc: string, more: More = {}): NumberSetting {
  return { kind: 'integer', min, standard, doc, ...more };
}

/** A finite number within the bounds that are given. */
export function number(
  standard: number,
  doc: string,
  more: More & { readonly min?: number; readonly max?: number } = {},
): NumberSetting {
  return { kind: 'number', standard, doc, ...more };
}

/** A number above 0. */
export function positive(standard: number, doc: string, more: More = {}): NumberSetting {
  return { kind: 'number', above: 0, standard, doc, ...more };
}

/** A number of at least 0 and below 1. */
export function fraction(standard: number, doc: string, more: More = {}): NumberSetting {
  return { kind: 'number', min: 0, below: 1, standard, doc, ...more };
}

export function flag(standard: boolean, doc: string, more: More = {}): FlagSetting {
  return { kind: 'flag', standard, doc, ...more };
}

/** One of `values`, in any case. */
export function choice<const V extends string>(
  values: readonly V[],
  standard: NoInfer<V>,
  doc: string,
  more: More & { readonly aliases?: Readonly<Record<string, NoInfer<V>>> } = {},
): ChoiceSetting<V> {
  return { kind: 'choice', values, standard, doc, ...more };
}

/** One of `values`, without a default. */
export function requiredChoice<const V extends string>(values: readonly V[], doc: string): ChoiceSetting<V> {
  return { kind: 'choice', values, standard: undefined, doc };
}

/** A list of whole numbers of at least `min`; `each` states what an element belongs to, for messages. */
export function integers(min: number, each: string, standard: readonly number[], doc: string): ListSetting {
  return { kind: 'list', min, what: `a list of whole numbers of at least ${min}, ${each}`, standard, doc };
}

/** A type that a configuration can name (`type: GAT`), with its settings. Registries extend it by what they need. */
export interface ConfigType<N extends string = string, S extends Settings = Settings> {
  readonly name: N;
  /** Other spellings, in lower case. */
  readonly aliases?: readonly string[];
  /** For the documentation, where the name needs explaining. */
  readonly doc?: string;
  readonly settings: S;
}

/** A type with its options, as a configuration gives them. */
export type Chosen<R extends ConfigType> =
  R extends ConfigType<infer N, infer S> ? { readonly type: N; readonly options: ValuesOf<S> } : never;

/** Returns the record called `name`, which validation has found to exist. */
export function getRecord<R extends ConfigType>(types: readonly R[], name: string): R {
  const found = types.find((record) => record.name === name);
  if (found === undefined) throw new TypeError(`no record for ${name}`);
  return found;
}

/** Returns the names of types by their aliases. */
export function aliasesOf<R extends ConfigType>(types: readonly R[]): Readonly<Record<string, R['name']>> {
  return Object.fromEntries(types.flatMap(({ name, aliases = [] }) => aliases.map((alias) => [alias, name])));
}

/**
 * Settings as data: what a key of a configuration may hold, its default and its line of documentation. The folder that owns
 * a layer, a loss or an optimiser describes its options with these, beside the code that reads them; `train/config` turns
 * them into a validator, documentation and a JSON Schema. Nothing here validates, so it costs a browser next to nothing.
 */

interface Common<T> {
  /** The value where none is given; undefined: one must be. */
  readonly standard: T | undefined;
  /** One sentence for the documentation. */
  readonly doc: string;
  /** Marius does not have this key. */
  readonly ours?: boolean;
}

export interface NumberSetting extends Common<number> {
  readonly kind: 'integer' | 'number';
  readonly min?: number;
  readonly max?: number;
  /** The value lies above this. */
  readonly above?: number;
  /** The value lies below this. */
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
  /** Each is a whole number of at least this. */
  readonly min: number;
  /** What the list holds, for messages. */
  readonly what: string;
}

export type Setting = NumberSetting | FlagSetting | ChoiceSetting | ListSetting;
export type Settings = Readonly<Record<string, Setting>>;

/** What settings become once they are read. */
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

/** Any finite number, or one of at least `min`. */
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

/** A number from 0 up to, not including, 1: a share that must leave something. */
export function share(standard: number, doc: string, more: More = {}): NumberSetting {
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

/** One of `values` that the file must give. */
export function requiredChoice<const V extends string>(values: readonly V[], doc: string): ChoiceSetting<V> {
  return { kind: 'choice', values, standard: undefined, doc };
}

/** A list of whole numbers of at least `min`; `each` says what the list has one of. */
export function integers(min: number, each: string, standard: readonly number[], doc: string): ListSetting {
  return { kind: 'list', min, what: `a list of whole numbers of at least ${min}, ${each}`, standard, doc };
}

/** What a configuration can name by a word: its options, and what a family of words has besides. */
export interface Word<W extends string = string, S extends Settings = Settings> {
  readonly word: W;
  /** Other spellings, in lower case. */
  readonly aliases?: readonly string[];
  /** For the documentation, where the word needs explaining. */
  readonly doc?: string;
  readonly settings: S;
}

/** `{ type, options }` of a word. */
export type Chosen<R extends Word> =
  R extends Word<infer W, infer S> ? { readonly type: W; readonly options: ValuesOf<S> } : never;

/** The record of a word that a configuration has named, so that it is known to be there. */
export function recordOf<R extends Word>(words: readonly R[], word: string): R {
  const found = words.find((record) => record.word === word);
  if (found === undefined) throw new TypeError(`no record for ${word}`);
  return found;
}

/** The other spellings of a family's words. */
export function aliasesOf<R extends Word>(words: readonly R[]): Readonly<Record<string, R['word']>> {
  return Object.fromEntries(words.flatMap(({ word, aliases = [] }) => aliases.map((alias) => [alias, word])));
}

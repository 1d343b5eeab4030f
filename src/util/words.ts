/**
 * Families of words that a configuration can name (decoders, graph layers, losses, …): those that are built in, and those
 * that a program or a plugin has registered in this process. One registry for all of them; what a word stands for is its
 * family's own business.
 */
import { checkSettings } from './check-settings.js';
import { expected, ValueError } from './errors.js';

/** Everything that is registered: `model.decoder.type MINE`. */
const registered = new Set<string>();
let version = 0;

/** Changes whenever a word comes or goes: what was made from all words must then be made again. */
export function wordsVersion(): number {
  return version;
}

/** The words that are registered, each with the key that names it: `model.decoder.type MINE`. */
export function registeredWords(): string[] {
  return [...registered];
}

/** Refuses what is no record at all, in the name of `where`. */
export function checkRecord(where: string, given: unknown): void {
  if (typeof given !== 'object' || given === null)
    throw new ValueError(
      expected(where, 'a record: an object with a word and what it makes', 'the argument', given),
    );
}

/** Hands on what a function of a user's record gives, if it is what the family needs. */
export function checkMade<T>(where: string, name: string, what: string, fits: boolean, made: T): T {
  if (fits) return made;
  throw new ValueError(expected(where, what, `what ${name} gives`, made));
}

const spellings = {
  capitals: { pattern: /^[A-Z][A-Z0-9_]*$/, text: 'a word of capital letters, digits and _' },
  small: { pattern: /^[a-z][a-z0-9_]*$/, text: 'a word of small letters, digits and _' },
} as const;

export interface FamilyOptions<R> {
  /** The key of a configuration that names one of them. */
  readonly key: string;
  readonly builtIn: readonly R[];
  /** `capitals` by default. */
  readonly spelling?: keyof typeof spellings;
  /** The property of a record that is its word; `word` by default. */
  readonly property?: keyof R & string;
  /** Records have settings, none of which is called this. */
  readonly reserved?: string;
  /** Words that mean something else under the key. */
  readonly taken?: readonly string[];
}

export class WordFamily<R extends object> {
  readonly key: string;
  readonly builtIn: readonly R[];
  readonly #spelling: (typeof spellings)[keyof typeof spellings];
  readonly #property: keyof R & string;
  readonly #reserved: string | undefined;
  readonly #taken: readonly string[];
  readonly #own = new Map<string, R>();

  constructor({ key, builtIn, spelling = 'capitals', property, reserved, taken = [] }: FamilyOptions<R>) {
    this.key = key;
    this.builtIn = builtIn;
    this.#spelling = spellings[spelling];
    this.#property = property ?? ('word' as keyof R & string);
    this.#reserved = reserved;
    this.#taken = taken;
  }

  /** The built-in ones first. */
  all(): readonly R[] {
    return [...this.builtIn, ...this.#own.values()];
  }

  find(word: string): R | undefined {
    return this.builtIn.find((record) => this.#wordOf(record) === word) ?? this.#own.get(word);
  }

  /** The record of a word; one that is not known is refused in the name of `where`. */
  named(word: string, where = 'config', name = this.key): R {
    const found = this.find(word);
    if (found !== undefined) return found;
    const known = this.all().map((record) => this.#wordOf(record));
    throw new ValueError(expected(where, `one of ${known.join(', ')}`, name, word));
  }

  /**
   * Adds a word to what configurations can name in this process.
   *
   * @param functions properties of the record that must be functions.
   * @returns takes it out again.
   */
  register(where: string, record: R, functions: readonly (keyof R & string)[]): () => void {
    checkRecord(where, record);
    const word = this.#wordOf(record);
    const { pattern, text } = this.#spelling;
    if (typeof word !== 'string' || !pattern.test(word))
      throw new ValueError(expected(where, text, this.#property, word));
    if (this.find(word) !== undefined || this.#isTaken(word))
      throw new ValueError(
        expected(where, 'a name that is not taken', this.#property, word, 'Choose another.'),
      );
    for (const name of functions)
      if (typeof record[name] !== 'function')
        throw new ValueError(expected(where, 'a function', name, record[name]));
    this.#checkSettings(where, (record as { readonly settings?: unknown }).settings);
    const entry = `${this.key} ${word}`;
    this.#own.set(word, record);
    registered.add(entry);
    version++;
    return () => {
      if (this.#own.get(word) !== record) return;
      this.#own.delete(word);
      registered.delete(entry);
      version++;
    };
  }

  /** Whether a word, in any case, is another spelling of one that is built in, or stands for something else. */
  #isTaken(word: string): boolean {
    const lower = word.toLowerCase();
    const aliases = this.builtIn.flatMap(
      (record) => (record as { aliases?: readonly string[] }).aliases ?? [],
    );
    return [...this.#taken, ...aliases].some((other) => other.toLowerCase() === lower);
  }

  #checkSettings(where: string, settings: unknown): void {
    const reserved = this.#reserved;
    if (reserved === undefined) return;
    if (typeof settings !== 'object' || settings === null || reserved in settings)
      throw new ValueError(
        expected(where, `settings by key, none called ${reserved},`, 'settings', settings),
      );
    checkSettings(where, settings);
  }

  #wordOf(record: R): string {
    return record?.[this.#property] as string;
  }
}

/**
 * Registries of what a configuration can name: decoders, graph layers, losses, optimisers, metrics, temporal models. A
 * registry holds the built-in records of one key, and those that a program or a plugin has registered in this process.
 */
import { checkSettings } from './check-settings.js';
import { expected, ValueError } from './errors.js';

/** The entries of all registries that are not built in, as `<key> <name>`: `model.decoder.type MINE`. */
const registered = new Set<string>();
let version = 0;

/**
 * Returns a number that changes whenever a name is registered or removed: schemas made earlier are then out of date.
 */
export function registryVersion(): number {
  return version;
}

/** Returns the registered names, each with the key of the configuration: `model.decoder.type MINE`. */
export function registeredNames(): string[] {
  return [...registered];
}

/** Throws, in the name of `where`, if `given` is not an object. */
export function checkRecord(where: string, given: unknown): void {
  if (typeof given !== 'object' || given === null)
    throw new ValueError(
      expected(where, 'a record: an object with a name and what it makes', 'the argument', given),
    );
}

/** Returns the result of a function of a custom record, or throws if it is not what its registry needs. */
export function checkResult<T>(where: string, call: string, what: string, fits: boolean, result: T): T {
  if (fits) return result;
  throw new ValueError(expected(where, what, `the result of ${call}`, result));
}

const spellings = {
  capitals: { pattern: /^[A-Z][A-Z0-9_]*$/, text: 'a name of capital letters, digits and _' },
  small: { pattern: /^[a-z][a-z0-9_]*$/, text: 'a name of small letters, digits and _' },
} as const;

export interface RegistryOptions<R> {
  /** The key of the configuration whose value is one of the names. */
  readonly key: string;
  readonly builtIn: readonly R[];
  /** How custom names are spelt; `capitals` by default. */
  readonly spelling?: keyof typeof spellings;
  /** The property of a record that holds its name; `name` by default. */
  readonly property?: keyof R & string;
  /** A key that the settings of a record must not have. Records have settings only if this is given. */
  readonly reserved?: string;
  /** Names that have another meaning under the key. */
  readonly taken?: readonly string[];
}

export class Registry<R extends object> {
  readonly key: string;
  readonly builtIn: readonly R[];
  readonly #spelling: (typeof spellings)[keyof typeof spellings];
  readonly #property: keyof R & string;
  readonly #reserved: string | undefined;
  readonly #taken: readonly string[];
  readonly #custom = new Map<string, R>();

  constructor({ key, builtIn, spelling = 'capitals', property, reserved, taken = [] }: RegistryOptions<R>) {
    this.key = key;
    this.builtIn = builtIn;
    this.#spelling = spellings[spelling];
    this.#property = property ?? ('name' as keyof R & string);
    this.#reserved = reserved;
    this.#taken = taken;
  }

  /** Returns all records, the built-in ones first. */
  all(): readonly R[] {
    return [...this.builtIn, ...this.#custom.values()];
  }

  find(name: string): R | undefined {
    return this.builtIn.find((record) => this.#nameOf(record) === name) ?? this.#custom.get(name);
  }

  /** Returns the record called `name`; throws, in the name of `where`, if there is none. */
  get(name: string, where = 'config', argument = this.key): R {
    const found = this.find(name);
    if (found !== undefined) return found;
    const known = this.all().map((record) => this.#nameOf(record));
    throw new ValueError(expected(where, `one of ${known.join(', ')}`, argument, name));
  }

  /**
   * Registers a record, so that configurations read in this process can name it.
   *
   * @param functions properties of the record that must be functions.
   * @returns a function that removes the record.
   */
  register(where: string, record: R, functions: readonly (keyof R & string)[]): () => void {
    checkRecord(where, record);
    const name = this.#nameOf(record);
    const { pattern, text } = this.#spelling;
    if (typeof name !== 'string' || !pattern.test(name))
      throw new ValueError(expected(where, text, this.#property, name));
    if (this.find(name) !== undefined || this.#isTaken(name))
      throw new ValueError(
        expected(where, 'a name that is not taken', this.#property, name, 'Choose another.'),
      );
    for (const property of functions)
      if (typeof record[property] !== 'function')
        throw new ValueError(expected(where, 'a function', property, record[property]));
    this.#checkSettings(where, (record as { readonly settings?: unknown }).settings);
    const entry = `${this.key} ${name}`;
    this.#custom.set(name, record);
    registered.add(entry);
    version++;
    return () => {
      if (this.#custom.get(name) !== record) return;
      this.#custom.delete(name);
      registered.delete(entry);
      version++;
    };
  }

  /** Whether a name, in any case, is an alias of a built-in record or has another meaning under the key. */
  #isTaken(name: string): boolean {
    const lower = name.toLowerCase();
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

  #nameOf(record: R): string {
    return record?.[this.#property] as string;
  }
}

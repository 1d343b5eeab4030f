/**
 * The space of a search: which keys of a configuration vary, and over which values. A space is a mapping of names to
 * dimensions; a name is a key of the configuration, unless the dimension names others.
 *
 * @example
 * model.regularizer.coef: { log: [0.003, 0.3] }
 * rate: { keys: [model.dense_optimizer.options.learning_rate, model.sparse_optimizer.options.learning_rate], values: [0.05, 0.1] }
 * training.negative_sampling.negatives_per_positive: { log: [500, 10000], integer: true, when: training.form == NEGATIVES }
 */
import { ConfigError, describe } from '../../util/errors.js';
import { isTree, parsePath, type Tree, valueAt } from '../../util/schema/key-path.js';
import { applyOverrides, parseOverride } from '../config/overrides.js';

/** A dimension of a space: a number in [0, 1) becomes a value of its keys. */
export interface Dimension {
  readonly name: string;
  readonly keys: readonly string[];
  readonly condition: Condition | null;
  /** Whether values have an order: numbers do, names do not. */
  readonly isOrdered: boolean;
  /** Returns the value at u in [0, 1). */
  at(u: number): unknown;
}

/** A comparison of a key with a value; a dimension whose condition is false is left out of a trial. */
interface Condition {
  readonly key: string;
  readonly isEqual: boolean;
  readonly value: string;
}

export type Space = readonly Dimension[];

/** Values of a trial by key. */
export type TrialValues = Readonly<Record<string, unknown>>;

const where = 'search';

/** Reads a space. Throws for a dimension without values, or with values that are not what its form needs. */
export function parseSpace(given: unknown): Space {
  if (!isTree(given) || Object.keys(given).length === 0)
    throw new ConfigError(
      `${where}: expected a mapping of configuration keys to values for the space, got ${describe(given)}. Write for example "training.batch_size: [100, 1000]".`,
    );
  // The YAML key __proto__ would become the prototype and be ignored.
  if (Object.getPrototypeOf(given) !== Object.prototype && Object.getPrototypeOf(given) !== null)
    throw new ConfigError(
      `${where}: expected a mapping of configuration keys for the space, got the key __proto__.`,
    );
  return Object.entries(given).map(([name, value]) => parseDimension(name, value));
}

/** Returns the values of a trial. Conditions read earlier dimensions, then `defaults`, the base configuration. */
export function valuesAt(space: Space, point: readonly number[], defaults: unknown): TrialValues {
  const values: Record<string, unknown> = {};
  for (const [i, { condition, keys, at }] of space.entries()) {
    if (condition !== null && !holds(condition, values, defaults)) continue;
    const value = at(point[i]);
    for (const key of keys) values[key] = value;
  }
  return values;
}

/** Returns values by key as overrides of a configuration. */
export function overridesOf(values: TrialValues): string[] {
  return Object.entries(values).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
}

/** Returns a configuration with the values of a trial. */
export function withValues(config: Tree, values: TrialValues): Tree {
  return applyOverrides(config, overridesOf(values).map(parseOverride));
}

function holds({ key, isEqual, value }: Condition, values: TrialValues, defaults: unknown): boolean {
  const found = valueAt(withValues(defaults as Tree, values), parsePath(key));
  return (String(found) === value) === isEqual;
}

const optionNames = new Set(['key', 'keys', 'values', 'range', 'log', 'integer', 'min', 'max', 'when']);

function parseDimension(name: string, given: unknown): Dimension {
  const options = Array.isArray(given) ? { values: given } : given;
  if (!isTree(options)) throw wrong(name, 'a list or a mapping with values, range or log', given);
  const unknown = Object.keys(options).find((option) => !optionNames.has(option));
  if (unknown !== undefined) throw wrong(name, `only ${[...optionNames].join(', ')}`, unknown);
  const forms = ['values', 'range', 'log'].filter((form) => form in options);
  if (forms.length !== 1) throw wrong(name, 'one of values, range and log', forms.join(' and ') || 'none');
  const keys = [options['keys'] ?? options['key'] ?? name].flat();
  if (keys.length === 0 || keys.some((key) => typeof key !== 'string'))
    throw wrong(name, 'names of configuration keys for keys', keys);
  const condition = parseCondition(name, options['when']);
  const common = { name, keys: keys as string[], condition };
  if ('values' in options) {
    const { values } = options;
    if (!Array.isArray(values) || values.length === 0) throw wrong(name, 'a list for values', values);
    return {
      ...common,
      isOrdered: values.every((value) => typeof value === 'number'),
      at: (u) => values[Math.min(values.length - 1, Math.floor(u * values.length))],
    };
  }
  return { ...common, isOrdered: true, at: numberAt(name, options) };
}

/** Returns the function of a range: `range` or `log`, whole numbers with `integer`, clipped at `min` and `max`. */
function numberAt(name: string, options: Readonly<Record<string, unknown>>): (u: number) => number {
  const isLog = 'log' in options;
  const ends = options[isLog ? 'log' : 'range'];
  const [low, high] = Array.isArray(ends) && ends.length === 2 ? (ends as unknown[]) : [];
  if (typeof low !== 'number' || typeof high !== 'number' || !(low < high) || (isLog && low <= 0))
    throw wrong(
      name,
      `two ${isLog ? 'positive ' : ''}numbers in ascending order for ${isLog ? 'log' : 'range'}`,
      ends,
    );
  const {
    integer: isInteger = false,
    min = Number.NEGATIVE_INFINITY,
    max = Number.POSITIVE_INFINITY,
  } = options;
  if (typeof isInteger !== 'boolean') throw wrong(name, 'true or false for integer', isInteger);
  if (typeof min !== 'number' || typeof max !== 'number')
    throw wrong(name, 'numbers for min and max', [min, max]);
  const between = (u: number): number => {
    if (isLog) {
      const value = low * (high / low) ** u;
      return isInteger ? Math.round(value) : value;
    }
    return isInteger ? Math.floor(low + u * (high - low + 1)) : low + u * (high - low);
  };
  // Four digits tell trials apart, and keep files readable.
  return (u) => Math.min(max, Math.max(min, isInteger ? between(u) : Number(between(u).toPrecision(4))));
}

function parseCondition(name: string, given: unknown): Condition | null {
  if (given === undefined) return null;
  const match = typeof given === 'string' ? /^\s*([\w.[\]]+)\s*(==|!=)\s*(\S+)\s*$/.exec(given) : null;
  if (match === null) throw wrong(name, 'a condition such as "training.form == NEGATIVES" for when', given);
  return { key: match[1], isEqual: match[2] === '==', value: match[3] };
}

function wrong(name: string, what: string, got: unknown): ConfigError {
  return new ConfigError(
    `${where}: expected ${what} in ${name} of the space, got ${JSON.stringify(got)}. Write for example [50, 100], { range: [0, 0.5] } or { log: [0.003, 0.3] }.`,
  );
}

/**
 * The errors Skein throws. A message reads `<op or command>: expected <what> for <name>, got <value>. <what to do>`.
 *
 * Each class has a stable `code`, so that programs need not parse messages, and optional `details`.
 * `InternalError` is for defects of Skein and asks the user to report them.
 */
export abstract class SkeinError extends Error {
  abstract readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(message: string, details: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.details = details;
  }
}

/** Shapes that do not fit together, or an axis out of range. */
export class ShapeError extends SkeinError {
  readonly code = 'SKEIN_SHAPE';
}

/** An element type that an operation does not support. */
export class DTypeError extends SkeinError {
  readonly code = 'SKEIN_DTYPE';
}

/** An argument outside its range: a learning rate that is not finite, an index beyond the end, a wrong option. */
export class ValueError extends SkeinError {
  readonly code = 'SKEIN_VALUE';
}

/** Use of an object in the wrong state: a disposed tensor, a second backward pass through a freed graph. */
export class StateError extends SkeinError {
  readonly code = 'SKEIN_STATE';
}

/** A file that cannot be read or written. `details.path` names it. */
export class StorageError extends SkeinError {
  readonly code = 'SKEIN_STORAGE';
}

/** A file whose content violates its format: truncated, corrupt, of an unknown version. */
export class FormatError extends SkeinError {
  readonly code = 'SKEIN_FORMAT';
}

/** A configuration that cannot be used. `details.problems` lists key and message of each problem. */
export class ConfigError extends SkeinError {
  readonly code = 'SKEIN_CONFIG';
}

/**
 * A failure of communication between workers: lengths that differ, a tag that is never sent, no answer, a missing
 * library.
 */
export class CommError extends SkeinError {
  readonly code = 'SKEIN_COMM';
}

/**
 * A GPU that is missing, lost, out of memory or rejects work, or memory on another device than an operation needs.
 * `details.reason` is one of `no-adapter`, `lost`, `memory`, `limit`, `validation`, `wrong-device`.
 */
export class DeviceError extends SkeinError {
  readonly code = 'SKEIN_DEVICE';
}

/** A violated invariant of Skein. */
export class InternalError extends SkeinError {
  readonly code = 'SKEIN_INTERNAL';

  constructor(message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(`internal: ${message}. This is a mistake in Skein; please report it.`, details);
  }
}

/** Builds the message of an argument error. */
export function expected(where: string, what: string, name: string, got: unknown, advice = ''): string {
  return `${where}: expected ${what} for ${name}, got ${describe(got)}.${advice === '' ? '' : ` ${advice}`}`;
}

/** Longer texts in messages are cut. */
const mostCharacters = 200;

function shorten(text: string): string {
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text;
}

/** Renders a value in short for an error message. */
export function describe(value: unknown): string {
  if (typeof value === 'string') {
    const rest = value.length > mostCharacters ? ` (${value.length.toLocaleString('en')} characters)` : '';
    return JSON.stringify(shorten(value)) + rest;
  }
  if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`;
  if (Array.isArray(value)) {
    const items = value.slice(0, 8).map(describeItem).join(', ');
    return value.length > 8 ? `[${items}, … (${value.length})]` : `[${items}]`;
  }
  if (ArrayBuffer.isView(value)) {
    const { length = value.byteLength } = value as { readonly length?: number };
    return `${classOf(value)}(${length})`;
  }
  if (typeof value === 'object' && value !== null) return classOf(value);
  return String(value);
}

/**
 * Renders an element of an array. Objects read from files may have a key `toString`, so they are not converted by
 * String().
 */
function describeItem(item: unknown): string {
  if (typeof item !== 'object' || item === null) return shorten(String(item));
  return Array.isArray(item) ? `[… (${item.length})]` : describe(item);
}

/** Returns the name of an object's class, even if the object has a key `constructor`. */
function classOf(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  const name: unknown = (prototype as { readonly constructor?: { readonly name?: unknown } } | null)
    ?.constructor?.name;
  return typeof name === 'string' && name !== '' ? name : 'object';
}

/** Throws unless `value` is a finite number in [min, max]. */
export function checkNumber(
  where: string,
  name: string,
  value: unknown,
  min = -Infinity,
  max = Infinity,
): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < min || value > max) {
    throw new ValueError(expected(where, `a finite number${rangeText(min, max)}`, name, value));
  }
  return value;
}

/** Throws unless `value` is a whole number in [min, max]. */
export function checkInteger(
  where: string,
  name: string,
  value: unknown,
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    throw new ValueError(expected(where, `a whole number${rangeText(min, max)}`, name, value));
  }
  return value;
}

function rangeText(min: number, max: number): string {
  const low = min > -Infinity && min !== Number.MIN_SAFE_INTEGER;
  const high = max < Infinity && max !== Number.MAX_SAFE_INTEGER;
  if (low && high) return ` from ${min} to ${max}`;
  if (low) return ` of at least ${min}`;
  if (high) return ` of at most ${max}`;
  return '';
}

const collective = new WeakSet<object>();

/**
 * Marks an error that every worker of a job throws by itself, because all computed the same: no worker waits for
 * another, and the program can end in order.
 */
export function markCollective<E>(error: E): E {
  if (typeof error === 'object' && error !== null) collective.add(error);
  return error;
}

/** Whether every worker throws this error by itself. */
export function isCollective(error: unknown): boolean {
  return typeof error === 'object' && error !== null && collective.has(error);
}

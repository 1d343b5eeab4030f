/** Messages of sources: JSON objects whose fields are mapped to those of events. */
import { describe } from '../../../util/errors.js';
import type { StreamEvent } from '../types.js';

/**
 * The field of a message for each field of an event, such as `user` or `payload.user`. Default: the same name. Names
 * and ids are text or integers, of any length.
 */
export interface FieldMapping {
  readonly head?: string;
  readonly tail?: string;
  /** A number in the unit of the stream, or a date as text (ISO 8601). */
  readonly time?: string;
  readonly id?: string;
  readonly type?: string;
  /** One field with a list of numbers, or one field for each number. */
  readonly features?: string | readonly string[];
}

/** A message that was read: an event, or the reason why it is not one. */
export type SourceMessage = { readonly text: string; readonly event: StreamEvent } | UnreadableText;

export interface UnreadableText {
  readonly text: string;
  readonly reason: string;
}

export function parseMessage(text: string, mapping: FieldMapping = {}): SourceMessage {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return { text, reason: 'expected JSON' };
  }
  const exact = /\d{16}/.test(text) ? JSON.parse(quoteLongIntegers(text)) : message;
  const names: { head?: string; tail?: string; id?: string } = {};
  for (const name of ['head', 'tail', 'id'] as const) {
    const path = mapping[name] ?? name;
    const value = valueAt(exact, path) ?? undefined;
    if (value === undefined && name === 'id') continue;
    if ((typeof value !== 'string' || value === '') && !Number.isSafeInteger(value))
      return { text, reason: `expected text or an integer for ${path}, got ${describe(value)}` };
    names[name] = String(value);
  }
  const given = valueAt(message, mapping.time ?? 'time');
  const time = timeOf(given);
  if (time === null)
    return {
      text,
      reason: `expected a number or a date for ${mapping.time ?? 'time'}, got ${describe(given)}`,
    };
  const type = valueAt(exact, mapping.type ?? 'type');
  const features = featuresOf(message, mapping.features ?? 'features');
  if (features !== undefined && !(Array.isArray(features) && features.every(Number.isFinite)))
    return { text, reason: `expected numbers for features, got ${describe(features)}` };
  return {
    text,
    event: {
      ...(names as { head: string; tail: string }),
      time,
      ...(type === undefined || type === null ? {} : { type: String(type) }),
      ...(features === undefined ? {} : { features: features as number[] }),
    },
  };
}

/**
 * Puts integers of more than 15 digits in quotes: `JSON.parse` rounds those beyond 2^53, so that different ids would become one.
 * The text must be JSON.
 */
function quoteLongIntegers(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    /^-?\d{16,}$/.test(token) ? `"${token}"` : token,
  );
}

function featuresOf(message: unknown, fields: string | readonly string[]): unknown {
  return typeof fields === 'string'
    ? (valueAt(message, fields) ?? undefined)
    : fields.map((name) => valueAt(message, name));
}

/** Returns the value at a path such as `payload.user`; a leading `$.` is ignored. */
function valueAt(message: unknown, path: string): unknown {
  let value = message;
  for (const key of path.replace(/^\$\./, '').split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}

function timeOf(value: unknown): number | Date | null {
  if (typeof value === 'number') return value;
  const [, day] = (typeof value === 'string' && /^\d{4}-\d{2}-(\d{2})/.exec(value)) || [];
  if (day === undefined) return null;
  const date = new Date(value as string);
  // The 31st of a month with 30 days would be the 1st of the next one.
  const isReal = new Date(`${(value as string).slice(0, 10)}T00:00Z`).getUTCDate() === Number(day);
  return Number.isNaN(date.getTime()) || !isReal ? null : date;
}

/** Messages of sources: JSON objects whose fields are mapped to those of events. */
import { describe } from '../../../util/errors.js';
import type { StreamEvent } from '../types.js';

/** The field of a message for each field of an event, such as `user` or `payload.user`. Default: the same name. */
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
export type SourceMessage = { readonly text: string; readonly event: StreamEvent } | Unreadable;

export interface Unreadable {
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
  const field = (name: Exclude<keyof FieldMapping, 'features'>): unknown =>
    valueAt(message, mapping[name] ?? name);
  const [head, tail, time, id, type] = [
    field('head'),
    field('tail'),
    timeOf(field('time')),
    field('id'),
    field('type'),
  ];
  for (const [name, value] of Object.entries({ head, tail }))
    if (typeof value !== 'string' && !Number.isFinite(value))
      return {
        text,
        reason: `expected a name for ${mapping[name as 'head'] ?? name}, got ${describe(value)}`,
      };
  if (time === null)
    return {
      text,
      reason: `expected a number or a date for ${mapping.time ?? 'time'}, got ${describe(field('time'))}`,
    };
  const features = featuresOf(message, mapping.features ?? 'features');
  if (features !== undefined && !(Array.isArray(features) && features.every(Number.isFinite)))
    return { text, reason: `expected numbers for features, got ${describe(features)}` };
  return {
    text,
    event: {
      ...{ head: head as string, tail: tail as string, time },
      ...(id === undefined || id === null ? {} : { id: String(id) }),
      ...(type === undefined || type === null ? {} : { type: String(type) }),
      ...(features === undefined ? {} : { features: features as number[] }),
    },
  };
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
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}/.test(value)) return null;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? null : date;
}

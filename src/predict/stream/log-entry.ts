/**
 * Entries of the log of a stream: everything that its state depends on. What the wall clock decides is decided by the time
 * in the entry, so that reading the log again decides the same.
 */
import { FormatError, ValueError } from '../../util/errors.js';
import type { PlainNode } from './added-nodes.js';
import type { StreamRules } from './stream-rules.js';
import type { StreamEvent } from './types.js';

/** An event with checked fields; names and id are strings, the time is a number. */
export interface PlainEvent {
  readonly head: string;
  readonly tail: string;
  readonly time: number;
  readonly id: string | null;
  readonly type: string | null;
  readonly features: readonly number[] | null;
}

/** A message that is not an event. */
export interface UnreadableMessage {
  readonly text: string;
}

export type LogEntry =
  | {
      readonly kind: 'append';
      /** Wall clock, in milliseconds since 1970. */
      readonly now: number;
      readonly source: string;
      readonly position: number | null;
      /** Identifies what the source has read before the position. Absent for most sources, and in older logs. */
      readonly mark?: string;
      readonly requestId: string | null;
      readonly events: readonly PlainEvent[];
      readonly unreadable: readonly UnreadableMessage[];
    }
  | { readonly kind: 'flush'; readonly now: number }
  | { readonly kind: 'release' | 'delete'; readonly now: number; readonly keys: readonly number[] }
  | { readonly kind: 'nodes'; readonly now: number; readonly nodes: readonly PlainNode[] }
  | { readonly kind: 'rules'; readonly now: number; readonly rules: StreamRules };

export type AppendEntry = Extract<LogEntry, { kind: 'append' }>;

type EventFields = readonly (string | number | null | readonly number[])[];

/** Events are lists without trailing nulls: names of fields would take most of the log. */
export function eventFields({ head, tail, time, id, type, features }: PlainEvent): EventFields {
  const all = [head, tail, time, id, type, features];
  let end = all.length;
  while (all[end - 1] === null) end--;
  return all.slice(0, end);
}

export function eventOf([
  head,
  tail,
  time,
  id = null,
  type = null,
  features = null,
]: EventFields): PlainEvent {
  return { head, tail, time, id, type, features } as PlainEvent;
}

/** Returns the event as a caller would write it. */
export function namedEvent({ head, tail, time, id, type, features }: PlainEvent): StreamEvent {
  return {
    ...{ head, tail, time },
    ...(id === null ? {} : { id }),
    ...(type === null ? {} : { type }),
    ...(features === null ? {} : { features }),
  };
}

export function encodeEntry(entry: LogEntry): Uint8Array {
  const plain = entry.kind === 'append' ? { ...entry, events: entry.events.map(eventFields) } : entry;
  try {
    return Buffer.from(JSON.stringify(plain));
  } catch (error) {
    // Strings of JavaScript have a limit.
    if (!(error instanceof RangeError)) throw error;
    throw new ValueError(
      'append: expected a request of at most 256 MiB, got a larger one. Send fewer events.',
    );
  }
}

export function decodeEntry(content: Uint8Array, sequence: number): LogEntry {
  let entry: LogEntry & { readonly events?: readonly EventFields[] };
  try {
    entry = JSON.parse(Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString());
  } catch (error) {
    throw new FormatError(`stream: expected JSON in record ${sequence} of the log, got ${String(error)}.`);
  }
  return entry.kind === 'append'
    ? { ...entry, events: entry.events.map((one) => eventOf(one as never)) }
    : entry;
}

/** Events that were not applied, until an operator releases or deletes them. */
import { eventFields, eventOf, namedEvent, type PlainEvent } from './log-entry.js';
import type { QuarantinedEvent } from './types.js';

export interface Quarantined {
  readonly key: number;
  readonly reason: QuarantinedEvent['reason'];
  readonly source: string;
  readonly arrived: number;
  readonly event: PlainEvent | null;
  readonly text: string | null;
}

export class Quarantine {
  /** In the order of arrival. */
  readonly #entries = new Map<number, Quarantined>();
  readonly #ids = new Map<string, number>();
  #nextKey = 1;

  get count(): number {
    return this.#entries.size;
  }

  hasId(id: string): boolean {
    return this.#ids.has(id);
  }

  add(entry: Omit<Quarantined, 'key'>, most: number): void {
    const key = this.#nextKey++;
    this.#entries.set(key, { ...entry, key });
    if (entry.event?.id != null) this.#ids.set(entry.event.id, key);
    if (this.#entries.size > most) this.take(this.#entries.keys().next().value as number);
  }

  has(key: number): boolean {
    return this.#entries.has(key);
  }

  /** Returns the entry if it holds an event; undefined for messages that could not be read, and for unknown keys. */
  eventAt(key: number): (Quarantined & { readonly event: PlainEvent }) | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined || entry.event === null ? undefined : { ...entry, event: entry.event };
  }

  /** Removes and returns an entry; undefined if there is none. */
  take(key: number): Quarantined | undefined {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry?.event?.id != null) this.#ids.delete(entry.event.id);
    return entry;
  }

  /** Returns at most `most` entries with keys above `after`. */
  list(most: number, after = -1): QuarantinedEvent[] {
    const found: QuarantinedEvent[] = [];
    for (const { event, text, ...entry } of this.#entries.values()) {
      if (found.length === most) break;
      if (entry.key <= after) continue;
      found.push({
        ...entry,
        ...(event === null ? {} : { event: namedEvent(event) }),
        ...(text === null ? {} : { text }),
      });
    }
    return found;
  }

  save(): { readonly nextKey: number; readonly entries: readonly unknown[] } {
    const entries = [...this.#entries.values()];
    return {
      nextKey: this.#nextKey,
      entries: entries.map(({ event, ...rest }) => ({ ...rest, event: event && eventFields(event) })),
    };
  }

  load({ nextKey, entries }: ReturnType<Quarantine['save']>): void {
    for (const { event, ...rest } of entries as (Quarantined & { event: never })[]) {
      const entry = { ...rest, event: event === null ? null : eventOf(event) };
      this.#entries.set(entry.key, entry);
      if (entry.event?.id != null) this.#ids.set(entry.event.id, entry.key);
    }
    this.#nextKey = nextKey;
  }
}

/** Events that wait for the watermark: a heap by time, then id, then arrival, with the ids that are in it. */
import { eventFields, eventOf, type PlainEvent } from './log-entry.js';

interface Waiting {
  readonly event: PlainEvent;
  readonly arrival: number;
}

export class WaitingEvents {
  readonly #heap: Waiting[] = [];
  readonly #ids = new Set<string>();
  #arrivals = 0;

  get count(): number {
    return this.#heap.length;
  }

  /** Time of the earliest event; ∞ if there is none. */
  get earliest(): number {
    return this.#heap[0]?.event.time ?? Number.POSITIVE_INFINITY;
  }

  /** Time of the latest event; −∞ if there is none. */
  get latest(): number {
    return this.#heap.reduce((most, { event }) => Math.max(most, event.time), Number.NEGATIVE_INFINITY);
  }

  hasId(id: string): boolean {
    return this.#ids.has(id);
  }

  push(event: PlainEvent): void {
    this.#add({ event, arrival: this.#arrivals++ });
  }

  /** Removes and returns the events before `time`, in order. */
  popBefore(time: number): PlainEvent[] {
    const popped: PlainEvent[] = [];
    while (this.earliest < time) popped.push(this.#pop());
    return popped;
  }

  /** All events, in the order of arrival. */
  events(): PlainEvent[] {
    return [...this.#heap].sort((a, b) => a.arrival - b.arrival).map(({ event }) => event);
  }

  /** All events, in the order in which they will be released. */
  inOrder(): PlainEvent[] {
    return [...this.#heap].sort((a, b) => (isBefore(a, b) ? -1 : 1)).map(({ event }) => event);
  }

  save(): unknown[] {
    return this.events().map(eventFields);
  }

  load(saved: readonly unknown[]): void {
    for (const fields of saved as Parameters<typeof eventOf>[0][]) this.push(eventOf(fields));
  }

  #add(waiting: Waiting): void {
    const heap = this.#heap;
    if (waiting.event.id !== null) this.#ids.add(waiting.event.id);
    let at = heap.length;
    heap.push(waiting);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(waiting, heap[parent])) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = waiting;
  }

  #pop(): PlainEvent {
    const heap = this.#heap;
    const [{ event }] = heap;
    if (event.id !== null) this.#ids.delete(event.id);
    const moved = heap.pop() as Waiting;
    if (heap.length === 0) return event;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], moved)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = moved;
    return event;
  }
}

function isBefore(a: Waiting, b: Waiting): boolean {
  const order = compareEvents(a.event, b.event);
  return order < 0 || (order === 0 && a.arrival < b.arrival);
}

/** The order of release: by time, then by id. */
export function compareEvents(a: PlainEvent, b: PlainEvent): number {
  if (a.time !== b.time) return a.time - b.time;
  const [x, y] = [a.id ?? '', b.id ?? ''];
  return x < y ? -1 : x > y ? 1 : 0;
}

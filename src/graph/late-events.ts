/**
 * Events that wait for earlier ones: a heap by (time, arrival). The graph decides when an event is released or
 * rejected.
 */
import { type EventColumns, EventStore } from './temporal-events.js';

export class LateEvents {
  readonly #store = new EventStore();
  #arrivals = new Float64Array(0);
  /** Slots of the store as a heap, the earliest event first. */
  readonly #heap: number[] = [];
  readonly #freeSlots: number[] = [];
  #arrived = 0;

  get count(): number {
    return this.#heap.length;
  }

  push(columns: EventColumns, firstId: number): void {
    this.#store.settle(columns);
    for (let i = 0; i < columns.count; i++) {
      const slot = this.#freeSlots.pop() ?? this.#newSlot();
      this.#store.write(slot, columns, i, columns.ids === null ? firstId + i : columns.ids[i]);
      this.#arrivals[slot] = this.#arrived++;
      this.#heap.push(slot);
      this.#up(this.#heap.length - 1);
    }
  }

  /** Removes and returns the events up to `time`, in order. */
  popUntil(time: number): EventColumns {
    const slots: number[] = [];
    while (this.#heap.length > 0 && this.#store.time[this.#heap[0]] <= time) slots.push(this.#pop());
    const { src, dst, ids, types, features, width } = this.#store;
    const rows = features === null || width <= 0 ? null : new Float32Array(slots.length * width);
    let maxNode = -1;
    for (const [i, slot] of slots.entries()) {
      rows?.set((features as Float32Array).subarray(slot * width, (slot + 1) * width), i * width);
      maxNode = Math.max(maxNode, src[slot], dst[slot]);
      this.#freeSlots.push(slot);
    }
    return {
      ...{ count: slots.length, maxNode, features: rows },
      src: Int32Array.from(slots, (slot) => src[slot]),
      dst: Int32Array.from(slots, (slot) => dst[slot]),
      time: Float64Array.from(slots, (slot) => this.#store.time[slot]),
      ids: Int32Array.from(slots, (slot) => ids[slot]),
      types: types === null ? null : Int32Array.from(slots, (slot) => types[slot]),
    };
  }

  #newSlot(): number {
    const slot = this.#store.count;
    this.#store.reserve(slot + 1);
    if (slot >= this.#arrivals.length) {
      const arrivals = new Float64Array(Math.max(16, 2 * slot));
      arrivals.set(this.#arrivals);
      this.#arrivals = arrivals;
    }
    this.#store.count = slot + 1;
    return slot;
  }

  #before(a: number, b: number): boolean {
    const { time } = this.#store;
    return time[a] < time[b] || (time[a] === time[b] && this.#arrivals[a] < this.#arrivals[b]);
  }

  #up(at: number): void {
    const heap = this.#heap;
    const slot = heap[at];
    while (at > 0 && this.#before(slot, heap[(at - 1) >> 1])) {
      heap[at] = heap[(at - 1) >> 1];
      at = (at - 1) >> 1;
    }
    heap[at] = slot;
  }

  #pop(): number {
    const heap = this.#heap;
    const first = heap[0];
    const slot = heap.pop() as number;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.#before(heap[child + 1], heap[child])) child++;
      if (!this.#before(heap[child], slot)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = slot;
    return first;
  }
}

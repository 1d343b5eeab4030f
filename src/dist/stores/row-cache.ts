/** A cache of a fixed number of rows by id. SIEVE decides which row is evicted (util/sieve.ts). */
import { makeRows, type RowArray, type StoreType } from '../../storage/row-store.js';
import { Sieve } from '../../util/sieve.js';

export class RowCache {
  readonly capacity: number;
  readonly width: number;
  /** Rows found and rows not found by `take`. */
  hits = 0;
  misses = 0;
  readonly #rows: RowArray;
  readonly #slots = new Map<number, number>();
  readonly #ids: Int32Array;
  readonly #sieve: Sieve;

  constructor(dtype: StoreType, capacity: number, width: number) {
    this.capacity = capacity;
    this.width = width;
    this.#rows = makeRows(dtype, capacity * width);
    this.#ids = new Int32Array(capacity);
    this.#sieve = new Sieve(capacity);
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Copies row `id` to row `position` of `out`; returns false if it is not cached. */
  take(id: number, out: RowArray, position: number): boolean {
    const slot = this.#slots.get(id);
    if (slot === undefined) {
      this.misses++;
      return false;
    }
    this.hits++;
    this.#sieve.mark(slot);
    const { width } = this;
    // For a short row a loop is faster than a view and a call.
    const from = slot * width;
    const to = position * width;
    for (let k = 0; k < width; k++) out[to + k] = this.#rows[from + k];
    return true;
  }

  has(id: number): boolean {
    return this.#slots.has(id);
  }

  /** Caches a copy of row `position` of `rows` as row `id`. */
  keep(id: number, rows: RowArray, position: number): void {
    const { width } = this;
    const slot = this.#slots.get(id) ?? this.#insert(id);
    for (let k = 0; k < width; k++) this.#rows[slot * width + k] = rows[position * width + k];
  }

  /** Evicts rows that have changed. */
  drop(ids: Int32Array): void {
    if (this.#slots.size === 0) return;
    for (const id of ids) {
      const slot = this.#slots.get(id);
      if (slot !== undefined) this.#remove(slot);
    }
  }

  clear(): void {
    for (const slot of [...this.#slots.values()]) this.#remove(slot);
  }

  #insert(id: number): number {
    const old = this.#sieve.evict();
    if (old >= 0) this.#slots.delete(this.#ids[old]);
    const slot = this.#sieve.add();
    this.#slots.set(id, slot);
    this.#ids[slot] = id;
    return slot;
  }

  #remove(slot: number): void {
    this.#slots.delete(this.#ids[slot]);
    this.#sieve.remove(slot);
  }
}

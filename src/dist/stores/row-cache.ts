/**
 * Copies of rows that are asked for often, a fixed number of them, by id.
 *
 * Which row goes is decided by SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is simpler than LRU", NSDI 2024): rows
 * stay in the order of arrival, a hit only marks a row, and a hand that walks from the oldest to the newest drops the
 * first row without a mark and takes the marks it passes. A pass over many rows once does not drive out those used often.
 */
import { makeRows, type RowArray, type StoreType } from '../../storage/row-store.js';

export class RowCache {
  readonly capacity: number;
  readonly width: number;
  /** Rows found and rows not found by `take`. */
  hits = 0;
  misses = 0;
  readonly #rows: RowArray;
  readonly #slots = new Map<number, number>();
  readonly #ids: Int32Array;
  readonly #marked: Uint8Array;
  /** The order of arrival as a list: towards newer and towards older rows, −1 at the ends. */
  readonly #newer: Int32Array;
  readonly #older: Int32Array;
  readonly #free: number[] = [];
  #used = 0;
  #newest = -1;
  #oldest = -1;
  #hand = -1;

  constructor(dtype: StoreType, capacity: number, width: number) {
    this.capacity = capacity;
    this.width = width;
    this.#rows = makeRows(dtype, capacity * width);
    this.#ids = new Int32Array(capacity);
    this.#marked = new Uint8Array(capacity);
    this.#newer = new Int32Array(capacity).fill(-1);
    this.#older = new Int32Array(capacity).fill(-1);
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Copies row `id` to row `place` of `out`; false when it is not here. */
  take(id: number, out: RowArray, place: number): boolean {
    const slot = this.#slots.get(id);
    if (slot === undefined) {
      this.misses++;
      return false;
    }
    this.hits++;
    this.#marked[slot] = 1;
    const { width } = this;
    // A short row is copied faster by hand than by a view and a call.
    const from = slot * width;
    const to = place * width;
    for (let k = 0; k < width; k++) out[to + k] = this.#rows[from + k];
    return true;
  }

  has(id: number): boolean {
    return this.#slots.has(id);
  }

  /** Keeps a copy of row `place` of `rows` as row `id`. */
  keep(id: number, rows: RowArray, place: number): void {
    const { width } = this;
    const slot = this.#slots.get(id) ?? this.#insert(id);
    for (let k = 0; k < width; k++) this.#rows[slot * width + k] = rows[place * width + k];
  }

  /** Forgets these rows, for they have changed. */
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
    const slot = this.#slots.size < this.capacity ? this.#freeSlot() : this.#evict();
    this.#slots.set(id, slot);
    this.#ids[slot] = id;
    this.#marked[slot] = 0;
    this.#older[slot] = this.#newest;
    this.#newer[slot] = -1;
    if (this.#newest >= 0) this.#newer[this.#newest] = slot;
    else this.#oldest = slot;
    this.#newest = slot;
    return slot;
  }

  #freeSlot(): number {
    return this.#free.pop() ?? this.#used++;
  }

  #evict(): number {
    let slot = this.#hand >= 0 ? this.#hand : this.#oldest;
    while (this.#marked[slot] === 1) {
      this.#marked[slot] = 0;
      slot = this.#newer[slot] >= 0 ? this.#newer[slot] : this.#oldest;
    }
    this.#hand = slot;
    this.#remove(slot);
    return this.#freeSlot();
  }

  #remove(slot: number): void {
    const newer = this.#newer[slot];
    const older = this.#older[slot];
    if (this.#hand === slot) this.#hand = newer;
    if (newer >= 0) this.#older[newer] = older;
    else this.#newest = older;
    if (older >= 0) this.#newer[older] = newer;
    else this.#oldest = newer;
    this.#slots.delete(this.#ids[slot]);
    this.#free.push(slot);
  }
}

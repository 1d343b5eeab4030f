/**
 * Copies of the hot rows of a table in memory: a fixed set, followed by dynamic rows managed by SIEVE. One map has the
 * slot of the copy of every row of the table.
 */
import { kernels, prepareBlock } from '../native/index.js';
import { Sieve } from '../util/sieve.js';
import { makeRows, type RowArray, type StoreType } from './row-store.js';

/** The requested rows with and without a copy. */
export interface HotSplit {
  /** The slot of the copy of every requested row; −1 if there is none. */
  readonly slots: Int32Array;
  /** The positions, in the request, of the rows without a copy. */
  readonly missed: Int32Array;
}

export class HotRows {
  /** The rows that are always cached. */
  readonly fixed: Int32Array;
  /** The slots of the dynamic rows. */
  readonly sieve: Sieve;
  readonly width: number;
  readonly #dtype: StoreType;
  readonly #rows: RowArray;
  /** The slot of each row of the table, −1 without a copy; fixed rows come first. */
  readonly #slotOf: Int32Array;
  /** The row of each dynamic slot. */
  readonly #ids: Int32Array;

  constructor(dtype: StoreType, table: { rows: number; width: number }, fixed: Int32Array, dynamic: number) {
    this.fixed = fixed;
    this.width = table.width;
    this.#dtype = dtype;
    this.sieve = new Sieve(dynamic);
    this.#rows = makeRows(dtype, (fixed.length + dynamic) * table.width);
    prepareBlock(new Uint8Array(this.#rows.buffer));
    this.#slotOf = new Int32Array(table.rows).fill(-1);
    this.#ids = new Int32Array(dynamic);
  }

  /** Adds the next rows of the fixed set, from `start` on. */
  fill(start: number, rows: RowArray): void {
    this.#rows.set(rows, start * this.width);
    for (let i = 0; i < rows.length / this.width; i++) this.#slotOf[this.fixed[start + i]] = start + i;
  }

  has(id: number): boolean {
    return this.#slotOf[id] >= 0;
  }

  /** Looks up rows, and marks those found as used. */
  split(ids: Int32Array): HotSplit {
    const slots = new Int32Array(ids.length);
    const missed = new Int32Array(ids.length);
    const place = this.#slotOf;
    const numFixed = this.fixed.length;
    let misses = 0;
    for (let i = 0; i < ids.length; i++) {
      const slot = place[ids[i]];
      slots[i] = slot;
      if (slot < 0) missed[misses++] = i;
      else if (slot >= numFixed) this.sieve.mark(slot - numFixed);
    }
    return { slots, missed: missed.subarray(0, misses) };
  }

  /** Copies the rows found to their positions in `out`; the others become 0. */
  copyTo(out: RowArray, { slots, missed }: HotSplit): void {
    const rowBytes = this.width * out.BYTES_PER_ELEMENT;
    if (missed.length === 0) kernels().gatherRows(this.#rows, slots, out, slots.length, rowBytes);
    else kernels().gatherRowsStrided(this.#rows, slots, out, slots.length, rowBytes, rowBytes);
  }

  /** Caches rows without a copy; ids are distinct. If there are more than the capacity, the last ones stay. */
  admit(ids: Int32Array, rows: RowArray): void {
    const { sieve } = this;
    const numFixed = this.fixed.length;
    const start = Math.max(0, ids.length - sieve.capacity);
    for (let i = start; i < ids.length; i++) {
      if (this.#slotOf[ids[i]] >= 0) continue;
      const old = sieve.evict();
      if (old >= 0) this.#slotOf[this.#ids[old]] = -1;
      const slot = sieve.add();
      this.#ids[slot] = ids[i];
      this.#slotOf[ids[i]] = numFixed + slot;
    }
    this.#copyIn(ids.subarray(start), rows.subarray(start * this.width));
  }

  /** Copies rows to their slots in one pass. A row that was evicted by another of the same call has none. */
  #copyIn(ids: Int32Array, rows: RowArray): void {
    const rowBytes = this.width * rows.BYTES_PER_ELEMENT;
    const places = ids.map((id) => this.#slotOf[id]);
    if (!places.includes(-1)) {
      kernels().putRows(rows, places, this.#rows, ids.length, rowBytes);
      return;
    }
    this.put(ids, rows);
  }

  /** Overwrites the copies of rows that have one; of equal ids the last wins. */
  put(ids: Int32Array, rows: RowArray): void {
    const { width } = this;
    for (let i = 0; i < ids.length; i++) {
      const slot = this.#slotOf[ids[i]];
      if (slot >= 0) this.#rows.set(rows.subarray(i * width, (i + 1) * width), slot * width);
    }
  }

  /** Returns the copies of rows that all have one. */
  gather(ids: Int32Array): RowArray {
    const rows = makeRows(this.#dtype, ids.length * this.width);
    const slots = ids.map((id) => this.#slotOf[id]);
    kernels().gatherRows(this.#rows, slots, rows, ids.length, this.width * rows.BYTES_PER_ELEMENT);
    return rows;
  }
}

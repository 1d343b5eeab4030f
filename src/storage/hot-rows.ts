/**
 * Copies of a table's hot rows in memory: a fixed set of them, chosen beforehand, and behind it rows that come and go by
 * SIEVE as they are asked for. One map tells for every row of the table where its copy is.
 */
import { kernels, prepareBlock } from '../native/index.js';
import { Sieve } from '../util/sieve.js';
import { makeRows, type RowArray, type StoreType } from './row-store.js';

/** Which of the rows asked for have copies. */
export interface HotSplit {
  /** The copy of every row that was asked for; −1 where there is none. */
  readonly slots: Int32Array;
  /** Places, in the list that was asked for, of the rows without a copy. */
  readonly missed: Int32Array;
}

export class HotRows {
  /** Rows that stay. */
  readonly fixed: Int32Array;
  /** Rows that come and go. */
  readonly sieve: Sieve;
  readonly width: number;
  readonly #dtype: StoreType;
  readonly #rows: RowArray;
  /** Copy of each row of the table, −1 without one; fixed ones come first. */
  readonly #place: Int32Array;
  /** The row of each copy that comes and goes. */
  readonly #ids: Int32Array;

  constructor(dtype: StoreType, table: { rows: number; width: number }, fixed: Int32Array, dynamic: number) {
    this.fixed = fixed;
    this.width = table.width;
    this.#dtype = dtype;
    this.sieve = new Sieve(dynamic);
    this.#rows = makeRows(dtype, (fixed.length + dynamic) * table.width);
    prepareBlock(new Uint8Array(this.#rows.buffer));
    this.#place = new Int32Array(table.rows).fill(-1);
    this.#ids = new Int32Array(dynamic);
  }

  /** Takes the next rows of the fixed set into use, `start` … of it. */
  fill(start: number, rows: RowArray): void {
    this.#rows.set(rows, start * this.width);
    for (let i = 0; i < rows.length / this.width; i++) this.#place[this.fixed[start + i]] = start + i;
  }

  has(id: number): boolean {
    return this.#place[id] >= 0;
  }

  /** Looks all rows up, and marks the ones found. */
  split(ids: Int32Array): HotSplit {
    const slots = new Int32Array(ids.length);
    const missed = new Int32Array(ids.length);
    const place = this.#place;
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

  /** Copies the rows found to their places in `out`; the others become 0. */
  copyTo(out: RowArray, { slots, missed }: HotSplit): void {
    const rowBytes = this.width * out.BYTES_PER_ELEMENT;
    if (missed.length === 0) kernels().gatherRows(this.#rows, slots, out, slots.length, rowBytes);
    else kernels().gatherRowsBeside(this.#rows, slots, out, slots.length, rowBytes, rowBytes);
  }

  /** Keeps copies of rows that have none; ids are different. Of more rows than there is room for, the last ones stay. */
  admit(ids: Int32Array, rows: RowArray): void {
    const { sieve } = this;
    const numFixed = this.fixed.length;
    const start = Math.max(0, ids.length - sieve.capacity);
    for (let i = start; i < ids.length; i++) {
      if (this.#place[ids[i]] >= 0) continue;
      const old = sieve.evict();
      if (old >= 0) this.#place[this.#ids[old]] = -1;
      const slot = sieve.add();
      this.#ids[slot] = ids[i];
      this.#place[ids[i]] = numFixed + slot;
    }
    this.#copyIn(ids.subarray(start), rows.subarray(start * this.width));
  }

  /** Copies rows to their places in one go. A row that made way for another of the same call has none any more. */
  #copyIn(ids: Int32Array, rows: RowArray): void {
    const rowBytes = this.width * rows.BYTES_PER_ELEMENT;
    const places = ids.map((id) => this.#place[id]);
    if (!places.includes(-1)) {
      kernels().putRows(rows, places, this.#rows, ids.length, rowBytes);
      return;
    }
    this.put(ids, rows);
  }

  /** Overwrites the copies of those rows that have one; of equal ids the last stays. */
  put(ids: Int32Array, rows: RowArray): void {
    const { width } = this;
    for (let i = 0; i < ids.length; i++) {
      const slot = this.#place[ids[i]];
      if (slot >= 0) this.#rows.set(rows.subarray(i * width, (i + 1) * width), slot * width);
    }
  }

  /** The copies of rows that all have one. */
  gather(ids: Int32Array): RowArray {
    const rows = makeRows(this.#dtype, ids.length * this.width);
    const slots = ids.map((id) => this.#place[id]);
    kernels().gatherRows(this.#rows, slots, rows, ids.length, this.width * rows.BYTES_PER_ELEMENT);
    return rows;
  }
}

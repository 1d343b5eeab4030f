/**
 * Ids in the order of their first appearance, and the row of each: a hash table with open addressing, whose size
 * depends on the batch and not on the graph.
 */
export class IdRows {
  #ids = new Int32Array(256);
  #count = 0;
  /** Rows by hashed id, −1 = free; a power of two. */
  #table = new Int32Array(1024).fill(-1);

  get count(): number {
    return this.#count;
  }

  /** Returns the ids from row `start` on. */
  from(start: number): Int32Array {
    return this.#ids.slice(start, this.#count);
  }

  /** Adds ids that are new and returns the row of each. */
  add(ids: Int32Array): Int32Array {
    this.#reserve(this.#count + ids.length);
    const rows = new Int32Array(ids.length);
    const table = this.#table;
    const known = this.#ids;
    const mask = table.length - 1;
    let count = this.#count;
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i];
      let at = hash(id) & mask;
      let row = table[at];
      while (row >= 0 && known[row] !== id) {
        at = (at + 1) & mask;
        row = table[at];
      }
      if (row < 0) {
        row = count++;
        known[row] = id;
        table[at] = row;
      }
      rows[i] = row;
    }
    this.#count = count;
    return rows;
  }

  #reserve(count: number): void {
    if (count > this.#ids.length) {
      const grown = new Int32Array(Math.max(count, 2 * this.#ids.length));
      grown.set(this.#ids.subarray(0, this.#count));
      this.#ids = grown;
    }
    let size = this.#table.length;
    while (size < 2 * count) size *= 2;
    if (size === this.#table.length) return;
    const table = new Int32Array(size).fill(-1);
    for (let row = 0; row < this.#count; row++) {
      let at = hash(this.#ids[row]) & (size - 1);
      while (table[at] >= 0) at = (at + 1) & (size - 1);
      table[at] = row;
    }
    this.#table = table;
  }
}

/** Folds the upper bits of a product (Fibonacci hashing) into the lower ones. */
function hash(id: number): number {
  const mixed = Math.imul(id, 0x9e3779b1);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/**
 * SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is simpler than LRU", NSDI 2024): which of a fixed number of slots goes
 * when a new entry needs one. Entries stay in the order of arrival, a hit only marks a slot, and a hand that walks from the
 * oldest to the newest frees the first slot without a mark and takes the marks it passes. A pass over many entries once does
 * not drive out those used often.
 *
 * It knows slots and not what they hold: the owner keeps the map from its keys to slots, in memory or on a device.
 */
export class Sieve {
  readonly capacity: number;
  readonly #marked: Uint8Array;
  /** The order of arrival as a list: towards newer and towards older slots, −1 at the ends. */
  readonly #newer: Int32Array;
  readonly #older: Int32Array;
  readonly #free: number[] = [];
  #used = 0;
  #size = 0;
  #newest = -1;
  #oldest = -1;
  #hand = -1;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#marked = new Uint8Array(capacity);
    this.#newer = new Int32Array(capacity).fill(-1);
    this.#older = new Int32Array(capacity).fill(-1);
  }

  /** Slots in use. */
  get size(): number {
    return this.#size;
  }

  /** The entry of this slot was asked for. */
  mark(slot: number): void {
    this.#marked[slot] = 1;
  }

  /** The slot that has to be emptied before `add`; −1 while there is a free one. Its entry is out after this call. */
  evict(): number {
    if (this.#size < this.capacity) return -1;
    let slot = this.#hand >= 0 ? this.#hand : this.#oldest;
    while (this.#marked[slot] === 1) {
      this.#marked[slot] = 0;
      slot = this.#newer[slot] >= 0 ? this.#newer[slot] : this.#oldest;
    }
    this.#hand = slot;
    this.remove(slot);
    return slot;
  }

  /** A free slot, for a new entry. There must be one: `evict` first. */
  add(): number {
    const slot = this.#free.pop() ?? this.#used++;
    this.#size++;
    this.#marked[slot] = 0;
    this.#older[slot] = this.#newest;
    this.#newer[slot] = -1;
    if (this.#newest >= 0) this.#newer[this.#newest] = slot;
    else this.#oldest = slot;
    this.#newest = slot;
    return slot;
  }

  /** Frees a slot in use. */
  remove(slot: number): void {
    const newer = this.#newer[slot];
    const older = this.#older[slot];
    if (this.#hand === slot) this.#hand = newer;
    if (newer >= 0) this.#older[newer] = older;
    else this.#newest = older;
    if (older >= 0) this.#newer[older] = newer;
    else this.#oldest = newer;
    this.#size--;
    this.#free.push(slot);
  }
}

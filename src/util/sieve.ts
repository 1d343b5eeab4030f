/**
 * The eviction algorithm SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is simpler than LRU", NSDI 2024): selects
 * which of a fixed number of slots to free for a new entry. Entries stay in the order of arrival and a hit only marks a
 * slot. A hand that walks from the oldest to the newest frees the first unmarked slot and clears the marks it passes. A
 * scan of many entries does not evict those that are used often.
 *
 * Only slots are managed here: the owner maps its keys to slots, in memory or on a device.
 */
export class Sieve {
  readonly capacity: number;
  readonly #marked: Uint8Array;
  /** The order of arrival as a doubly linked list: the next newer and the next older slot, −1 at the ends. */
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

  /** The number of slots in use. */
  get size(): number {
    return this.#size;
  }

  /** Records a hit of the entry in this slot. */
  mark(slot: number): void {
    this.#marked[slot] = 1;
  }

  /** Evicts an entry if all slots are in use, and returns its slot; −1 if there is a free one. */
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

  /** Returns a free slot for a new entry; call `evict` first, so that there is one. */
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

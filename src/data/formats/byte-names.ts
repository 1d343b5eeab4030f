/**
 * Names as bytes, numbered in order of first appearance: the text, a start per name and a hash table of numbers. About 15
 * bytes per name on top of the text, where a Map of strings takes some 100.
 */

export class ByteNames {
  size = 0;
  #bytes = Buffer.alloc(1 << 16);
  #starts = new Float64Array(1 << 10);
  #slots = new Int32Array(1 << 12).fill(-1);

  /** Bytes allocated by the table. */
  get bytesHeld(): number {
    return this.#bytes.length + this.#starts.byteLength + this.#slots.byteLength;
  }

  /** Returns the number of the name in bytes start … stop − 1; adds it if it is new. */
  add(bytes: Uint8Array, start: number, stop: number): number {
    const slot = this.#find(bytes, start, stop);
    const known = this.#slots[slot];
    if (known >= 0) return known;
    const from = this.#starts[this.size];
    this.#reserve(from + stop - start);
    this.#bytes.set(bytes.subarray(start, stop), from);
    const id = this.size++;
    this.#starts[this.size] = from + stop - start;
    this.#slots[slot] = id;
    if (2 * this.size > this.#slots.length) this.#rehash();
    return id;
  }

  /** Returns the number of a name; −1 if it is unknown. */
  numberOf(bytes: Uint8Array, start: number, stop: number): number {
    return this.#slots[this.#find(bytes, start, stop)];
  }

  /** Returns the bytes of a name; valid until the next is added. */
  bytesOf(id: number): Buffer {
    return this.#bytes.subarray(this.#starts[id], this.#starts[id + 1]);
  }

  nameOf(id: number): string {
    return this.#bytes.toString('utf8', this.#starts[id], this.#starts[id + 1]);
  }

  /** Returns the slot of a name, or the free slot for it. */
  #find(bytes: Uint8Array, start: number, stop: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashBytes(bytes, start, stop) & mask;
    for (; this.#slots[slot] >= 0; slot = (slot + 1) & mask)
      if (this.#equals(this.#slots[slot], bytes, start, stop)) break;
    return slot;
  }

  #equals(id: number, bytes: Uint8Array, start: number, stop: number): boolean {
    let at = this.#starts[id];
    if (this.#starts[id + 1] - at !== stop - start) return false;
    for (let i = start; i < stop; i++) if (this.#bytes[at++] !== bytes[i]) return false;
    return true;
  }

  #reserve(length: number): void {
    if (length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.#bytes.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    if (this.size + 2 > this.#starts.length) {
      const larger = new Float64Array(2 * this.#starts.length);
      larger.set(this.#starts);
      this.#starts = larger;
    }
  }

  #rehash(): void {
    this.#slots = new Int32Array(2 * this.#slots.length).fill(-1);
    const mask = this.#slots.length - 1;
    for (let id = 0; id < this.size; id++) {
      let slot = hashBytes(this.#bytes, this.#starts[id], this.#starts[id + 1]) & mask;
      while (this.#slots[slot] >= 0) slot = (slot + 1) & mask;
      this.#slots[slot] = id;
    }
  }
}

/** FNV-1a, then mixed so that the low bits depend on all bits. */
export function hashBytes(bytes: Uint8Array, start: number, stop: number): number {
  let value = 0x811c9dc5;
  for (let i = start; i < stop; i++) value = Math.imul(value ^ bytes[i], 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return (value ^ (value >>> 13)) >>> 0;
}

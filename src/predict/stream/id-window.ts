/**
 * The ids of the last events, exactly: a set from which the oldest are removed. Ids are kept as bytes in a ring, found by
 * chains of equal hash from the newest to the oldest; a chain ends at the first removed entry, so removal is one addition.
 * An id takes about 30 bytes and its own length.
 */
import { expected, ValueError } from '../../util/errors.js';

/** The longest id in UTF-8. */
export const maxIdBytes = 128;

const encoder = new TextEncoder();

export interface IdWindowArrays {
  readonly bytes: Uint8Array;
  readonly lengths: Uint8Array;
  readonly times: Float64Array;
}

export class IdWindow {
  /** Entries are numbered with 32 bits, which wrap around; entry n is in slot n & mask. */
  #first = 1;
  #count = 0;
  #offsets = new Float64Array(16);
  #lengths = new Uint8Array(16);
  #times = new Float64Array(16);
  #next = new Uint32Array(16);
  /** The newest entry of each hash; one outside the window means none. */
  #heads = new Uint32Array(16);
  #ring = new Uint8Array(1024);
  /** Bytes ever written; the ring position is this modulo its length. */
  #written = 0;
  readonly #scratch = new Uint8Array(maxIdBytes);

  get count(): number {
    return this.#count;
  }

  has(id: string): boolean {
    const length = this.#encode(id);
    return this.#find(length, this.#hash(length)) !== null;
  }

  /** Adds an id that is not in the window; of more than `most` ids the oldest are removed. */
  add(id: string, time: number, most: number): void {
    while (this.#count >= most) this.#removeFirst();
    this.#insert(this.#encode(id), time);
  }

  /** Removes ids from the oldest on while their times are before `time`. */
  removeBefore(time: number): void {
    const mask = this.#times.length - 1;
    while (this.#count > 0 && this.#times[this.#first & mask] < time) this.#removeFirst();
  }

  save(): IdWindowArrays {
    const mask = this.#times.length - 1;
    const lengths = new Uint8Array(this.#count);
    const times = new Float64Array(this.#count);
    let total = 0;
    for (let i = 0; i < this.#count; i++) {
      const slot = (this.#first + i) & mask;
      lengths[i] = this.#lengths[slot];
      times[i] = this.#times[slot];
      total += lengths[i];
    }
    const bytes = new Uint8Array(total);
    for (let i = 0, at = 0; i < this.#count; i++) {
      const from = this.#offsets[(this.#first + i) & mask];
      for (let k = 0; k < lengths[i]; k++) bytes[at++] = this.#ring[(from + k) % this.#ring.length];
    }
    return { bytes, lengths, times };
  }

  load({ bytes, lengths, times }: IdWindowArrays): void {
    for (let i = 0, at = 0; i < lengths.length; at += lengths[i++]) {
      this.#scratch.set(bytes.subarray(at, at + lengths[i]));
      this.#insert(lengths[i], times[i]);
    }
  }

  #removeFirst(): void {
    this.#first = (this.#first + 1) >>> 0;
    this.#count--;
  }

  #insert(length: number, time: number): void {
    if (this.#count === this.#times.length) this.#grow();
    const oldest = this.#count === 0 ? this.#written : this.#offsets[this.#first & (this.#times.length - 1)];
    if (this.#written - oldest + length > this.#ring.length) this.#growRing(oldest);
    const entry = (this.#first + this.#count++) >>> 0;
    const slot = entry & (this.#times.length - 1);
    for (let k = 0; k < length; k++) this.#ring[(this.#written + k) % this.#ring.length] = this.#scratch[k];
    this.#offsets[slot] = this.#written;
    this.#lengths[slot] = length;
    this.#times[slot] = time;
    this.#written += length;
    const hash = this.#hash(length);
    this.#next[slot] = this.#heads[hash];
    this.#heads[hash] = entry;
  }

  /** Encodes into the scratch bytes and returns the length. */
  #encode(id: string): number {
    const { read, written } = encoder.encodeInto(id, this.#scratch);
    if (read === id.length) return written;
    throw new ValueError(expected('append', `an id of at most ${maxIdBytes} bytes`, 'id', id));
  }

  /** FNV-1a of the scratch bytes. */
  #hash(length: number): number {
    let hash = 0x811c9dc5;
    for (let k = 0; k < length; k++) hash = Math.imul(hash ^ this.#scratch[k], 0x01000193);
    hash ^= hash >>> 15;
    return (hash >>> 0) & (this.#heads.length - 1);
  }

  #find(length: number, hash: number): number | null {
    const mask = this.#times.length - 1;
    let entry = this.#heads[hash];
    while ((entry - this.#first) >>> 0 < this.#count) {
      if (this.#equals(entry & mask, length)) return entry;
      const next = this.#next[entry & mask];
      // Entries of a chain descend; one that does not is left over from before a wrap.
      if ((next - this.#first) >>> 0 >= (entry - this.#first) >>> 0) return null;
      entry = next;
    }
    return null;
  }

  #equals(slot: number, length: number): boolean {
    if (this.#lengths[slot] !== length) return false;
    const from = this.#offsets[slot];
    for (let k = 0; k < length; k++)
      if (this.#ring[(from + k) % this.#ring.length] !== this.#scratch[k]) return false;
    return true;
  }

  #grow(): void {
    const size = this.#times.length;
    const move = <T extends Float64Array | Uint8Array | Uint32Array>(from: T, to: T): T => {
      for (let i = 0; i < this.#count; i++) {
        const entry = (this.#first + i) >>> 0;
        to[entry & (2 * size - 1)] = from[entry & (size - 1)];
      }
      return to;
    };
    this.#offsets = move(this.#offsets, new Float64Array(2 * size));
    this.#lengths = move(this.#lengths, new Uint8Array(2 * size));
    this.#times = move(this.#times, new Float64Array(2 * size));
    this.#next = new Uint32Array(2 * size);
    this.#heads = new Uint32Array(2 * size).fill((this.#first - 1) >>> 0);
    const kept = this.#scratch.slice();
    for (let i = 0; i < this.#count; i++) {
      const entry = (this.#first + i) >>> 0;
      const slot = entry & (2 * size - 1);
      for (let k = 0; k < this.#lengths[slot]; k++)
        this.#scratch[k] = this.#ring[(this.#offsets[slot] + k) % this.#ring.length];
      const hash = this.#hash(this.#lengths[slot]);
      this.#next[slot] = this.#heads[hash];
      this.#heads[hash] = entry;
    }
    this.#scratch.set(kept);
  }

  #growRing(oldest: number): void {
    const ring = new Uint8Array(2 * this.#ring.length);
    for (let at = oldest; at < this.#written; at++)
      ring[at % ring.length] = this.#ring[at % this.#ring.length];
    this.#ring = ring;
  }
}

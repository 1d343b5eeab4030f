/**
 * Where the rows of a table are on a device: fixed ones first, then those that come and go by SIEVE. The map is kept twice,
 * on the host for ids that are there, on the device for ids that a sampler made; both change together.
 */
import { Sieve } from '../../util/sieve.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { grid } from '../device/program.js';
import { groupSize, nowhere, setWords } from './feature-programs.js';

export class HotPlaces {
  /** Rows that stay, ascending; row fixed[i] is at place i. */
  readonly fixed: Int32Array;
  readonly sieve: Sieve;
  /** Bits of rows that come and go and were found by the device since the host looked. */
  readonly marks: GpuBuffer;
  /** Place of every row; null where the table has more rows than a binding holds. */
  readonly onDevice: GpuBuffer | null;
  readonly #device: GpuDevice;
  readonly #placeOf: Int32Array;
  readonly #idOf: Int32Array;

  constructor(device: GpuDevice, rows: number, fixed: Int32Array, moving: number, maxBytes: number) {
    this.#device = device;
    this.fixed = fixed;
    this.sieve = new Sieve(moving);
    this.#placeOf = new Int32Array(rows).fill(-1);
    this.#idOf = new Int32Array(moving);
    fixed.forEach((id, place) => {
      this.#placeOf[id] = place;
    });
    this.marks = device.bufferOf(new Uint32Array(Math.max(1, Math.ceil(moving / 32))), 'marks of hot rows');
    // −1 has the bits of `nowhere`.
    this.onDevice = rows * 4 <= maxBytes ? device.bufferOf(this.#placeOf, 'places of rows') : null;
  }

  /** −1 when it is not on the device. */
  placeOf(id: number): number {
    return this.#placeOf[id];
  }

  /** Places of all ids, and which of them (as positions in the list) have none; marks the ones found. */
  split(ids: Int32Array): { readonly places: Int32Array; readonly missed: Int32Array } {
    const places = new Int32Array(ids.length);
    const missed = new Int32Array(ids.length);
    const numFixed = this.fixed.length;
    let misses = 0;
    for (let i = 0; i < ids.length; i++) {
      const place = this.#placeOf[ids[i]];
      places[i] = place;
      if (place < 0) missed[misses++] = i;
      else if (place >= numFixed) this.sieve.mark(place - numFixed);
    }
    return { places, missed: missed.subarray(0, misses) };
  }

  /** Takes over what the device has marked. */
  takeMarks(bits: Uint32Array): void {
    for (let w = 0; w < bits.length; w++) {
      for (let rest = bits[w]; rest !== 0; rest &= rest - 1) {
        const slot = 32 * w + 31 - Math.clz32(rest & -rest);
        if (slot < this.sieve.capacity) this.sieve.mark(slot);
      }
    }
  }

  /**
   * Gives rows that have none a place, as many as come and go; of more, the last. Returns the positions in `ids` and their
   * places, no place twice. The caller copies the rows there.
   */
  admit(ids: Int32Array): { readonly positions: Int32Array; readonly places: Int32Array } {
    const { sieve } = this;
    const positionOf = new Map<number, number>();
    const changed = new Map<number, number>();
    for (let i = Math.max(0, ids.length - sieve.capacity); i < ids.length; i++) {
      if (this.#placeOf[ids[i]] >= 0) continue;
      const old = sieve.evict();
      if (old >= 0) this.#move(this.#idOf[old], -1, changed);
      const slot = sieve.add();
      this.#idOf[slot] = ids[i];
      this.#move(ids[i], this.fixed.length + slot, changed);
      positionOf.set(this.fixed.length + slot, i);
    }
    this.#publish(changed);
    const places = Int32Array.from(positionOf.keys());
    return { places, positions: Int32Array.from(positionOf.values()) };
  }

  release(): void {
    this.marks.release();
    this.onDevice?.release();
  }

  #move(id: number, place: number, changed: Map<number, number>): void {
    this.#placeOf[id] = place;
    changed.set(id, place < 0 ? nowhere : place);
  }

  #publish(changed: ReadonlyMap<number, number>): void {
    if (this.onDevice === null || changed.size === 0) return;
    const device = this.#device;
    const index = device.bufferOf(Uint32Array.from(changed.keys()), 'ids of moved rows');
    const fresh = device.bufferOf(Uint32Array.from(changed.values()), 'places of moved rows');
    device.run(setWords, [index, fresh, this.onDevice], [changed.size], grid(changed.size, groupSize));
    index.release();
    fresh.release();
  }
}

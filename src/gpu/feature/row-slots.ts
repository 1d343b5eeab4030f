/**
 * Slots of a table's rows on a device: fixed rows first, then the dynamic cache, managed by SIEVE. The map exists
 * twice, on the host for ids on the host and on the device for ids from a sampler; both change together.
 */
import { Sieve } from '../../util/sieve.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { grid } from '../device/program.js';
import { groupSize, noSlot, setWords } from './feature-programs.js';

export class RowSlots {
  /** Fixed rows, ascending; row fixed[i] is in slot i. */
  readonly fixed: Int32Array;
  readonly sieve: Sieve;
  /** Bits of dynamic rows that the device found since the host last read them. */
  readonly marks: GpuBuffer;
  /** Slot of every row; null where the table has more rows than a binding holds. */
  readonly onDevice: GpuBuffer | null;
  readonly #device: GpuDevice;
  readonly #slotOf: Int32Array;
  readonly #idOf: Int32Array;

  constructor(device: GpuDevice, rows: number, fixed: Int32Array, moving: number, maxBytes: number) {
    this.#device = device;
    this.fixed = fixed;
    this.sieve = new Sieve(moving);
    this.#slotOf = new Int32Array(rows).fill(-1);
    this.#idOf = new Int32Array(moving);
    fixed.forEach((id, slot) => {
      this.#slotOf[id] = slot;
    });
    this.marks = device.bufferOf(new Uint32Array(Math.max(1, Math.ceil(moving / 32))), 'marks of hot rows');
    // −1 has the bits of `noSlot`.
    this.onDevice = rows * 4 <= maxBytes ? device.bufferOf(this.#slotOf, 'slots of rows') : null;
  }

  /** Returns −1 for a row that is not on the device. */
  slotOf(id: number): number {
    return this.#slotOf[id];
  }

  /** Returns the slots of all ids and the positions of those that have none; marks the ones found. */
  split(ids: Int32Array): { readonly slots: Int32Array; readonly missed: Int32Array } {
    const slots = new Int32Array(ids.length);
    const missed = new Int32Array(ids.length);
    const numFixed = this.fixed.length;
    let misses = 0;
    for (let i = 0; i < ids.length; i++) {
      const slot = this.#slotOf[ids[i]];
      slots[i] = slot;
      if (slot < 0) missed[misses++] = i;
      else if (slot >= numFixed) this.sieve.mark(slot - numFixed);
    }
    return { slots, missed: missed.subarray(0, misses) };
  }

  /** Applies the marks that the device has set. */
  takeMarks(bits: Uint32Array): void {
    for (let w = 0; w < bits.length; w++) {
      for (let rest = bits[w]; rest !== 0; rest &= rest - 1) {
        const cached = 32 * w + 31 - Math.clz32(rest & -rest);
        if (cached < this.sieve.capacity) this.sieve.mark(cached);
      }
    }
  }

  /**
   * Assigns slots to rows that have none, as many as the dynamic cache holds; of more, the last. Returns the positions
   * in `ids` and their slots, which are distinct. The caller copies the rows there.
   */
  admit(ids: Int32Array): { readonly positions: Int32Array; readonly slots: Int32Array } {
    const { sieve } = this;
    const positionOf = new Map<number, number>();
    const changed = new Map<number, number>();
    for (let i = Math.max(0, ids.length - sieve.capacity); i < ids.length; i++) {
      if (this.#slotOf[ids[i]] >= 0) continue;
      const old = sieve.evict();
      if (old >= 0) this.#move(this.#idOf[old], -1, changed);
      const cached = sieve.add();
      this.#idOf[cached] = ids[i];
      this.#move(ids[i], this.fixed.length + cached, changed);
      positionOf.set(this.fixed.length + cached, i);
    }
    this.#publish(changed);
    const slots = Int32Array.from(positionOf.keys());
    return { slots, positions: Int32Array.from(positionOf.values()) };
  }

  release(): void {
    this.marks.release();
    this.onDevice?.release();
  }

  #move(id: number, slot: number, changed: Map<number, number>): void {
    this.#slotOf[id] = slot;
    changed.set(id, slot < 0 ? noSlot : slot);
  }

  #publish(changed: ReadonlyMap<number, number>): void {
    if (this.onDevice === null || changed.size === 0) return;
    const device = this.#device;
    const index = device.bufferOf(Uint32Array.from(changed.keys()), 'ids of moved rows');
    const fresh = device.bufferOf(Uint32Array.from(changed.values()), 'slots of moved rows');
    device.run(setWords, [index, fresh, this.onDevice], [changed.size], grid(changed.size, groupSize));
    index.release();
    fresh.release();
  }
}

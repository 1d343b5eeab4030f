/**
 * Cache of one table's hot rows on one device, and the transfer of missing rows.
 *
 * A request is recorded in two steps. First the rows that are on the device are gathered; work recorded later cannot
 * change these, so requests need not wait for each other. Missing rows are read on the host, each once and in storage
 * order, copied through the staging ring and inserted into the result; some then enter the dynamic cache, unless a
 * write came in between. Ids that a sampler left on the device are looked up there; only the ids of missing rows are
 * read back.
 */
import { expected, ValueError } from '../../util/errors.js';
import { argsortIds } from '../../util/id-order.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { grid } from '../device/program.js';
import type { ColdRows } from './cold-rows.js';
import { DeviceRows, type Gathering, gatherListed, gatherSegment, RowLayout } from './device-rows.js';
import { groupSize, locate, noSlot, setWords } from './feature-programs.js';
import { RowSlots } from './row-slots.js';
import { StagingRing } from './staging-ring.js';

export interface CacheSettings {
  /** Fixed rows, ascending. */
  readonly fixed: Int32Array;
  /** Rows that the dynamic cache can hold. */
  readonly moving: number;
  /** Bytes of the largest segment of device memory. */
  readonly segmentBytes: number;
  /** Missing rows of a request are transferred in chunks of this size. */
  readonly stagingBytes: number;
}

/** Ids in device memory. */
export interface IdBuffer {
  readonly buffer: GpuBuffer;
  /** Index of the first id, in elements. */
  readonly start: number;
  readonly length: number;
}

const where = 'CGPUFeature';

export class DeviceCache {
  readonly device: GpuDevice;
  readonly slots: RowSlots;
  hits = 0;
  misses = 0;
  /** Distinct rows read on the host. */
  coldRows = 0;
  readonly #cold: ColdRows;
  readonly #rows: DeviceRows;
  readonly #layout: RowLayout;
  readonly #ring: StagingRing;
  readonly #stagedRows: number;
  #writes = 0;
  #pending = 0;
  #lastMisses = 0;
  #isReleased = false;
  #lastWrite: Promise<void> = Promise.resolve();

  private constructor(device: GpuDevice, cold: ColdRows, settings: CacheSettings) {
    this.device = device;
    this.#cold = cold;
    this.#layout = new RowLayout(cold.rowBytes);
    const { fixed, moving, segmentBytes, stagingBytes } = settings;
    this.#rows = new DeviceRows(device, this.#layout, fixed.length + moving, segmentBytes, where);
    try {
      this.slots = new RowSlots(device, cold.rows, fixed, moving, segmentBytes);
    } catch (error) {
      this.#rows.release();
      throw error;
    }
    this.#ring = new StagingRing(device);
    this.#stagedRows = Math.max(1, Math.floor(stagingBytes / Math.max(4, this.#layout.stride)));
  }

  /** Reads the fixed rows and copies them to the device. */
  static async open(device: GpuDevice, cold: ColdRows, settings: CacheSettings): Promise<DeviceCache> {
    const cache = new DeviceCache(device, cold, settings);
    try {
      const { stride } = cache.#layout;
      const { fixed } = settings;
      for (let first = 0; first < fixed.length; first += cache.#stagedRows) {
        const ids = fixed.slice(first, first + cache.#stagedRows);
        const rows = new Uint8Array(ids.length * stride);
        await cold.read(ids, rows, stride);
        cache.#rows.upload(first, rows);
      }
      await device.finish();
    } catch (error) {
      cache.release();
      throw error;
    }
    return cache;
  }

  /** Gathers the rows of ids on the host. */
  async gather(ids: Int32Array): Promise<GpuBuffer> {
    const { slots, missed } = this.slots.split(ids);
    return this.#answer(ids.length, this.device.bufferOf(slots, 'slots of rows'), async (into) => {
      this.#count(ids.length, missed.length);
      if (missed.length === 0) return;
      const missedIds = missed.map((i) => ids[i]);
      const rows = this.device.bufferOf(missed, 'missing rows');
      try {
        await this.#fill(into, missedIds, rows);
      } finally {
        rows.release();
      }
    });
  }

  /** Gathers the rows of ids on the device; returns null if the table is too large for a slot map there. */
  async gatherOnDevice(ids: IdBuffer): Promise<GpuBuffer | null> {
    const { device, slots: hot } = this;
    const { length: n } = ids;
    if (hot.onDevice === null) return null;
    const scratch = (name: string): GpuBuffer => device.buffer(4 * n, name);
    const [slots, missedIds, missedRows] = [
      scratch('slots'),
      scratch('missing ids'),
      scratch('missing rows'),
    ];
    const state = device.bufferOf(Uint32Array.of(0, noSlot), 'state of a look-up');
    device.run(
      locate,
      [ids.buffer, hot.onDevice, slots, state, missedIds, missedRows, hot.marks],
      [n, this.#cold.rows, hot.fixed.length, ids.start],
      grid(n, groupSize),
    );
    try {
      return await this.#answer(n, slots, async (into) => {
        const missing = await this.#readMissing(n, state, missedIds);
        this.#count(n, missing.length);
        if (missing.length > 0) await this.#fill(into, missing, missedRows);
      });
    } finally {
      for (const buffer of [state, missedIds, missedRows]) buffer.release();
    }
  }

  /**
   * Runs `write`, then updates cached copies of these rows. `ids` are distinct; `rows` are laid out as on the device.
   */
  update(write: () => Promise<void>, ids: Int32Array, rows: Uint8Array): Promise<void> {
    this.#writes++;
    this.#pending++;
    // Sequentially, so that host and device agree on which write is the last.
    const done = this.#lastWrite.then(() => this.#write(write, ids, rows));
    this.#lastWrite = done.catch(() => {});
    return done;
  }

  async #write(write: () => Promise<void>, ids: Int32Array, rows: Uint8Array): Promise<void> {
    try {
      await write();
      if (this.#isReleased) return;
      const positions = Int32Array.from(ids.keys()).filter((i) => this.slots.slotOf(ids[i]) >= 0);
      if (positions.length === 0) return;
      const fresh = this.device.bufferOf(rows, 'new rows');
      this.#rows.store(
        positions.map((i) => this.slots.slotOf(ids[i])),
        positions,
        fresh,
      );
      this.device.flush();
      fresh.release();
    } finally {
      this.#writes++;
      this.#pending--;
    }
  }

  release(): void {
    this.#isReleased = true;
    this.#rows.release();
    this.slots.release();
    this.#ring.release();
  }

  #count(asked: number, missed: number): void {
    this.hits += asked - missed;
    this.misses += missed;
    this.#lastMisses = missed;
  }

  /** Returns a result with the cached rows, after `rest` has inserted the others. */
  async #answer(n: number, slots: GpuBuffer, rest: (into: Gathering) => Promise<void>): Promise<GpuBuffer> {
    const { device } = this;
    let out: GpuBuffer | null = null;
    try {
      out = device.buffer(n * this.#layout.bytes, 'gathered rows');
      const into = { out, slots, n };
      if (n > 0) this.#rows.gather(into);
      await rest(into);
      device.flush();
      return out;
    } catch (error) {
      out?.release();
      throw error;
    } finally {
      slots.release();
    }
  }

  /**
   * Returns the missing ids in the order of `missedIds`. Takes one read-back unless there are many more than last time.
   */
  async #readMissing(n: number, state: GpuBuffer, missedIds: GpuBuffer): Promise<Int32Array> {
    const { device, slots } = this;
    const likely = Math.min(n, Math.max(256, Math.ceil(1.25 * this.#lastMisses)));
    const reading = device.readAll([
      { buffer: state, bytes: 8 },
      { buffer: missedIds, bytes: 4 * likely },
      { buffer: slots.marks, bytes: slots.marks.bytes },
    ]);
    device.clear(slots.marks);
    const [counts, ids, marks] = await reading;
    const [missed, bad] = new Uint32Array(counts);
    if (bad !== noSlot)
      throw new ValueError(
        expected(where, `ids from 0 to ${this.#cold.rows - 1}`, `ids[${bad}]`, 'one that is out of range'),
      );
    slots.takeMarks(new Uint32Array(marks));
    if (missed <= likely) return new Int32Array(ids, 0, missed);
    return new Int32Array(await device.read(missedIds, 4 * missed));
  }

  /** Transfers rows from the host: missing[k] becomes row rows[k] of the result. */
  async #fill(into: Gathering, missing: Int32Array, rows: GpuBuffer): Promise<void> {
    const { distinct, index } = distinctOf(missing);
    this.coldRows += distinct.length;
    for (let first = 0; first < distinct.length; first += this.#stagedRows) {
      const ids = distinct.subarray(first, first + this.#stagedRows);
      await this.#fillPart(into, ids, first, index, rows);
    }
  }

  async #fillPart(
    into: Gathering,
    ids: Int32Array,
    first: number,
    index: Int32Array,
    rows: GpuBuffer,
  ): Promise<void> {
    const { device } = this;
    const { stride } = this.#layout;
    const before = this.#writes;
    const staged = device.buffer(ids.length * stride, 'cold rows');
    try {
      await this.#ring.upload(ids.length * stride, staged, (memory) => this.#cold.read(ids, memory, stride));
      const base = this.slots.fixed.length + this.slots.sieve.capacity;
      const slots = index.map((at) => (at < first || at >= first + ids.length ? -1 : base + at - first));
      this.#insert(into, device.bufferOf(slots, 'slots of cold rows'), rows, slots.length, {
        ...{ buffer: staged, first: base, count: ids.length },
      });
      const isSettled = this.#pending === 0 && before === this.#writes && !this.#isReleased;
      if (isSettled && this.slots.sieve.capacity > 0) {
        const admitted = this.slots.admit(ids);
        this.#rows.store(admitted.slots, admitted.positions, staged);
      }
      device.flush();
    } finally {
      staged.release();
    }
  }

  #insert(
    into: Gathering,
    slots: GpuBuffer,
    rows: GpuBuffer,
    n: number,
    segment: { readonly buffer: GpuBuffer; readonly first: number; readonly count: number },
  ): void {
    const { device } = this;
    if (this.#layout.isWhole) {
      gatherListed(device, this.#layout, into.out, { slots, rows, n }, segment);
    } else {
      device.run(setWords, [rows, slots, into.slots], [n], grid(n, groupSize));
      gatherSegment(device, this.#layout, into, segment);
    }
    slots.release();
  }
}

/** Returns the distinct ids in ascending order, and the position of every id among them. */
export function distinctOf(ids: Int32Array): { readonly distinct: Int32Array; readonly index: Int32Array } {
  const order = argsortIds(ids);
  const distinct = new Int32Array(ids.length);
  const index = new Int32Array(ids.length);
  let count = 0;
  for (const i of order) {
    if (count === 0 || distinct[count - 1] !== ids[i]) distinct[count++] = ids[i];
    index[i] = count - 1;
  }
  return { distinct: distinct.slice(0, count), index };
}

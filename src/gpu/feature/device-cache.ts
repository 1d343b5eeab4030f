/**
 * Hot rows of one table on one device, and what brings the others there.
 *
 * A request is recorded in two steps. First the rows that are on the device are gathered: what is recorded later cannot
 * change them any more, so requests need not wait for each other. The others are read on the host, each once and in the order
 * in which they lie, copied through the staging ring and put into the result; then some stay, unless something was written
 * meanwhile. Ids that a sampler left on the device are looked up there; only those of missing rows come back.
 */
import { expected, ValueError } from '../../util/errors.js';
import { argsortIds } from '../../util/id-order.js';
import type { GpuBuffer } from '../device/gpu-buffer.js';
import type { GpuDevice } from '../device/gpu-device.js';
import { grid } from '../device/program.js';
import type { ColdRows } from './cold-rows.js';
import { DeviceRows, type Gathering, gatherListed, gatherPiece, RowLayout } from './device-rows.js';
import { groupSize, locate, nowhere, setWords } from './feature-programs.js';
import { HotPlaces } from './hot-places.js';
import { StagingRing } from './staging-ring.js';

export interface CacheSettings {
  /** Rows that stay, ascending. */
  readonly fixed: Int32Array;
  /** Room for rows that come and go. */
  readonly moving: number;
  /** Largest piece of device memory. */
  readonly pieceBytes: number;
  /** Rows missing from one request are moved in parts of this size. */
  readonly stagingBytes: number;
}

/** Ids in device memory. */
export interface IdBuffer {
  readonly buffer: GpuBuffer;
  /** First id, in elements. */
  readonly start: number;
  readonly length: number;
}

const where = 'CGPUFeature';

export class DeviceCache {
  readonly device: GpuDevice;
  readonly places: HotPlaces;
  hits = 0;
  misses = 0;
  /** Different rows read on the host. */
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
    const { fixed, moving, pieceBytes, stagingBytes } = settings;
    this.#rows = new DeviceRows(device, this.#layout, fixed.length + moving, pieceBytes, where);
    try {
      this.places = new HotPlaces(device, cold.rows, fixed, moving, pieceBytes);
    } catch (error) {
      this.#rows.release();
      throw error;
    }
    this.#ring = new StagingRing(device);
    this.#stagedRows = Math.max(1, Math.floor(stagingBytes / Math.max(4, this.#layout.stride)));
  }

  /** Reads the rows that stay and copies them to the device. */
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

  /** The rows of ids that the host knows. */
  async gather(ids: Int32Array): Promise<GpuBuffer> {
    const { places, missed } = this.places.split(ids);
    return this.#answer(ids.length, this.device.bufferOf(places, 'places of rows'), async (into) => {
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

  /** The rows of ids on the device; null when the table is too large for a map there. */
  async gatherOnDevice(ids: IdBuffer): Promise<GpuBuffer | null> {
    const { device, places: hot } = this;
    const { length: n } = ids;
    if (hot.onDevice === null) return null;
    const scratch = (name: string): GpuBuffer => device.buffer(4 * n, name);
    const [places, missedIds, missedRows] = [
      scratch('places'),
      scratch('missing ids'),
      scratch('missing rows'),
    ];
    const state = device.bufferOf(Uint32Array.of(0, nowhere), 'state of a look-up');
    device.run(
      locate,
      [ids.buffer, hot.onDevice, places, state, missedIds, missedRows, hot.marks],
      [n, this.#cold.rows, hot.fixed.length, ids.start],
      grid(n, groupSize),
    );
    try {
      return await this.#answer(n, places, async (into) => {
        const missing = await this.#readMissing(n, state, missedIds);
        this.#count(n, missing.length);
        if (missing.length > 0) await this.#fill(into, missing, missedRows);
      });
    } finally {
      for (const buffer of [state, missedIds, missedRows]) buffer.release();
    }
  }

  /** Rows that `write` changes are changed on the device too when it has ended. `ids` different; `rows` as on the device. */
  update(write: () => Promise<void>, ids: Int32Array, rows: Uint8Array): Promise<void> {
    this.#writes++;
    this.#pending++;
    // One after the other, so that the last one is the same on the host and on the device.
    const done = this.#lastWrite.then(() => this.#write(write, ids, rows));
    this.#lastWrite = done.catch(() => {});
    return done;
  }

  async #write(write: () => Promise<void>, ids: Int32Array, rows: Uint8Array): Promise<void> {
    try {
      await write();
      if (this.#isReleased) return;
      const positions = Int32Array.from(ids.keys()).filter((i) => this.places.placeOf(ids[i]) >= 0);
      if (positions.length === 0) return;
      const fresh = this.device.bufferOf(rows, 'new rows');
      this.#rows.store(
        positions.map((i) => this.places.placeOf(ids[i])),
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
    this.places.release();
    this.#ring.release();
  }

  #count(asked: number, missed: number): void {
    this.hits += asked - missed;
    this.misses += missed;
    this.#lastMisses = missed;
  }

  /** A result with the rows that are here; `rest` brings the others. */
  async #answer(n: number, places: GpuBuffer, rest: (into: Gathering) => Promise<void>): Promise<GpuBuffer> {
    const { device } = this;
    let out: GpuBuffer | null = null;
    try {
      out = device.buffer(n * this.#layout.bytes, 'gathered rows');
      const into = { out, places, n };
      if (n > 0) this.#rows.gather(into);
      await rest(into);
      device.flush();
      return out;
    } catch (error) {
      out?.release();
      throw error;
    } finally {
      places.release();
    }
  }

  /** Ids that were not found, in the order of `missedIds`. One read-back unless there are many more than last time. */
  async #readMissing(n: number, state: GpuBuffer, missedIds: GpuBuffer): Promise<Int32Array> {
    const { device, places } = this;
    const likely = Math.min(n, Math.max(256, Math.ceil(1.25 * this.#lastMisses)));
    const reading = device.readAll([
      { buffer: state, bytes: 8 },
      { buffer: missedIds, bytes: 4 * likely },
      { buffer: places.marks, bytes: places.marks.bytes },
    ]);
    device.clear(places.marks);
    const [counts, ids, marks] = await reading;
    const [missed, bad] = new Uint32Array(counts);
    if (bad !== nowhere)
      throw new ValueError(
        expected(where, `ids from 0 to ${this.#cold.rows - 1}`, `ids[${bad}]`, 'one that is out of range'),
      );
    places.takeMarks(new Uint32Array(marks));
    if (missed <= likely) return new Int32Array(ids, 0, missed);
    return new Int32Array(await device.read(missedIds, 4 * missed));
  }

  /** Brings rows from the host: missing[k] becomes row rows[k] of the result. */
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
      const base = this.places.fixed.length + this.places.sieve.capacity;
      const places = index.map((at) => (at < first || at >= first + ids.length ? -1 : base + at - first));
      this.#place(into, device.bufferOf(places, 'places of cold rows'), rows, places.length, {
        ...{ buffer: staged, first: base, count: ids.length },
      });
      const isSettled = this.#pending === 0 && before === this.#writes && !this.#isReleased;
      if (isSettled && this.places.sieve.capacity > 0) {
        const admitted = this.places.admit(ids);
        this.#rows.store(admitted.places, admitted.positions, staged);
      }
      device.flush();
    } finally {
      staged.release();
    }
  }

  #place(
    into: Gathering,
    places: GpuBuffer,
    rows: GpuBuffer,
    n: number,
    piece: { readonly buffer: GpuBuffer; readonly first: number; readonly count: number },
  ): void {
    const { device } = this;
    if (this.#layout.isWhole) {
      gatherListed(device, this.#layout, into.out, { places, rows, n }, piece);
    } else {
      device.run(setWords, [rows, places, into.places], [n], grid(n, groupSize));
      gatherPiece(device, this.#layout, into, piece);
    }
    places.release();
  }
}

/** Different ids in ascending order, and the place among them of every id. */
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

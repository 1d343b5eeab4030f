/**
 * A table whose rows are held by their owners: every worker keeps one range of it in memory and reads and writes the
 * rows of others by request. Owners are not interrupted; their communication thread answers while they compute.
 *
 * - All workers open the store with the same name; opening does not wait. `gather`, `put` and plain `add` are not
 *   collective.
 * - With `deterministic`, `add` is collective: contributions go to the owners and are added in rank order, so that sums
 *   have the same bits in every run. Plain `add` applies requests in the order of arrival.
 * - A row that one worker writes while another reads it may be read half old, half new; put a barrier in between.
 * - A cache keeps copies of other workers' rows and does not see their changes: use it for tables that do not change,
 *   or call `refresh` after a barrier.
 *
 * @example
 * const store = new RemoteRowStore('features', own, { width: 100, ranges: pd.nodeRanges, cacheRows: 50_000 });
 * const rows = await store.gather(batch.nodeIds);
 */
import { kernels } from '../../native/index.js';
import {
  checkIds,
  checkRange,
  checkValues,
  countRows,
  makeRows,
  type RowStore,
  type StoreType,
} from '../../storage/row-store.js';
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { completedHandle } from '../comm/comm-checks.js';
import type { CommHandle, Communicator, ReduceArray } from '../comm/communicator.js';
import { currentCommunicator } from '../comm/current.js';
import type { NodeRange } from '../partition/partition-data.js';
import { addInRankOrder } from './ordered-add.js';
import { OwnerRanges, type Route } from './owner-routes.js';
import { RowCache } from './row-cache.js';

export interface RemoteRowStoreOptions {
  /** Elements of a row. */
  readonly width: number;
  /** The rows of every worker: from 0, without gaps, in rank order. */
  readonly ranges: readonly NodeRange[];
  readonly comm?: Communicator;
  /** Number of rows of other workers to cache (default 0). */
  readonly cacheRows?: number;
  /** Make `add` collective, with the same bits in every run (default false). */
  readonly deterministic?: boolean;
}

/** Counters of the rows read so far. */
export interface RemoteRowStats {
  /** Rows read from this worker's range. */
  readonly ownRows: number;
  /** Rows fetched from other workers, and requests for them. */
  readonly fetchedRows: number;
  readonly requests: number;
  /** Rows of other workers found in the cache, and not found. */
  readonly hits: number;
  readonly misses: number;
}

const name = 'RemoteRowStore';

export class RemoteRowStore<T extends ReduceArray = Float32Array> implements RowStore<T> {
  readonly name: string;
  readonly rows: number;
  readonly width: number;
  readonly dtype: StoreType;
  readonly comm: Communicator;
  /** The rows of this worker, not a copy. */
  readonly local: T;
  readonly ranges: OwnerRanges;
  readonly deterministic: boolean;
  readonly #cache: RowCache | null;
  #ownRows = 0;
  #fetchedRows = 0;
  #requests = 0;
  /** Counts this worker's writes, so that a row requested before a write and received after it is not cached. */
  #writes = 0;

  constructor(table: string, local: T, options: RemoteRowStoreOptions) {
    checkOptionNames('RemoteRowStore', options, {
      width: true,
      ranges: true,
      comm: true,
      cacheRows: true,
      deterministic: true,
    });
    this.name = table;
    this.comm = options.comm ?? currentCommunicator();
    this.width = checkInteger(name, 'width', options.width, 1);
    this.ranges = new OwnerRanges(name, options.ranges);
    if (options.ranges.length !== this.comm.size)
      throw new ShapeError(expected(name, `${this.comm.size} ranges`, 'ranges', options.ranges.length));
    this.rows = this.ranges.total;
    this.local = local;
    this.dtype = typeOf(local);
    const own = options.ranges[this.comm.rank];
    checkValues(name, this as RowStore, local, own.end - own.start);
    const cacheRows = checkInteger(name, 'cacheRows', options.cacheRows ?? 0);
    this.#cache = cacheRows === 0 ? null : new RowCache(this.dtype, cacheRows, this.width);
    this.deterministic = options.deterministic ?? false;
    this.comm.registerTable(table, local, this.width);
  }

  get stats(): RemoteRowStats {
    return {
      ownRows: this.#ownRows,
      fetchedRows: this.#fetchedRows,
      requests: this.#requests,
      hits: this.#cache?.hits ?? 0,
      misses: this.#cache?.misses ?? 0,
    };
  }

  async gather(ids: Int32Array, out?: T): Promise<T> {
    checkIds('gather', ids, this.rows);
    const rows = out ?? (makeRows(this.dtype, ids.length * this.width) as T);
    await this.startGather(ids, rows).promise();
    return rows;
  }

  /** `gather` that blocks the thread, for code between collectives. */
  gatherSync(ids: Int32Array, out?: T): T {
    checkIds('gather', ids, this.rows);
    const rows = out ?? (makeRows(this.dtype, ids.length * this.width) as T);
    this.startGather(ids, rows).wait();
    return rows;
  }

  /** Starts to read rows into `out`, which is complete after `wait` or `promise` of the handle. */
  startGather(ids: Int32Array, out: T): CommHandle {
    checkIds('gather', ids, this.rows);
    checkValues('gather', this as RowStore, out, ids.length);
    const parts: PendingRows<T>[] = [];
    for (const route of this.ranges.split(ids)) {
      if (route.owner === this.comm.rank) this.#gatherOwn(route, out);
      else this.#request(route, out, parts);
    }
    return parts.length === 0 ? completedHandle : new GatherHandle(parts, (part) => this.#receive(part, out));
  }

  async add(ids: Int32Array, values: T): Promise<void> {
    checkIds('add', ids, this.rows);
    checkValues('add', this as RowStore, values, ids.length);
    this.#invalidate(ids);
    if (this.deterministic) addInRankOrder(this, ids, values);
    else await this.#write('addRows', ids, values);
  }

  async put(ids: Int32Array, values: T): Promise<void> {
    checkIds('put', ids, this.rows);
    checkValues('put', this as RowStore, values, ids.length);
    this.#invalidate(ids);
    await this.#write('putRows', ids, values);
  }

  async range(start: number, count: number): Promise<T> {
    checkRange('range', start, count, this.rows);
    return this.gather(idsFrom(start, count));
  }

  async rangePut(start: number, values: T): Promise<void> {
    const count = countRows('rangePut', values, this.width);
    checkRange('rangePut', start, count, this.rows);
    await this.put(idsFrom(start, count), values);
  }

  /** Loads rows into the cache; does nothing without a cache. */
  async prefetch(ids: Int32Array): Promise<void> {
    checkIds('prefetch', ids, this.rows);
    if (this.#cache === null) return;
    const own = this.ranges.ranges[this.comm.rank];
    const missing = [...new Set(ids)].filter(
      (id) => (id < own.start || id >= own.end) && this.#cache?.has(id) === false,
    );
    await this.gather(Int32Array.from(missing));
  }

  /** Empties the cache: rows that other workers wrote before a barrier are read again after it. */
  refresh(): void {
    this.#cache?.clear();
  }

  /** Rows are in memory; a write is complete when its promise resolves. */
  flush(): Promise<void> {
    return Promise.resolve();
  }

  /** Unregisters this worker's rows, so that others can no longer read them. Put a barrier before it. */
  close(): void {
    this.comm.unregisterTable(this.name);
  }

  #gatherOwn({ rows, positions }: Route, out: T): void {
    const { width, local } = this;
    const rowBytes = width * local.BYTES_PER_ELEMENT;
    this.#ownRows += rows.length;
    const direct = contiguousRows(positions, out, width);
    const into = direct ?? (makeRows(this.dtype, rows.length * width) as T);
    kernels().gatherRows(local, rows, into, rows.length, rowBytes);
    if (direct === null) kernels().putRows(into, positions, out, rows.length, rowBytes);
  }

  /** Requests from an owner the rows that the cache does not have. */
  #request(route: Route, out: T, parts: PendingRows<T>[]): void {
    const { rows, positions } = this.#cache === null ? route : this.#readCached(this.#cache, route, out);
    if (rows.length === 0) return;
    this.#fetchedRows += rows.length;
    this.#requests++;
    const direct = contiguousRows(positions, out, this.width);
    const into = direct ?? (makeRows(this.dtype, rows.length * this.width) as T);
    const handle = this.comm.getRows(route.owner, this.name, rows, into);
    parts.push({
      handle,
      into,
      positions: direct === null ? positions : null,
      owner: route.owner,
      rows,
      writes: this.#writes,
    });
  }

  #readCached(cache: RowCache, { owner, rows, positions }: Route, out: T): Route {
    const { start } = this.ranges.ranges[owner];
    const missed: number[] = [];
    for (let i = 0; i < rows.length; i++) if (!cache.take(start + rows[i], out, positions[i])) missed.push(i);
    return {
      owner,
      rows: Int32Array.from(missed, (i) => rows[i]),
      positions: Int32Array.from(missed, (i) => positions[i]),
    };
  }

  #invalidate(ids: Int32Array): void {
    this.#writes++;
    this.#cache?.drop(ids);
  }

  #receive({ into, positions, owner, rows, writes }: PendingRows<T>, out: T): void {
    if (positions !== null)
      kernels().putRows(into, positions, out, rows.length, this.width * into.BYTES_PER_ELEMENT);
    if (this.#cache === null || writes !== this.#writes) return;
    const { start } = this.ranges.ranges[owner];
    for (let i = 0; i < rows.length; i++) this.#cache.keep(start + rows[i], into, i);
  }

  /** Writes also this worker's rows by request: then the communication thread alone orders reads and writes. */
  async #write(how: 'putRows' | 'addRows', ids: Int32Array, values: T): Promise<void> {
    const { width } = this;
    const handles = this.ranges.split(ids).map(({ owner, rows, positions }) => {
      const sent =
        contiguousRows(positions, values, width) ?? (makeRows(this.dtype, rows.length * width) as T);
      if (sent.buffer !== values.buffer)
        kernels().gatherRows(values, positions, sent, rows.length, width * sent.BYTES_PER_ELEMENT);
      return this.comm[how](owner, this.name, rows, sent);
    });
    for (const handle of handles) await handle.promise();
  }
}

/** A request for rows of one owner in flight. */
interface PendingRows<T> {
  readonly handle: CommHandle;
  readonly into: T;
  /** Their positions in the output; null if they are received in place. */
  readonly positions: Int32Array | null;
  readonly owner: number;
  readonly rows: Int32Array;
  /** The number of writes at the time of the request. */
  readonly writes: number;
}

/** Requests to several owners, combined into one handle. */
class GatherHandle<T> implements CommHandle {
  readonly #parts: readonly PendingRows<T>[];
  readonly #receive: (part: PendingRows<T>) => void;
  #finished = false;

  constructor(parts: readonly PendingRows<T>[], arrived: (part: PendingRows<T>) => void) {
    this.#parts = parts;
    this.#receive = arrived;
  }

  get done(): boolean {
    return this.#finished || this.#parts.every(({ handle }) => handle.done);
  }

  wait(): void {
    if (this.#finished) return;
    for (const { handle } of this.#parts) handle.wait();
    this.#finish();
  }

  async promise(): Promise<void> {
    for (const { handle } of this.#parts) await handle.promise();
    this.#finish();
  }

  #finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    for (const part of this.#parts) this.#receive(part);
  }
}

/** Returns the range of `rows` at ascending positions without gaps; null if there are gaps. */
function contiguousRows<T extends ReduceArray>(positions: Int32Array, rows: T, width: number): T | null {
  const first = positions[0];
  const last = positions[positions.length - 1];
  if (last - first !== positions.length - 1) return null;
  return rows.subarray(first * width, (last + 1) * width) as T;
}

function idsFrom(start: number, count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => start + i);
}

function typeOf(local: ReduceArray): StoreType {
  if (local instanceof Float32Array) return 'f32';
  if (local instanceof Float64Array) return 'f64';
  if (local instanceof Int32Array) return 'i32';
  throw new ValueError(expected(name, 'Float32Array, Float64Array or Int32Array', 'local', local));
}

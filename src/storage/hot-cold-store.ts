/**
 * Caches the hot rows of any table in memory: a fixed set chosen by score, and a dynamic one managed by SIEVE. Other
 * rows are read from the underlying table, each once per call and in the order in which they are stored.
 *
 * Writes go to the underlying table and to the copies, in sequence: both have the same rows when a write has ended, so
 * `range` reads the underlying table and nothing is lost with the memory. A row that is read during a write is not
 * cached.
 *
 * @example
 * const store = new HotColdStore(file, { size: '2G', scores: hotness(csr, { fanouts: [15, 10], seeds }) });
 * await store.load();
 * const rows = await store.gather(batch.nodeIds);
 * console.log(store.stats.missRate);
 */
import { kernels } from '../native/index.js';
import { checkNumber, expected, ShapeError, StateError, ValueError } from '../util/errors.js';
import { selectHottest } from '../util/hottest.js';
import { distinctIds } from '../util/id-order.js';
import { checkOptionNames } from '../util/option-names.js';
import { parseSize } from '../util/size.js';
import { HotRows } from './hot-rows.js';
import {
  checkIds,
  checkRange,
  checkValues,
  countRows,
  makeRows,
  type RowArray,
  type RowStore,
  type StoreType,
} from './row-store.js';

export interface HotColdOptions {
  /** Memory for copies: "0.1G", "200M" or a number of bytes; 0 caches none. */
  readonly size: string | number;
  /** A score per row: the rows with the highest scores are always cached. By default all copies are dynamic. */
  readonly scores?: ArrayLike<number>;
  /** The fraction of the memory for dynamic rows (default 0.1 with scores, 1 without). */
  readonly dynamicShare?: number;
}

export interface HotColdStats {
  /** The numbers of requested rows that were found in memory, and that were not. */
  readonly hits: number;
  readonly misses: number;
  /** misses / (hits + misses); 0 before the first. */
  readonly missRate: number;
  /** The number of distinct rows read from the underlying table. */
  readonly coldRows: number;
  readonly fixedRows: number;
  /** The number of dynamic rows, and their capacity. */
  readonly dynamicRows: number;
  readonly dynamicCapacity: number;
}

/** An underlying table; one with files is opened and closed with the store. */
export type ColdStore<T extends RowArray> = RowStore<T> & {
  load?(): Promise<void>;
  unload?(write?: boolean): Promise<void>;
};

const name = 'HotColdStore';
/** The fixed set is read in chunks of this size. */
const fillBytes = 2 ** 25;
/** A typed array on Node 20 has at most this many elements. */
const maxElements = 2 ** 32 - 1;

export class HotColdStore<T extends RowArray = Float32Array> implements RowStore<T> {
  readonly cold: ColdStore<T>;
  readonly #fixed: Int32Array;
  readonly #dynamic: number;
  #hot: HotRows | null = null;
  #hits = 0;
  #misses = 0;
  #coldRows = 0;
  /** Counts starts and ends of writes, so that a row read during one is not cached. */
  #writes = 0;
  #pending = 0;
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(cold: ColdStore<T>, options: HotColdOptions) {
    checkOptionNames('HotColdStore', options, { size: true, scores: true, dynamicShare: true });
    this.cold = cold;
    const bytes = parseSize(options.size, name, 'size');
    const rowBytes = cold.width * makeRows(cold.dtype, 0).BYTES_PER_ELEMENT;
    const { scores } = options;
    if (scores !== undefined && scores.length !== cold.rows)
      throw new ShapeError(expected(name, `${cold.rows} scores`, 'scores', scores.length));
    const share = checkNumber(name, 'dynamicShare', options.dynamicShare ?? (scores ? 0.1 : 1), 0, 1);
    if (scores === undefined && share < 1)
      throw new ValueError(expected(name, 'scores, which select the fixed rows,', 'scores', scores));
    const most = Math.floor(maxElements / Math.max(1, cold.width));
    const rows = Math.min(Math.floor(bytes / Math.max(1, rowBytes)), cold.rows, most);
    // A cache of the whole table needs no dynamic rows.
    this.#dynamic = scores !== undefined && rows === cold.rows ? 0 : Math.floor(rows * share);
    this.#fixed = scores === undefined ? new Int32Array(0) : selectHottest(scores, rows - this.#dynamic);
  }

  get rows(): number {
    return this.cold.rows;
  }

  get width(): number {
    return this.cold.width;
  }

  get dtype(): StoreType {
    return this.cold.dtype;
  }

  get stats(): HotColdStats {
    const asked = this.#hits + this.#misses;
    return {
      hits: this.#hits,
      misses: this.#misses,
      missRate: asked === 0 ? 0 : this.#misses / asked,
      coldRows: this.#coldRows,
      fixedRows: this.#fixed.length,
      dynamicRows: this.#hot?.sieve.size ?? 0,
      dynamicCapacity: this.#dynamic,
    };
  }

  /** Opens the underlying table and reads the fixed rows; does nothing if it is loaded. */
  async load(): Promise<void> {
    if (this.#hot !== null) return;
    await this.cold.load?.();
    const { cold } = this;
    const hot = new HotRows(cold.dtype, { rows: cold.rows, width: cold.width }, this.#fixed, this.#dynamic);
    const piece = Math.max(1, Math.floor(fillBytes / Math.max(1, cold.width * 4)));
    for (let start = 0; start < this.#fixed.length; start += piece)
      hot.fill(start, await this.#readBelow(this.#fixed.slice(start, start + piece)));
    this.#hot = hot;
  }

  /** Drops all copies and closes the underlying table. */
  async unload(write = false): Promise<void> {
    await this.#lastWrite;
    this.#hot = null;
    await this.cold.unload?.(write);
  }

  async gather(ids: Int32Array, out?: T): Promise<T> {
    checkIds('gather', ids, this.rows);
    const hot = this.#loaded();
    const result = out ?? (makeRows(this.dtype, ids.length * this.width) as T);
    checkValues('gather', this as RowStore, result, ids.length);
    const split = hot.split(ids);
    const { missed } = split;
    this.#misses += missed.length;
    this.#hits += ids.length - missed.length;
    if (missed.length === 0) {
      hot.copyTo(result, split);
      return result;
    }
    const { ids: coldIds, first, repeats } = distinctIds(ids, missed);
    const reading = this.#read(coldIds);
    // Copied while the underlying table is read, before the copies can change.
    hot.copyTo(result, split);
    const rows = await reading;
    const { width } = this;
    kernels().putRows(rows, first, result, coldIds.length, width * result.BYTES_PER_ELEMENT);
    for (let i = 0; i < repeats.length; i += 2)
      result.copyWithin(repeats[i] * width, repeats[i + 1] * width, (repeats[i + 1] + 1) * width);
    return result;
  }

  async put(ids: Int32Array, values: T): Promise<void> {
    checkIds('put', ids, this.rows);
    checkValues('put', this as RowStore, values, ids.length);
    await this.#write(async (hot) => {
      await this.cold.put(ids, values);
      if (this.#isHalf) await this.#refresh(hot, ids);
      else hot.put(ids, values);
    });
  }

  async add(ids: Int32Array, values: T): Promise<void> {
    checkIds('add', ids, this.rows);
    checkValues('add', this as RowStore, values, ids.length);
    await this.#write(async (hot) => {
      if (this.#isHalf) {
        await this.cold.add(ids, values);
        return this.#refresh(hot, ids);
      }
      const positions = Int32Array.from(ids.keys());
      await this.#addToCopies(
        hot,
        ids,
        values,
        positions.filter((i) => hot.has(ids[i])),
      );
      const cold = positions.filter((i) => !hot.has(ids[i]));
      if (cold.length === 0) return;
      const coldIds = cold.map((i) => ids[i]);
      await this.cold.add(coldIds, pickRows(values, cold, this.width));
    });
  }

  async range(start: number, count: number): Promise<T> {
    checkRange('range', start, count, this.rows);
    return this.cold.range(start, count);
  }

  async rangePut(start: number, values: T): Promise<void> {
    const count = countRows('rangePut', values, this.width);
    checkRange('rangePut', start, count, this.rows);
    checkValues('rangePut', this as RowStore, values, count);
    const ids = Int32Array.from({ length: count }, (_, i) => start + i);
    await this.#write(async (hot) => {
      await this.cold.rangePut(start, values);
      if (this.#isHalf) await this.#refresh(hot, ids);
      else hot.put(ids, values);
    });
  }

  /** Reads rows into memory, as far as the dynamic capacity allows. */
  async prefetch(ids: Int32Array): Promise<void> {
    checkIds('prefetch', ids, this.rows);
    const hot = this.#loaded();
    const { missed } = hot.split(ids);
    if (missed.length === 0) return;
    const wanted = distinctIds(ids, missed).ids;
    if (this.#dynamic === 0) return this.cold.prefetch(wanted);
    await this.#read(wanted.slice(0, this.#dynamic));
  }

  async flush(): Promise<void> {
    await this.#lastWrite;
    await this.cold.flush();
  }

  get #isHalf(): boolean {
    return this.dtype === 'f16' || this.dtype === 'bf16';
  }

  #loaded(): HotRows {
    if (this.#hot === null)
      throw new StateError(`${name}: the hot rows are not in memory. Call load() first.`);
    return this.#hot;
  }

  /** Reads rows from the underlying table and checks them, since kernels trust lengths. */
  async #readBelow(ids: Int32Array): Promise<T> {
    const rows = await this.cold.gather(ids);
    checkValues(`${name}: gather of the underlying table`, this as RowStore, rows, ids.length);
    return rows;
  }

  /** Reads rows from the underlying table and caches them unless there was a write during the read. */
  async #read(ids: Int32Array): Promise<T> {
    const hot = this.#loaded();
    const before = this.#writes;
    this.#coldRows += ids.length;
    const rows = await this.#readBelow(ids);
    if (this.#dynamic > 0 && this.#pending === 0 && before === this.#writes) hot.admit(ids, rows);
    return rows;
  }

  /** Runs writes in sequence, so that the last one is the same in the table and the cache. */
  #write(work: (hot: HotRows) => Promise<void>): Promise<void> {
    const hot = this.#loaded();
    this.#writes++;
    this.#pending++;
    const done = this.#lastWrite.then(() => work(hot));
    this.#lastWrite = done
      .catch(() => {})
      .then(() => {
        this.#writes++;
        this.#pending--;
      });
    return done;
  }

  /**
   * Adds to rows with copies, in the order of `positions`, and writes the sums to the underlying table without reading
   * it.
   */
  async #addToCopies(hot: HotRows, ids: Int32Array, values: T, positions: Int32Array): Promise<void> {
    if (positions.length === 0) return;
    const { ids: changed } = distinctIds(ids, positions);
    const rows = hot.gather(changed) as T;
    const indexOf = new Map(Array.from(changed, (id, i) => [id, i]));
    const { width } = this;
    for (const place of positions) {
      const to = (indexOf.get(ids[place]) as number) * width;
      for (let k = 0; k < width; k++) rows[to + k] += values[place * width + k];
    }
    await this.cold.put(changed, rows);
    hot.put(changed, rows);
  }

  /** Reads rows again that the underlying table has rounded. */
  async #refresh(hot: HotRows, ids: Int32Array): Promise<void> {
    const positions = Int32Array.from(ids.keys()).filter((i) => hot.has(ids[i]));
    const changed = distinctIds(ids, positions).ids;
    if (changed.length > 0) hot.put(changed, await this.#readBelow(changed));
  }
}

function pickRows<T extends RowArray>(rows: T, positions: Int32Array, width: number): T {
  const picked = new (rows.constructor as new (length: number) => T)(positions.length * width);
  kernels().gatherRows(rows, positions, picked, positions.length, width * rows.BYTES_PER_ELEMENT);
  return picked;
}

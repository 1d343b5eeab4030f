/**
 * Any table with its hot rows in memory: a fixed set chosen by score, and behind it rows that come and go by SIEVE. What is
 * not there is read from the table below, each row once per call and in the order in which rows lie.
 *
 * Writes go to the table below and to the copies, one after the other: both hold the same rows whenever a write has ended, so
 * `range` reads below and nothing is lost with the memory. A row that is read while it is written is not kept.
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
  /** Memory for copies: "0.1G", "200M" or a number of bytes; 0 keeps none. */
  readonly size: string | number;
  /** A score for every row: the rows of the highest scores are kept for good. Without it all copies come and go. */
  readonly scores?: ArrayLike<number>;
  /** Part of the memory for rows that come and go (default 0.1 with scores, 1 without). */
  readonly dynamicShare?: number;
}

export interface HotColdStats {
  /** Rows that were asked for and found in memory, and those that were not. */
  readonly hits: number;
  readonly misses: number;
  /** misses / (hits + misses); 0 before the first. */
  readonly missRate: number;
  /** Different rows read from the table below. */
  readonly coldRows: number;
  readonly fixedRows: number;
  /** Rows that come and go: how many there are, and room for how many. */
  readonly dynamicRows: number;
  readonly dynamicCapacity: number;
}

/** A table below; ones with files are opened and closed with the store. */
export type ColdStore<T extends RowArray> = RowStore<T> & {
  load?(): Promise<void>;
  unload?(write?: boolean): Promise<void>;
};

const name = 'HotColdStore';
/** The hot set is read in pieces of this size. */
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
  /** Counts writes that began or ended, so that a row read meanwhile is not kept. */
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
      throw new ValueError(expected(name, 'scores, which say what stays,', 'scores', scores));
    const most = Math.floor(maxElements / Math.max(1, cold.width));
    const rows = Math.min(Math.floor(bytes / Math.max(1, rowBytes)), cold.rows, most);
    // What holds the whole table need not change.
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

  /** Opens the table below and reads the rows that stay; a second time does nothing. */
  async load(): Promise<void> {
    if (this.#hot !== null) return;
    await this.cold.load?.();
    const { cold } = this;
    const hot = new HotRows(cold.dtype, { rows: cold.rows, width: cold.width }, this.#fixed, this.#dynamic);
    const piece = Math.max(1, Math.floor(fillBytes / Math.max(1, cold.width * 4)));
    for (let start = 0; start < this.#fixed.length; start += piece)
      hot.fill(start, await this.#below(this.#fixed.slice(start, start + piece)));
    this.#hot = hot;
  }

  /** Forgets all copies and closes the table below. */
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
    // Copied while the table below is read, and before anything else can change the copies.
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
      const places = Int32Array.from(ids.keys());
      await this.#addToCopies(
        hot,
        ids,
        values,
        places.filter((i) => hot.has(ids[i])),
      );
      const cold = places.filter((i) => !hot.has(ids[i]));
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

  /** Brings rows into memory as far as there is room for rows that come and go. */
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

  /** Rows as the table below gives them. Kernels trust lengths, so another table's mistake must end here. */
  async #below(ids: Int32Array): Promise<T> {
    const rows = await this.cold.gather(ids);
    checkValues(`${name}: gather of the table below`, this as RowStore, rows, ids.length);
    return rows;
  }

  /** Rows from below; they are kept unless something was written meanwhile. */
  async #read(ids: Int32Array): Promise<T> {
    const hot = this.#loaded();
    const before = this.#writes;
    this.#coldRows += ids.length;
    const rows = await this.#below(ids);
    if (this.#dynamic > 0 && this.#pending === 0 && before === this.#writes) hot.admit(ids, rows);
    return rows;
  }

  /** Writes one after the other, so that the last one is the same in both places. */
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

  /** Adds to rows that have copies, in the order of `places` as below; written there without reading there. */
  async #addToCopies(hot: HotRows, ids: Int32Array, values: T, places: Int32Array): Promise<void> {
    if (places.length === 0) return;
    const { ids: changed } = distinctIds(ids, places);
    const rows = hot.gather(changed) as T;
    const indexOf = new Map(Array.from(changed, (id, i) => [id, i]));
    const { width } = this;
    for (const place of places) {
      const to = (indexOf.get(ids[place]) as number) * width;
      for (let k = 0; k < width; k++) rows[to + k] += values[place * width + k];
    }
    await this.cold.put(changed, rows);
    hot.put(changed, rows);
  }

  /** Copies again what was rounded below. */
  async #refresh(hot: HotRows, ids: Int32Array): Promise<void> {
    const places = Int32Array.from(ids.keys()).filter((i) => hot.has(ids[i]));
    const changed = distinctIds(ids, places).ids;
    if (changed.length > 0) hot.put(changed, await this.#below(changed));
  }
}

function pickRows<T extends RowArray>(rows: T, places: Int32Array, width: number): T {
  const picked = new (rows.constructor as new (length: number) => T)(places.length * width);
  kernels().gatherRows(rows, places, picked, places.length, width * rows.BYTES_PER_ELEMENT);
  return picked;
}

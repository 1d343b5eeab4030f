/**
 * Trained rows that many workers hold together. Every partition is cut into pieces, of which each worker has some, with
 * their optimiser's state: all of them in memory, or those of the partitions that are resident. Then all workers swap their
 * pieces of the same partitions at the same time, and no worker reads a file that another one writes.
 *
 * To its users all resident rows are there, by the local ids that one worker would have; rows of others come and gradients go
 * by messages. Reading and updating are collective: every worker calls them for every batch, also with no ids. Gradients of a
 * row are summed at its owner in the order of ranks and applied in one step, so that the same number of workers gives the same
 * bits, and another number differs by rounding alone. Any number of workers, up to that of pieces, can resume from the files.
 */
import { kernels } from '../../native/index.js';
import {
  BufferedColumn,
  BufferedTable,
  PartitionBuffer,
  PartitionLayout,
  type PartitionRange,
  type ResidentRange,
  type RowGradient,
  type RowOptimizer,
  type RunTable,
  type StoreType,
  type TableFiles,
  type TableManifest,
  type Tile,
  type TrainedRows,
} from '../../storage/index.js';
import { asTensor } from '../../storage/memory-embeddings.js';
import { checkIds, checkRange, checkValues } from '../../storage/row-store.js';
import { checkOneState, hostGradient } from '../../storage/trained-rows.js';
import type { Tensor } from '../../tensor/index.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import type { WorkerGroup } from '../group/worker-group.js';
import { checkPieces, ownPieces, rangesOf } from './own-pieces.js';
import { OwnerRanges, type Route } from './owner-routes.js';
import { readAhead } from './read-ahead.js';
import { checkpointShared, pruneShared, restoreShared } from './shared-files.js';

const name = 'DistributedEmbeddings';

/** A table of at most this many bytes is kept whole while it is only read, in place of fetching it for every batch. */
const keptBytes = 2 ** 26;

export interface DistributedEmbeddingsOptions {
  readonly column: string;
  readonly optimizer: RowOptimizer;
  /** Partitions of the plan (default 1: all files are pieces of one). */
  readonly partitions?: number;
  /** How many of them are resident at once (default 1). */
  readonly capacity?: number;
  /** Read the next partitions and write the evicted ones in the background. */
  readonly prefetch?: boolean;
}

/** Ids that were asked for, and what others asked of this worker for the same batch. */
interface Exchange {
  readonly ids: Int32Array;
  readonly routes: readonly Route[];
  /** By rank: rows of this worker. */
  readonly asked: readonly Int32Array[];
}

export class DistributedEmbeddings implements TrainedRows, RunTable {
  readonly group: WorkerGroup;
  /** The resident pieces of this worker: those of the first slot, then those of the next. */
  readonly buffer: PartitionBuffer;
  readonly optimizer: RowOptimizer;
  readonly device = null;
  readonly rows: number;
  readonly width: number;
  readonly dtype: StoreType;
  readonly partitions: number;
  readonly capacity: number;
  /** How the plan cuts the table; the files hold pieces of that. */
  readonly #plan: PartitionLayout;
  readonly #column: BufferedColumn;
  readonly #index: number;
  readonly #comm: Communicator;
  readonly #own: Required<PartitionRange>;
  readonly #ranges: OwnerRanges;
  #last: Exchange | null = null;
  /** The whole table, as long as it does not change. */
  #kept: Tile[] | null = null;

  /** `files` were opened with `ownPieces` of this rank. */
  constructor(files: TableFiles, group: WorkerGroup, options: DistributedEmbeddingsOptions) {
    checkOptionNames(name, options, {
      ...{ column: true, optimizer: true, partitions: true, capacity: true, prefetch: true },
    });
    const { layout } = files;
    const { column, optimizer, partitions = 1, capacity = 1, prefetch = false } = options;
    this.group = group;
    this.#comm = group.comm;
    this.optimizer = optimizer;
    this.rows = layout.rows;
    this.#plan = new PartitionLayout(layout.rows, partitions);
    this.partitions = partitions;
    this.capacity = Math.min(capacity, partitions);
    const pieces = checkPieces(name, layout, partitions, group.size);
    this.#own = ownPieces(pieces, group.rank, group.size);
    const slots = this.capacity * (this.#own.end - this.#own.first);
    this.buffer = new PartitionBuffer(files, slots, { prefetch: prefetch && !this.isWhole });
    this.buffer.setOrdering([this.#piecesOf(Array.from({ length: this.capacity }, (_, k) => k))]);
    this.#ranges = new OwnerRanges(name, rangesOf(layout, pieces, group.size), this.#plan.size);
    this.#column = new BufferedColumn(new BufferedTable(this.buffer), column);
    this.#index = this.buffer.columnIndex(column);
    this.width = this.#column.width;
    this.dtype = this.#column.dtype;
  }

  get residency(): this {
    return this;
  }

  /** Whether all partitions are resident: then local ids are those of the table. */
  get isWhole(): boolean {
    return this.capacity >= this.partitions;
  }

  get numLocalRows(): number {
    return this.isWhole ? this.rows : this.capacity * this.#plan.size;
  }

  setOrdering(states: readonly Int32Array[]): void {
    if (this.isWhole) checkOneState(name, states.length);
    else this.buffer.setOrdering(states.map((state) => this.#piecesOf(state)));
  }

  async load(): Promise<void> {
    if (this.buffer.loaded) return;
    this.#last = null;
    await this.group.everywhere(() => this.buffer.load());
  }

  async nextState(): Promise<void> {
    if (this.isWhole) checkOneState(name, 2);
    this.#last = null;
    await this.group.everywhere(() => this.buffer.performNextSwap());
  }

  residentRanges(): readonly ResidentRange[] {
    if (this.isWhole) return [{ localStart: 0, globalStart: 0, rows: this.rows }];
    return this.#resident().flatMap((k, slot) =>
      k < 0
        ? []
        : {
            localStart: slot * this.#plan.size,
            globalStart: this.#plan.start(k),
            rows: this.#plan.rowsOf(k),
          },
    );
  }

  toGlobal(localIds: Int32Array): Int32Array {
    if (this.isWhole) return localIds;
    const { size } = this.#plan;
    const resident = this.#resident();
    return localIds.map((id) => resident[Math.floor(id / size)] * size + (id % size));
  }

  /** Rows that are not all resident are written; evaluation reads them from the files. */
  async release(): Promise<void> {
    if (!this.isWhole) await this.group.everywhere(() => this.buffer.unload(true));
  }

  resident(ids: Int32Array): Tensor {
    checkIds(name, ids, this.numLocalRows);
    return asTensor(this.#fetch(ids, new Float32Array(ids.length * this.width)), this.width);
  }

  /** Rows come by messages that the communication thread moves; there is no other thread to wait on. */
  async residentAsync(ids: Int32Array): Promise<Tensor> {
    return this.resident(ids);
  }

  /** Any rows, collective: those that are not resident are read by their owner. */
  async gather(ids: Int32Array, into?: Float32Array): Promise<Float32Array> {
    checkIds(name, ids, this.rows);
    const out = into ?? new Float32Array(ids.length * this.width);
    checkValues(name, this, out, ids.length);
    if (this.isWhole) {
      await this.load();
      return this.#fetch(ids, out);
    }
    const { routes, asked } = this.#route(ids);
    const sends = await this.group.everywhere(async () => {
      // At once: each piece that is not resident is read once.
      const total = asked.reduce((sum, rows) => sum + rows.length, 0);
      const found = await this.#column.gather(concatenated(asked, total).map((row) => this.#idOf(row)));
      return inTurn(found, asked, this.width);
    });
    return this.#answer(routes, sends, out);
  }

  async range(start: number, count: number): Promise<Float32Array> {
    checkRange('range', start, count, this.rows);
    return this.gather(Int32Array.from({ length: count }, (_, i) => start + i));
  }

  async prefetch(): Promise<void> {}

  update(ids: Int32Array, gradient: RowGradient): void {
    const { width } = this;
    checkIds(name, ids, this.numLocalRows);
    const values = hostGradient(name, gradient, ids.length, width);
    this.#kept = null;
    const { routes, asked } = this.#exchangeOf(ids);
    this.#last = null;
    const sends = asked.map(() => new Float32Array(0));
    for (const { owner, places } of routes) {
      sends[owner] = new Float32Array(places.length * width);
      kernels().gatherRows(values, places, sends[owner], places.length, width * 4);
    }
    const total = asked.reduce((sum, rows) => sum + rows.length, 0);
    const rows = new Float32Array(total * width);
    const recvs = inTurn(rows, asked, width);
    this.#comm.exchange(sends, recvs).wait();
    this.#step(concatenated(asked, total), rows);
  }

  /** Collective: piece by piece, each from its owner, who reads its next one meanwhile. */
  async *tiles(): AsyncIterable<Tile> {
    if (this.isWhole) await this.load();
    if (this.#kept !== null) {
      yield* this.#kept;
      return;
    }
    const { files, layout } = this.buffer;
    const keep = this.isWhole && this.rows * this.width * 4 <= keptBytes;
    const made: Tile[] = [];
    const memory = keep ? null : new Float32Array(layout.size * this.width);
    const all = Array.from({ length: layout.partitions }, (_, k) => k).filter((k) => layout.rowsOf(k) > 0);
    const mine = readAhead(this.#column.tilesOf(all.filter((k) => files.owns(k))));
    try {
      for (const k of all) {
        const [start, count] = [layout.start(k), layout.rowsOf(k)];
        const rows = memory?.subarray(0, count * this.width) ?? new Float32Array(count * this.width);
        if (files.owns(k)) await mine.next(rows);
        this.#comm.broadcast(rows, this.#ranges.ownerOf(start));
        const tile = { start, count, rows };
        if (keep) made.push(tile);
        yield tile;
      }
    } finally {
      await mine.end();
    }
    if (keep) this.#kept = made;
  }

  checkpoint(): Promise<TableManifest> {
    return checkpointShared(this.group, this.buffer.files, () => this.buffer.flush());
  }

  async restore(manifest: TableManifest): Promise<void> {
    this.#kept = this.#last = null;
    await restoreShared(this.group, this.buffer.files, manifest, async (cut) => {
      await this.buffer.restore(cut);
      await this.buffer.load();
    });
  }

  prune(keep: readonly TableManifest[]): Promise<void> {
    return pruneShared(this.group, this.buffer.files, keep);
  }

  async unload(write: boolean): Promise<void> {
    this.#kept = this.#last = null;
    await this.buffer.unload(write);
  }

  /** Workers that share a folder keep no files to be written over. */
  close(): Promise<void> {
    return this.unload(false);
  }

  #fetch(ids: Int32Array, out: Float32Array): Float32Array {
    this.#last = null;
    const { routes, asked } = this.#route(ids);
    const sends = asked.map((rows) => this.buffer.rows.read(rows, this.#index));
    this.#answer(routes, sends, out);
    // A copy: the caller may use its array for other ids.
    this.#last = { ids: ids.slice(), routes, asked };
    return out;
  }

  /** Sends others the rows they asked for, and puts those that come where they were wanted. */
  #answer(routes: readonly Route[], sends: readonly Float32Array[], out: Float32Array): Float32Array {
    const { width } = this;
    const recvs = sends.map(() => new Float32Array(0));
    for (const { owner, rows } of routes) recvs[owner] = new Float32Array(rows.length * width);
    this.#comm.exchange(sends, recvs).wait();
    for (const { owner, places } of routes)
      kernels().putRows(recvs[owner], places, out, places.length, width * 4);
    return out;
  }

  /** Rows of owners: the way is the same for ids of the table and for local ids, slots in place of partitions. */
  #route(ids: Int32Array): Exchange {
    const routes = this.#ranges.split(ids);
    const wanted: Int32Array[] = Array.from({ length: this.group.size }, () => new Int32Array(0));
    for (const { owner, rows } of routes) wanted[owner] = rows;
    return { ids, routes, asked: this.#comm.allToAllv(wanted) };
  }

  /**
   * The way of the rows that were read last, where these are the same on all workers: finding it again takes a message, in
   * which all take part or none.
   */
  #exchangeOf(ids: Int32Array): Exchange {
    const last = this.#last;
    return last !== null && this.group.all(equal(last.ids, ids)) ? last : this.#route(ids);
  }

  #idOf(row: number): number {
    return this.#ranges.idOf(this.group.rank, row);
  }

  /** One step of the rows that have a gradient; without any it still counts as a step of the table. */
  #step(ids: Int32Array, rows: Float32Array): void {
    const { buffer, width } = this;
    const unique = new Int32Array(ids.length);
    const sums = new Float32Array(rows.length);
    const most = buffer.capacity * buffer.layout.size;
    const count = kernels().coalesceRows(ids, rows, unique, sums, ids.length, most, width);
    const { name: column } = this.#column;
    this.optimizer.step(buffer, unique.subarray(0, count), sums.subarray(0, count * width), column);
  }

  /** This worker's pieces of partitions, in the order of slots. */
  #piecesOf(partitions: ArrayLike<number>): Int32Array {
    const { first, end, of } = this.#own;
    return Int32Array.from(
      Array.from(partitions).flatMap((k) =>
        Array.from({ length: end - first }, (_, i) => k * of + first + i),
      ),
    );
  }

  /** The partition in each slot, −1 for none. */
  #resident(): number[] {
    const { first, end, of } = this.#own;
    return Array.from({ length: this.capacity }, (_, slot) => {
      const piece = this.buffer.slots[slot * (end - first)];
      return piece < 0 ? -1 : Math.floor(piece / of);
    });
  }
}

/** Consecutive places for the rows of each rank, in their order. */
function inTurn(rows: Float32Array, asked: readonly Int32Array[], width: number): Float32Array[] {
  let at = 0;
  return asked.map(({ length }) => {
    at += length * width;
    return rows.subarray(at - length * width, at);
  });
}

function equal(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i]);
}

function concatenated(lists: readonly Int32Array[], total: number): Int32Array {
  const all = new Int32Array(total);
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all;
}

/**
 * Trained rows that are distributed over workers. Every partition is split into slices, and each worker holds some
 * slices of each partition with their optimiser state: all of them in memory, or those of the resident partitions. In
 * the latter case all workers swap their slices of the same partitions at the same time, and no worker reads a file
 * that another one writes.
 *
 * Callers see all resident rows under the local ids that a single worker would use; rows and gradients of other workers
 * travel as messages. Reading and updating are collective: every worker calls them for every batch, even with no ids.
 * Gradients of a row are summed at its owner in rank order and applied in one step, so that the same number of workers
 * gives the same bits, and another number differs only by rounding. Any number of workers, up to the number of slices,
 * can resume from the files.
 */
import { kernels } from '../../native/index.js';
import {
  BufferedColumn,
  BufferedTable,
  PartitionBuffer,
  PartitionLayout,
  type RowOptimizer,
  type RunTable,
  type StoreType,
  type TrainedRows,
} from '../../storage/index.js';
import { asTensor } from '../../storage/memory-embeddings.js';
import { checkIds, checkRange, checkValues } from '../../storage/row-store.js';
import type { PartitionRange, TableFiles } from '../../storage/table-files.js';
import type { TableManifest } from '../../storage/table-manifest.js';
import {
  checkOneState,
  hostGradient,
  type ResidentRange,
  type RowGradient,
  type Tile,
} from '../../storage/trained-rows.js';
import type { Tensor } from '../../tensor/index.js';
import { concatInt32 } from '../../util/arrays.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import type { WorkerGroup } from '../group/worker-group.js';
import { checkSlices, ownSlices, sliceRowRanges } from './own-slices.js';
import { OwnerRanges, type Route } from './owner-routes.js';
import { readAhead } from './read-ahead.js';
import { checkpointShared, pruneShared, restoreShared } from './shared-files.js';

const name = 'DistributedEmbeddings';

/**
 * A table of at most this many bytes is cached as a whole while it is only read, instead of being fetched for every
 * batch.
 */
const maxCachedBytes = 2 ** 26;

export interface DistributedEmbeddingsOptions {
  readonly column: string;
  readonly optimizer: RowOptimizer;
  /** Partitions of the plan (default 1: all files are slices of one). */
  readonly partitions?: number;
  /** Number of partitions that are resident at the same time (default 1). */
  readonly capacity?: number;
  /** Read the next partitions and write the evicted ones in the background. */
  readonly prefetch?: boolean;
}

/** Ids that were requested, and the rows that other workers requested from this one for the same batch. */
interface Exchange {
  readonly ids: Int32Array;
  readonly routes: readonly Route[];
  /** By rank: the rows requested from this worker. */
  readonly requested: readonly Int32Array[];
}

export class DistributedEmbeddings implements TrainedRows, RunTable {
  readonly group: WorkerGroup;
  /** The resident slices of this worker: those of the first buffer slot, then those of the next. */
  readonly buffer: PartitionBuffer;
  readonly optimizer: RowOptimizer;
  readonly device = null;
  readonly rows: number;
  readonly width: number;
  readonly dtype: StoreType;
  readonly partitions: number;
  readonly capacity: number;
  /** The partitions of the plan; the files hold slices of these. */
  readonly #plan: PartitionLayout;
  readonly #column: BufferedColumn;
  readonly #index: number;
  readonly #comm: Communicator;
  readonly #own: Required<PartitionRange>;
  readonly #ranges: OwnerRanges;
  #last: Exchange | null = null;
  /** A copy of the whole table; null after it has changed. */
  #cached: Tile[] | null = null;

  /** `files` were opened with `ownSlices` of this rank. */
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
    const slices = checkSlices(name, layout, partitions, group.size);
    this.#own = ownSlices(slices, group.rank, group.size);
    const slots = this.capacity * (this.#own.end - this.#own.first);
    this.buffer = new PartitionBuffer(files, slots, { prefetch: prefetch && !this.isWhole });
    this.buffer.setOrdering([this.#slicesOf(Array.from({ length: this.capacity }, (_, k) => k))]);
    this.#ranges = new OwnerRanges(name, sliceRowRanges(layout, slices, group.size), this.#plan.size);
    this.#column = new BufferedColumn(new BufferedTable(this.buffer), column);
    this.#index = this.buffer.columnIndex(column);
    this.width = this.#column.width;
    this.dtype = this.#column.dtype;
  }

  get residency(): this {
    return this;
  }

  /** Whether all partitions are resident: then local ids are ids of the table. */
  get isWhole(): boolean {
    return this.capacity >= this.partitions;
  }

  get numLocalRows(): number {
    return this.isWhole ? this.rows : this.capacity * this.#plan.size;
  }

  setOrdering(states: readonly Int32Array[]): void {
    if (this.isWhole) checkOneState(name, states.length);
    else this.buffer.setOrdering(states.map((state) => this.#slicesOf(state)));
  }

  async load(): Promise<void> {
    if (this.buffer.loaded) return;
    this.#last = null;
    await this.group.onEveryRank(() => this.buffer.load());
  }

  async nextState(): Promise<void> {
    if (this.isWhole) checkOneState(name, 2);
    this.#last = null;
    await this.group.onEveryRank(() => this.buffer.performNextSwap());
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

  /** Writes rows to the files unless all are resident; evaluation reads them from there. */
  async release(): Promise<void> {
    if (!this.isWhole) await this.group.onEveryRank(() => this.buffer.unload(true));
  }

  resident(ids: Int32Array): Tensor {
    checkIds(name, ids, this.numLocalRows);
    return asTensor(this.#fetch(ids, new Float32Array(ids.length * this.width)), this.width);
  }

  /** The communication thread moves the rows; there is no other thread to wait on. */
  async residentAsync(ids: Int32Array): Promise<Tensor> {
    return this.resident(ids);
  }

  /** Collective. Returns any rows; those that are not resident are read by their owner. */
  async gather(ids: Int32Array, into?: Float32Array): Promise<Float32Array> {
    checkIds(name, ids, this.rows);
    const out = into ?? new Float32Array(ids.length * this.width);
    checkValues(name, this, out, ids.length);
    if (this.isWhole) {
      await this.load();
      return this.#fetch(ids, out);
    }
    const { routes, requested } = this.#route(ids);
    const sends = await this.group.onEveryRank(async () => {
      // One request for all ranks: each slice that is not resident is read once.
      const found = await this.#column.gather(concatInt32(requested).map((row) => this.#idOf(row)));
      return splitByRank(found, requested, this.width);
    });
    return this.#exchangeRows(routes, sends, out);
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
    this.#cached = null;
    const { routes, requested } = this.#reuseRoute(ids);
    this.#last = null;
    const sends = requested.map(() => new Float32Array(0));
    for (const { owner, positions } of routes) {
      sends[owner] = new Float32Array(positions.length * width);
      kernels().gatherRows(values, positions, sends[owner], positions.length, width * 4);
    }
    const total = requested.reduce((sum, rows) => sum + rows.length, 0);
    const rows = new Float32Array(total * width);
    const recvs = splitByRank(rows, requested, width);
    this.#comm.exchange(sends, recvs).wait();
    this.#step(concatInt32(requested), rows);
  }

  /** Collective. Yields slice by slice, each broadcast by its owner, which reads its next one in the meantime. */
  async *tiles(): AsyncIterable<Tile> {
    if (this.isWhole) await this.load();
    if (this.#cached !== null) {
      yield* this.#cached;
      return;
    }
    const { files, layout } = this.buffer;
    const keep = this.isWhole && this.rows * this.width * 4 <= maxCachedBytes;
    const tiles: Tile[] = [];
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
        if (keep) tiles.push(tile);
        yield tile;
      }
    } finally {
      await mine.end();
    }
    if (keep) this.#cached = tiles;
  }

  checkpoint(): Promise<TableManifest> {
    return checkpointShared(this.group, this.buffer.files, () => this.buffer.flush());
  }

  async restore(manifest: TableManifest): Promise<void> {
    this.#cached = this.#last = null;
    await restoreShared(this.group, this.buffer.files, manifest, async (cut) => {
      await this.buffer.restore(cut);
      await this.buffer.load();
    });
  }

  prune(keep: readonly TableManifest[]): Promise<void> {
    return pruneShared(this.group, this.buffer.files, keep);
  }

  async unload(write: boolean): Promise<void> {
    this.#cached = this.#last = null;
    await this.buffer.unload(write);
  }

  /** Does not write: in a folder shared by several workers files are never overwritten. */
  close(): Promise<void> {
    return this.unload(false);
  }

  #fetch(ids: Int32Array, out: Float32Array): Float32Array {
    this.#last = null;
    const { routes, requested } = this.#route(ids);
    const sends = requested.map((rows) => this.buffer.rows.read(rows, this.#index));
    this.#exchangeRows(routes, sends, out);
    // A copy: the caller may use its array for other ids.
    this.#last = { ids: ids.slice(), routes, requested };
    return out;
  }

  /** Sends other workers the rows they requested, and stores the received rows at their positions in `out`. */
  #exchangeRows(routes: readonly Route[], sends: readonly Float32Array[], out: Float32Array): Float32Array {
    const { width } = this;
    const recvs = sends.map(() => new Float32Array(0));
    for (const { owner, rows } of routes) recvs[owner] = new Float32Array(rows.length * width);
    this.#comm.exchange(sends, recvs).wait();
    for (const { owner, positions } of routes)
      kernels().putRows(recvs[owner], positions, out, positions.length, width * 4);
    return out;
  }

  /**
   * Finds the owners of `ids` and exchanges the requests. Works for ids of the table and for local ids (slots instead
   * of partitions).
   */
  #route(ids: Int32Array): Exchange {
    const routes = this.#ranges.split(ids);
    const wanted: Int32Array[] = Array.from({ length: this.group.size }, () => new Int32Array(0));
    for (const { owner, rows } of routes) wanted[owner] = rows;
    return { ids, routes, requested: this.#comm.allToAllv(wanted) };
  }

  /**
   * Returns the exchange of the rows that were read last if these are the same on all workers. Finding it again takes a
   * message, which either all workers send or none.
   */
  #reuseRoute(ids: Int32Array): Exchange {
    const last = this.#last;
    return last !== null && this.group.all(isEqual(last.ids, ids)) ? last : this.#route(ids);
  }

  #idOf(row: number): number {
    return this.#ranges.idOf(this.group.rank, row);
  }

  /** Applies one optimiser step to the rows that have a gradient; an empty list still counts as a step of the table. */
  #step(ids: Int32Array, rows: Float32Array): void {
    const { buffer, width } = this;
    const unique = new Int32Array(ids.length);
    const sums = new Float32Array(rows.length);
    const most = buffer.capacity * buffer.layout.size;
    const count = kernels().coalesceRows(ids, rows, unique, sums, ids.length, most, width);
    const { name: column } = this.#column;
    this.optimizer.step(buffer, unique.subarray(0, count), sums.subarray(0, count * width), column);
  }

  /** Returns this worker's slices of the given partitions, in slot order. */
  #slicesOf(partitions: ArrayLike<number>): Int32Array {
    const { first, end, of } = this.#own;
    return Int32Array.from(
      Array.from(partitions).flatMap((k) =>
        Array.from({ length: end - first }, (_, i) => k * of + first + i),
      ),
    );
  }

  /** Returns the partition in each slot, −1 for none. */
  #resident(): number[] {
    const { first, end, of } = this.#own;
    return Array.from({ length: this.capacity }, (_, slot) => {
      const slice = this.buffer.slots[slot * (end - first)];
      return slice < 0 ? -1 : Math.floor(slice / of);
    });
  }
}

/** Returns consecutive views of `rows`, one for each rank's request. */
function splitByRank(rows: Float32Array, requested: readonly Int32Array[], width: number): Float32Array[] {
  let at = 0;
  return requested.map(({ length }) => {
    at += length * width;
    return rows.subarray(at - length * width, at);
  });
}

function isEqual(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i]);
}

/**
 * Trained rows that many workers hold together: each has those of some partitions of a table's files, with their optimiser's
 * state, in memory. To its users all rows are there, by their ids; rows of others come and gradients go by messages.
 *
 * Reading and updating are collective: every worker calls them for every batch, also with no ids. Gradients of a row are
 * summed at its owner in the order of ranks and applied in one step, so that the same number of workers gives the same bits,
 * and another number differs by rounding alone. The files are those of a `BufferedTable`: any number of workers, and one
 * worker, can resume from them.
 */
import { kernels } from '../../native/index.js';
import {
  PartitionBuffer,
  type PartitionLayout,
  type PartitionRange,
  type ResidentRange,
  type RowGradient,
  type RowOptimizer,
  type RunTable,
  recutTable,
  type StoreType,
  type TableFiles,
  type TableManifest,
  type Tile,
  type TrainedRows,
} from '../../storage/index.js';
import { asTensor } from '../../storage/memory-embeddings.js';
import { checkOneState, hostGradient } from '../../storage/trained-rows.js';
import type { Tensor } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import type { Communicator } from '../comm/communicator.js';
import type { WorkerGroup } from '../group/worker-group.js';
import { OwnerRanges, type Route } from './owner-routes.js';

const name = 'DistributedEmbeddings';

/** A table of at most this many bytes is kept whole while it is only read, in place of fetching it for every batch. */
const keptBytes = 2 ** 26;

/** Which partitions a worker has: consecutive ones, as many as others within one. */
export function ownPartitions(partitions: number, rank: number, size: number): PartitionRange {
  return {
    first: Math.floor((rank * partitions) / size),
    end: Math.floor(((rank + 1) * partitions) / size),
  };
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
  readonly buffer: PartitionBuffer;
  readonly optimizer: RowOptimizer;
  readonly device = null;
  readonly rows: number;
  readonly width: number;
  readonly dtype: StoreType;
  readonly partitions = 1;
  readonly capacity = 1;
  readonly #column: number;
  readonly #comm: Communicator;
  readonly #own: PartitionRange;
  readonly #ranges: OwnerRanges;
  #last: Exchange | null = null;
  /** The whole table, as long as it does not change. */
  #kept: Tile[] | null = null;

  /** `files` were opened with `ownPartitions` of this rank. */
  constructor(files: TableFiles, group: WorkerGroup, column: string, optimizer: RowOptimizer) {
    const { layout } = files;
    this.group = group;
    this.#comm = group.comm;
    this.optimizer = optimizer;
    this.rows = layout.rows;
    this.#own = ownPartitions(layout.partitions, group.rank, group.size);
    if (layout.partitions < group.size)
      throw new StateError(
        `${name}: expected at least ${group.size} partitions for ${group.size} workers, got ${layout.partitions}.`,
      );
    const { first, end } = this.#own;
    this.buffer = new PartitionBuffer(files, end - first, { prefetch: false });
    this.buffer.setOrdering([Int32Array.from({ length: end - first }, (_, i) => first + i)]);
    this.#ranges = new OwnerRanges(name, rangesOf(layout, group.size));
    this.#column = this.buffer.columnIndex(column);
    const { width, dtype } = this.buffer.columns[this.#column];
    this.width = width;
    this.dtype = dtype;
  }

  get residency(): this {
    return this;
  }

  get numLocalRows(): number {
    return this.rows;
  }

  setOrdering(states: readonly Int32Array[]): void {
    checkOneState(name, states.length);
  }

  async load(): Promise<void> {
    if (!this.buffer.loaded) await this.buffer.load();
  }

  async nextState(): Promise<void> {
    checkOneState(name, 2);
  }

  residentRanges(): readonly ResidentRange[] {
    return [{ localStart: 0, globalStart: 0, rows: this.rows }];
  }

  toGlobal(localIds: Int32Array): Int32Array {
    return localIds;
  }

  async release(): Promise<void> {}

  resident(ids: Int32Array): Tensor {
    return asTensor(this.#fetch(ids, new Float32Array(ids.length * this.width)), this.width);
  }

  /** Rows come by messages that the communication thread moves; there is no other thread to wait on. */
  async residentAsync(ids: Int32Array): Promise<Tensor> {
    return this.resident(ids);
  }

  async gather(ids: Int32Array, out?: Float32Array): Promise<Float32Array> {
    await this.load();
    return this.#fetch(ids, out ?? new Float32Array(ids.length * this.width));
  }

  async range(start: number, count: number): Promise<Float32Array> {
    return this.gather(Int32Array.from({ length: count }, (_, i) => start + i));
  }

  async prefetch(): Promise<void> {}

  update(ids: Int32Array, gradient: RowGradient): void {
    this.#kept = null;
    const { width } = this;
    const values = hostGradient(gradient);
    const { routes, asked } = this.#last?.ids === ids ? this.#last : this.#route(ids);
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

  /** Collective: partition by partition, each from its owner. */
  async *tiles(): AsyncIterable<Tile> {
    await this.load();
    if (this.#kept !== null) {
      yield* this.#kept;
      return;
    }
    const { layout } = this.buffer;
    const keep = this.rows * this.width * 4 <= keptBytes;
    const made: Tile[] = [];
    for (let k = 0; k < layout.partitions; k++) {
      const count = layout.rowsOf(k);
      if (count === 0) continue;
      const tile = { start: layout.start(k), count, rows: this.#partition(k, count) };
      if (keep) made.push(tile);
      yield tile;
    }
    if (keep) this.#kept = made;
  }

  /** Every worker writes its partitions; then all know the versions of all. */
  async checkpoint(): Promise<TableManifest> {
    const { files } = this.buffer;
    const written = await this.group.everywhere(async () => {
      await this.buffer.flush();
      await files.sync();
      return files.ownVersions();
    });
    for (const versions of this.group.gather(written)) files.takeVersions(versions);
    return files.manifest();
  }

  async restore(manifest: TableManifest): Promise<void> {
    const { files, layout } = this.buffer;
    this.#kept = this.#last = null;
    // A checkpoint of fewer workers may have fewer partitions.
    const cut = await this.group.onRoot(() =>
      manifest.partitions === layout.partitions
        ? manifest
        : recutTable(files.folder, manifest, layout.partitions),
    );
    await this.group.everywhere(async () => {
      await this.buffer.restore(cut);
      await this.buffer.load();
    });
  }

  /** Rank 0 does it for all; the others write nothing meanwhile. */
  async prune(keep: readonly TableManifest[]): Promise<void> {
    await this.group.onRoot(() => this.buffer.files.removeUnreferenced(keep));
  }

  async unload(write: boolean): Promise<void> {
    this.#kept = this.#last = null;
    await this.buffer.unload(write);
  }

  #fetch(ids: Int32Array, out: Float32Array): Float32Array {
    this.#last = null;
    const { routes, asked } = this.#route(ids);
    const { width } = this;
    const sends = asked.map((rows) => this.buffer.rows.read(rows, this.#column));
    const recvs = sends.map(() => new Float32Array(0));
    for (const { owner, rows } of routes) recvs[owner] = new Float32Array(rows.length * width);
    this.#comm.exchange(sends, recvs).wait();
    for (const { owner, places } of routes)
      kernels().putRows(recvs[owner], places, out, places.length, width * 4);
    this.#last = { ids, routes, asked };
    return out;
  }

  #route(ids: Int32Array): Exchange {
    const routes = this.#ranges.split(ids);
    const wanted: Int32Array[] = Array.from({ length: this.group.size }, () => new Int32Array(0));
    for (const { owner, rows } of routes) wanted[owner] = rows;
    return { ids, routes, asked: this.#comm.allToAllv(wanted) };
  }

  /** One step of the rows that somebody has a gradient for; without any it still counts as a step of the table. */
  #step(ids: Int32Array, rows: Float32Array): void {
    const { buffer, width } = this;
    const unique = new Int32Array(ids.length);
    const sums = new Float32Array(rows.length);
    const most = buffer.capacity * buffer.layout.size;
    const count = kernels().coalesceRows(ids, rows, unique, sums, ids.length, most, width);
    const { name: column } = buffer.columns[this.#column];
    this.optimizer.step(buffer, unique.subarray(0, count), sums.subarray(0, count * width), column);
  }

  #partition(k: number, count: number): Float32Array {
    const { size } = this.buffer.layout;
    const owner = this.#ranges.ownerOf(k * size);
    const rows = new Float32Array(count * this.width);
    if (owner === this.group.rank) {
      const local = (k - this.#own.first) * size;
      const ids = Int32Array.from({ length: count }, (_, i) => local + i);
      this.buffer.rows.read(ids, this.#column, rows);
    }
    this.#comm.broadcast(rows, owner);
    return rows;
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

function concatenated(lists: readonly Int32Array[], total: number): Int32Array {
  const all = new Int32Array(total);
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all;
}

function rangesOf(layout: PartitionLayout, workers: number): { start: number; end: number }[] {
  const start = (k: number): number => Math.min(k * layout.size, layout.rows);
  return Array.from({ length: workers }, (_, rank) => {
    const { first, end } = ownPartitions(layout.partitions, rank, workers);
    return { start: start(first), end: start(end) };
  });
}

/**
 * Trained rows of the nodes that one worker owns in a partitioned graph, in memory with their optimiser state. Row i
 * belongs to the worker's i-th node, so that reading and updating need no communication.
 *
 * The files are the same as in other runs: rows in the order of the dataset's nodes, in partitions of which each worker
 * writes some. Loading and saving are collective and move rows between the two orders, one partition per worker at a
 * time, so that no worker holds more than its own nodes and one partition. Any number of workers, or a single process,
 * can resume from the files.
 */
import { kernels } from '../../native/index.js';
import { decodeColumn, encodeColumn } from '../../storage/column-bytes.js';
import type { DurableRows, PartitionLayout, RowOptimizer, TrainedRows } from '../../storage/index.js';
import { asTensor } from '../../storage/memory-embeddings.js';
import { MemoryStore } from '../../storage/memory-store.js';
import { checkIds } from '../../storage/row-store.js';
import type { TableFiles } from '../../storage/table-files.js';
import type { TableManifest } from '../../storage/table-manifest.js';
import { columnRowBytes } from '../../storage/table-manifest.js';
import type { RowGradient, Tile } from '../../storage/trained-rows.js';
import { AllResident, hostGradient } from '../../storage/trained-rows.js';
import type { Tensor } from '../../tensor/index.js';
import { DTypeError, expected, FormatError } from '../../util/errors.js';
import type { WorkerGroup } from '../group/worker-group.js';
import { ownSlices } from './own-slices.js';
import { checkpointShared, pruneShared, restoreShared } from './shared-files.js';

const name = 'ShardEmbeddings';

export interface ShardEmbeddingsOptions {
  /** Opened with `ownSlices` of this rank; its columns are those of the optimiser, the values first. */
  readonly files: TableFiles;
  readonly group: WorkerGroup;
  /** The row in the files of each node of this worker. */
  readonly nodeIds: Int32Array;
  readonly optimizer: RowOptimizer;
}

/** One round of an exchange: the partitions that the workers read or write at the same time. */
interface Round {
  /** The partition of this worker; −1 if it has no more. */
  readonly own: number;
  /** By rank: rows of this worker that are in the partition of that rank. */
  readonly local: readonly Int32Array[];
  /** By rank: rows of this worker's partition that belong to that rank. */
  readonly requested: readonly Int32Array[];
}

export class ShardEmbeddings extends MemoryStore implements TrainedRows, DurableRows {
  readonly optimizer: RowOptimizer;
  readonly device = null;
  readonly residency: AllResident;
  readonly #files: TableFiles;
  readonly #group: WorkerGroup;
  readonly #nodeIds: Int32Array;
  /** This worker's rows in the order of the files. */
  readonly #sorted: Int32Array;
  /** Values and optimiser state, by the columns of the files. */
  readonly #columns: readonly Float32Array[];
  /** Whether rows have changed since they were read or written. */
  #changed = false;

  private constructor({ files, group, nodeIds, optimizer }: ShardEmbeddingsOptions) {
    const columns = files.columns.map(({ width }) => new Float32Array(nodeIds.length * width));
    super(columns[0], { rows: nodeIds.length, width: files.columns[0].width });
    this.optimizer = optimizer;
    this.residency = new AllResident(nodeIds.length);
    this.#files = files;
    this.#group = group;
    this.#nodeIds = nodeIds;
    this.#sorted = Int32Array.from(nodeIds.keys()).sort((a, b) => nodeIds[a] - nodeIds[b]);
    this.#columns = columns;
  }

  /** Collective. Reads the rows from the files. */
  static async open(parts: ShardEmbeddingsOptions): Promise<ShardEmbeddings> {
    await parts.group.onEveryRank(() => checkNodes(parts));
    const embeddings = new ShardEmbeddings(parts);
    await embeddings.#read();
    return embeddings;
  }

  resident(ids: Int32Array): Tensor {
    return asTensor(this.gatherSync(ids), this.width);
  }

  async residentAsync(ids: Int32Array): Promise<Tensor> {
    return this.resident(ids);
  }

  update(ids: Int32Array, gradient: RowGradient): void {
    const [values, ...states] = this.#columns;
    checkIds(name, ids, this.rows);
    const given = hostGradient(name, gradient, ids.length, this.width);
    this.#changed = true;
    this.optimizer.stepArrays(values, states, ids, given, this.width);
    const [column] = this.#files.columns;
    // After every step, rows are rounded to what their files can hold, as in tables kept in half precision.
    if (column.dtype !== 'f32') values.set(decodeColumn(encodeColumn(values, column), column));
  }

  async *tiles(): AsyncIterable<Tile> {
    yield { start: 0, count: this.rows, rows: this.data() };
  }

  /** Collective. */
  async checkpoint(): Promise<TableManifest> {
    // All workers take the same number of steps, so `#changed` is the same on all of them.
    if (this.#changed) await this.#write();
    return checkpointShared(this.#group, this.#files, async () => {});
  }

  /** Collective. */
  async restore(manifest: TableManifest): Promise<void> {
    await restoreShared(this.#group, this.#files, manifest, (cut) => this.#files.restore(cut));
    await this.#read();
  }

  /** Collective. */
  prune(keep: readonly TableManifest[]): Promise<void> {
    return pruneShared(this.#group, this.#files, keep);
  }

  /** Nothing to release but memory. */
  async close(): Promise<void> {}

  async #read(): Promise<void> {
    for await (const { own, local, requested } of this.#rounds()) {
      const views = this.#views(own);
      await this.#group.onEveryRank(async () => {
        if (own >= 0) await this.#files.readPartition(own, views);
      });
      for (const [c, column] of this.#files.columns.entries()) {
        const rows = decodeColumn(views[c], column);
        const sends = requested.map((ids) => gatherRows(rows, ids, column.width));
        const recvs = local.map(({ length }) => new Float32Array(length * column.width));
        this.#group.comm.exchange(sends, recvs).wait();
        for (const [q, ids] of local.entries()) putRows(recvs[q], ids, this.#columns[c], column.width);
      }
    }
    this.#changed = false;
  }

  async #write(): Promise<void> {
    for await (const { own, local, requested } of this.#rounds()) {
      const views = this.#files.columns.map((column, c) => {
        const { width } = column;
        const sends = local.map((ids) => gatherRows(this.#columns[c], ids, width));
        const recvs = requested.map(({ length }) => new Float32Array(length * width));
        this.#group.comm.exchange(sends, recvs).wait();
        const rows = new Float32Array(own < 0 ? 0 : this.#files.layout.rowsOf(own) * width);
        for (const [q, ids] of requested.entries()) putRows(recvs[q], ids, rows, width);
        return encodeColumn(rows, column);
      });
      await this.#group.onEveryRank(async () => {
        if (own >= 0) await this.#files.writePartition(own, views);
      });
    }
    this.#changed = false;
  }

  /** Iterates over the partitions of all workers at the same time, with the owners of their rows. */
  async *#rounds(): AsyncGenerator<Round, void, undefined> {
    const { layout } = this.#files;
    const { rank, size, comm } = this.#group;
    const parts = Array.from({ length: size }, (_, q) => ownSlices(layout.partitions, q, size));
    const most = Math.max(...parts.map(({ first, end }) => end - first));
    for (let round = 0; round < most; round++) {
      const of = parts.map(({ first, end }) => (first + round < end ? first + round : -1));
      const local = of.map((k) => this.#rowsIn(layout, k));
      const positions = local.map((rows, q) =>
        rows.map((row) => this.#nodeIds[row] - layout.start(Math.max(0, of[q]))),
      );
      const requested = comm.allToAllv(positions);
      await this.#group.onEveryRank(() => this.#checkRows(of[rank], requested));
      yield { own: of[rank], local, requested };
    }
  }

  /** Returns the rows of this worker that are in a partition of the files. */
  #rowsIn(layout: PartitionLayout, k: number): Int32Array {
    if (k < 0) return new Int32Array(0);
    const [start, end] = [layout.start(k), layout.start(k) + layout.rowsOf(k)];
    return this.#sorted.subarray(this.#countBefore(start), this.#countBefore(end));
  }

  /** Returns the number of this worker's rows that precede a row of the files. */
  #countBefore(id: number): number {
    let low = 0;
    for (let high = this.#sorted.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if (this.#nodeIds[this.#sorted[middle]] < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #checkRows(k: number, requested: readonly Int32Array[]): void {
    if (k < 0) return;
    const { layout } = this.#files;
    const seen = new Uint32Array(layout.rowsOf(k));
    for (const ids of requested) for (const id of ids) seen[id]++;
    const wrong = seen.findIndex((times) => times !== 1);
    if (wrong < 0) return;
    throw new FormatError(
      `distributed.partition_dir: expected every node of the dataset once, got node ${layout.start(k) + wrong} ${seen[wrong]} times. Partition the graph again.`,
    );
  }

  #views(k: number): Uint8Array[] {
    const rows = k < 0 ? 0 : this.#files.layout.rowsOf(k);
    return this.#files.columns.map((column) => new Uint8Array(rows * columnRowBytes(column)));
  }
}

/** Throws on nodes that the files do not have: they would be trained and never saved. */
function checkNodes({ nodeIds, files }: ShardEmbeddingsOptions): void {
  if (!(nodeIds instanceof Int32Array))
    throw new DTypeError(expected(name, 'an Int32Array', 'nodeIds', nodeIds));
  const { rows } = files.layout;
  const wrong = nodeIds.find((id) => id < 0 || id >= rows);
  if (wrong === undefined) return;
  throw new FormatError(
    `distributed.partition_dir: expected nodes of the dataset, from 0 to ${rows - 1}, got node ${wrong}. Partition the graph again.`,
  );
}

function gatherRows(rows: Float32Array, ids: Int32Array, width: number): Float32Array {
  const out = new Float32Array(ids.length * width);
  kernels().gatherRows(rows, ids, out, ids.length, width * 4);
  return out;
}

function putRows(rows: Float32Array, ids: Int32Array, into: Float32Array, width: number): void {
  kernels().putRows(rows, ids, into, ids.length, width * 4);
}

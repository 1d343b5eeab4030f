/**
 * Rows of all nodes: trained embeddings with their optimiser's state, and fixed features. Training works on the resident
 * part by local ids; evaluation reads any row, or all in tiles.
 *
 * `MemoryNodeTable` keeps everything in arrays; `BufferedNodeTable` keeps some partitions of files; `DistributedNodeTable`
 * keeps a part and asks other workers for the rest; `DeviceNodeTable` trains on a device.
 */

import { asyncKernels, kernels } from '../../native/index.js';
import type { RowOptimizer, TableManifest } from '../../storage/index.js';
import type { Tensor, TensorDevice } from '../../tensor/index.js';
import { checkInteger, expected, ShapeError, StateError } from '../../util/errors.js';

/** Rows start … start + count − 1 of all nodes. */
export interface Tile {
  readonly start: number;
  readonly count: number;
  readonly rows: Float32Array;
}

/** Which rows are resident: consecutive local ids for consecutive nodes. */
export interface LocalRange {
  readonly localStart: number;
  readonly globalStart: number;
  readonly rows: number;
}

/** Embeddings that live on a device; the caller disposes of what it gathers. */
export interface DeviceRows {
  readonly device: TensorDevice;
  gather(localIds: Int32Array): Tensor;
  /** One optimiser step of the rows; ids are unique, the gradient is on the device. */
  update(localIds: Int32Array, gradient: Tensor): void;
}

export interface NodeTable {
  readonly numNodes: number;
  /** Set where embeddings are read and updated on a device. */
  readonly deviceRows?: DeviceRows | null;
  /** Partitions of the table, and how many are resident at once. */
  readonly partitions: number;
  readonly capacity: number;
  /** Local ids are below this; some of them may stand for no node. */
  readonly numLocalRows: number;
  /** 0 when there are no embeddings (features). */
  readonly embeddingDim: number;
  readonly featureDim: number;
  /** Says which partitions will be resident, in order; the first are read by `load`. */
  setOrdering(states: readonly Int32Array[]): void;
  load(): Promise<void>;
  /** Makes the next of the given states resident. */
  nextState(): Promise<void>;
  localRanges(): readonly LocalRange[];
  gatherEmbeddings(localIds: Int32Array, out: Float32Array): void;
  gatherEmbeddingsAsync(localIds: Int32Array, out: Float32Array): Promise<void>;
  /** A promise where rows must be read from a file. */
  gatherFeatures(localIds: Int32Array, out: Float32Array): void | Promise<void>;
  /** One optimiser step of the rows; ids are unique. */
  update(localIds: Int32Array, gradient: Float32Array): void;
  /** Embeddings (features) of any nodes, resident or not. */
  readEmbeddings(ids: Int32Array): Promise<Float32Array>;
  readFeatures(ids: Int32Array): Promise<Float32Array>;
  /** All embeddings, in order. */
  embeddingTiles(): AsyncIterable<Tile>;
  /** Waits for writes and, if asked, writes what changed. */
  unload(write: boolean): Promise<void>;
}

/** A table in the files of a run. */
export interface RunTable extends NodeTable {
  readonly optimizer: RowOptimizer | null;
  /** What a checkpoint must keep so that the table can be restored as it is now; null when it has nothing to keep. */
  checkpoint(): Promise<TableManifest | null>;
  /** Becomes what a checkpoint of this run kept, and brings it into memory. */
  restore(manifest: TableManifest): Promise<void>;
  /**
   * Gives the memory of rows back that are not all resident, changes written: evaluation reads the table partition by
   * partition. `load` brings the first state back.
   */
  release?(): Promise<void>;
  /** Removes what neither the table nor one of the checkpoints needs. */
  removeUnreferenced(keep: readonly TableManifest[]): Promise<void>;
}

/** Changes rows and their state by gradients; one call per batch. */
export type RowUpdate = (values: Float32Array, localIds: Int32Array, gradient: Float32Array) => void;

export interface MemoryNodeTableParts {
  readonly numNodes: number;
  /** [numNodes, width] */
  readonly embeddings?: {
    readonly values: Float32Array;
    readonly width: number;
    readonly update: RowUpdate;
  } | null;
  readonly features?: { readonly values: Float32Array; readonly width: number } | null;
}

const name = 'MemoryNodeTable';

export class MemoryNodeTable implements NodeTable {
  readonly numNodes: number;
  readonly partitions = 1;
  readonly capacity = 1;
  readonly embeddingDim: number;
  readonly featureDim: number;
  readonly #parts: MemoryNodeTableParts;

  constructor(parts: MemoryNodeTableParts) {
    this.numNodes = checkInteger(name, 'numNodes', parts.numNodes, 0, 2 ** 31 - 1);
    this.embeddingDim = checkTable(this.numNodes, 'embeddings', parts.embeddings);
    this.featureDim = checkTable(this.numNodes, 'features', parts.features);
    this.#parts = parts;
  }

  get numLocalRows(): number {
    return this.numNodes;
  }

  /** The table itself: changes are training's own. */
  get embeddings(): Float32Array {
    return this.#embeddings().values;
  }

  setOrdering(states: readonly Int32Array[]): void {
    if (states.length !== 1)
      throw new StateError(`${name}: expected one state, all rows being in memory, got ${states.length}.`);
  }

  async load(): Promise<void> {}

  async nextState(): Promise<void> {
    throw new StateError(`${name}: expected no further state, all rows being in memory.`);
  }

  localRanges(): readonly LocalRange[] {
    return [{ localStart: 0, globalStart: 0, rows: this.numNodes }];
  }

  gatherEmbeddings(ids: Int32Array, out: Float32Array): void {
    const { values, width } = this.#embeddings();
    kernels().gatherRows(values, ids, out, ids.length, width * 4);
  }

  async gatherEmbeddingsAsync(ids: Int32Array, out: Float32Array): Promise<void> {
    const { values, width } = this.#embeddings();
    await asyncKernels.gatherRows(values, ids, out, ids.length, width * 4);
  }

  gatherFeatures(ids: Int32Array, out: Float32Array): void {
    const { values, width } = this.#features();
    kernels().gatherRows(values, ids, out, ids.length, width * 4);
  }

  update(ids: Int32Array, gradient: Float32Array): void {
    const { values, update } = this.#embeddings();
    update(values, ids, gradient);
  }

  async readEmbeddings(ids: Int32Array): Promise<Float32Array> {
    const out = new Float32Array(ids.length * this.embeddingDim);
    this.gatherEmbeddings(ids, out);
    return out;
  }

  async readFeatures(ids: Int32Array): Promise<Float32Array> {
    const out = new Float32Array(ids.length * this.featureDim);
    this.gatherFeatures(ids, out);
    return out;
  }

  async *embeddingTiles(): AsyncIterable<Tile> {
    yield { start: 0, count: this.numNodes, rows: this.#embeddings().values };
  }

  async unload(): Promise<void> {}

  #embeddings() {
    const { embeddings } = this.#parts;
    if (embeddings === null || embeddings === undefined)
      throw new StateError(`${name}: expected embeddings, got a table without.`);
    return embeddings;
  }

  #features() {
    const { features } = this.#parts;
    if (features === null || features === undefined)
      throw new StateError(`${name}: expected features, got a table without.`);
    return features;
  }
}

function checkTable(
  rows: number,
  what: string,
  table: { readonly values: Float32Array; readonly width: number } | null | undefined,
): number {
  if (table === null || table === undefined) return 0;
  if (table.values.length !== rows * table.width)
    throw new ShapeError(
      expected(name, `${rows} rows of ${table.width}`, what, `${table.values.length} numbers`),
    );
  return table.width;
}

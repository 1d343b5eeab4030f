/**
 * What a table can do beyond reading rows, each as an interface of its own: rows that learn, rows of which some are in
 * memory, rows that a checkpoint keeps.
 *
 * Training works on the resident rows by local ids: consecutive local ids for consecutive rows of a resident partition. A
 * table that is all in memory has one state, in which local ids are the ids of the table.
 */
import { Tensor, type TensorDevice } from '../tensor/index.js';
import { DTypeError, expected, ShapeError, StateError } from '../util/errors.js';
import type { RowOptimizer } from './row-optimizer.js';
import type { RowReader } from './row-store.js';
import type { TableManifest } from './table-manifest.js';

/** Rows start … start + count − 1 of a table. */
export interface Tile {
  readonly start: number;
  readonly count: number;
  readonly rows: Float32Array;
}

/** Resident rows: local ids from `localStart` stand for rows from `globalStart`. */
export interface ResidentRange {
  readonly localStart: number;
  readonly globalStart: number;
  readonly rows: number;
}

/** Which rows of a table are in memory, and how others come there. */
export interface Residency {
  readonly partitions: number;
  /** Partitions that are resident at once. */
  readonly capacity: number;
  /** Local ids are below this; some of them may stand for no row. */
  readonly numLocalRows: number;
  /** Says which partitions will be resident, in order; the first are read by `load`. */
  setOrdering(states: readonly Int32Array[]): void;
  load(): Promise<void>;
  /** Makes the next of the given states resident. */
  nextState(): Promise<void>;
  residentRanges(): readonly ResidentRange[];
  /** The rows that local ids stand for. */
  toGlobal(localIds: Int32Array): Int32Array;
  /**
   * Gives the memory of rows back that are not all resident, changes written: evaluation reads the table partition by
   * partition. `load` brings the first state back.
   */
  release(): Promise<void>;
  /** Gives all memory back, after writing what changed if asked. */
  unload(write: boolean): Promise<void>;
}

/** Rows that a checkpoint keeps: in files, of which it keeps a list. */
export interface DurableRows {
  /** What must be kept so that the table can be restored as it is now. */
  checkpoint(): Promise<TableManifest>;
  /** Becomes what a checkpoint of this table kept, and brings it into memory. */
  restore(manifest: TableManifest): Promise<void>;
  /** Removes files that neither the table nor one of the checkpoints needs. */
  prune(keep: readonly TableManifest[]): Promise<void>;
  /** Ends training: gives back all memory without writing, and files that were kept only to be written over. */
  close(): Promise<void>;
}

/** A table in the files of a run. */
export interface RunTable extends Residency, DurableRows {}

/** Gradients of rows, one after the other: an array of this process, or a tensor of any device. */
export type RowGradient = Float32Array | Tensor;

/** Gradients that a table in this process takes: a row for each of `count` ids. */
export function hostGradient(
  where: string,
  gradient: RowGradient,
  count: number,
  width: number,
): Float32Array {
  const values: unknown = gradient instanceof Tensor ? gradient.dataSync() : gradient;
  if (!(values instanceof Float32Array))
    throw new DTypeError(expected(where, 'a Float32Array or a tensor of f32', 'gradient', values));
  if (values.length === count * width) return values;
  throw new ShapeError(expected(where, `${count} rows of ${width} elements`, 'gradient', values));
}

/** Rows that learn, by the steps of an optimiser whose state lies beside them. Any row can be read, resident or not. */
export interface TrainedRows extends RowReader<Float32Array> {
  /** Null where another function updates the rows. */
  readonly optimizer: RowOptimizer | null;
  readonly residency: Residency;
  /** Where resident rows are read and updated; null: in this process. */
  readonly device: TensorDevice | null;
  /** Resident rows where the table lives; the caller disposes of them. */
  resident(localIds: Int32Array): Tensor;
  /** What `resident` gives, read on the kernels' own threads where there are any. */
  residentAsync(localIds: Int32Array): Promise<Tensor>;
  /** One step of the rows; ids are unique, and need not be those that were read last. The gradient is where the table lives. */
  update(localIds: Int32Array, gradient: RowGradient): void;
  /** All rows in order; a tile is valid until the next. */
  tiles(): AsyncIterable<Tile>;
}

/** The residency of tables that are within reach as a whole. */
export class AllResident implements Residency {
  readonly partitions = 1;
  readonly capacity = 1;
  readonly numLocalRows: number;

  constructor(rows: number) {
    this.numLocalRows = rows;
  }

  setOrdering(states: readonly Int32Array[]): void {
    checkOneState('AllResident', states.length);
  }

  async load(): Promise<void> {}

  async nextState(): Promise<void> {
    checkOneState('AllResident', 2);
  }

  residentRanges(): readonly ResidentRange[] {
    return [{ localStart: 0, globalStart: 0, rows: this.numLocalRows }];
  }

  toGlobal(localIds: Int32Array): Int32Array {
    return localIds;
  }

  async release(): Promise<void> {}

  async unload(): Promise<void> {}
}

/** Refuses further states of a table whose rows are all within reach. */
export function checkOneState(where: string, states: number): void {
  if (states !== 1)
    throw new StateError(`${where}: expected one state, all rows being within reach, got ${states}.`);
}

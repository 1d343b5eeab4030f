/**
 * Capabilities of tables beyond reading rows, each a separate interface: trained rows, rows that are not all resident,
 * rows that a checkpoint saves.
 *
 * Training uses local ids of resident rows: consecutive rows of a resident partition have consecutive local ids. A
 * table that is all in memory has one buffer state, in which local ids are the ids of the table.
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

/** Resident rows: local ids from `localStart` on are rows from `globalStart` on. */
export interface ResidentRange {
  readonly localStart: number;
  readonly globalStart: number;
  readonly rows: number;
}

/** The residency of a table: which rows are in memory, and how others are swapped in. */
export interface Residency {
  readonly partitions: number;
  /** The number of partitions that are resident at the same time. */
  readonly capacity: number;
  /** The exclusive upper bound of local ids, not all of which need to be rows. */
  readonly numLocalRows: number;
  /** Sets the sequence of sets of resident partitions; `load` reads the first. */
  setOrdering(states: readonly Int32Array[]): void;
  load(): Promise<void>;
  /** Makes the partitions of the next buffer state resident. */
  nextState(): Promise<void>;
  residentRanges(): readonly ResidentRange[];
  /** Returns the rows of local ids. */
  toGlobal(localIds: Int32Array): Int32Array;
  /**
   * Writes changes and releases the memory of a table that is not all resident, since evaluation reads it partition by
   * partition. `load` reads the first buffer state again.
   */
  release(): Promise<void>;
  /** Releases all memory, after writing changes if requested. */
  unload(write: boolean): Promise<void>;
}

/** Rows that a checkpoint saves: they are in files, which it lists. */
export interface DurableRows {
  /** Returns the manifest from which the table can be restored as it is now. */
  checkpoint(): Promise<TableManifest>;
  /** Restores the table from a manifest and reads it into memory. */
  restore(manifest: TableManifest): Promise<void>;
  /** Removes files that neither the table nor one of the checkpoints needs. */
  prune(keep: readonly TableManifest[]): Promise<void>;
  /** Ends training: releases all memory without writing, and removes spare files. */
  close(): Promise<void>;
}

/** A table in the files of a run. */
export interface RunTable extends Residency, DurableRows {}

/** Gradients of rows: an array of this process, or a tensor of any device. */
export type RowGradient = Float32Array | Tensor;

/** Returns gradients for a table in this process; throws unless they are `count` rows. */
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

/** Rows that are trained by an optimiser, whose state is in the same table. Any row can be read, resident or not. */
export interface TrainedRows extends RowReader<Float32Array> {
  /** The optimiser; null if another function updates the rows. */
  readonly optimizer: RowOptimizer | null;
  readonly residency: Residency;
  /** The device of resident rows; null for the CPU. */
  readonly device: TensorDevice | null;
  /** Returns resident rows on the table's device; the caller disposes them. */
  resident(localIds: Int32Array): Tensor;
  /**
   * Returns all resident rows without a copy, so that updates change the result; null if they are not consecutive
   * floats in memory. Local ids are its row numbers.
   */
  residentView?(): Tensor | null;
  /** Like `resident`, read on the kernels' threads if there are any. */
  residentAsync(localIds: Int32Array): Promise<Tensor>;
  /**
   * Runs a step of the rows; ids must be unique, and need not be those read last. The gradient is on the table's
   * device.
   */
  update(localIds: Int32Array, gradient: RowGradient): void;
  /** Yields all rows in order; a tile is valid until the next. */
  tiles(): AsyncIterable<Tile>;
}

/** The residency of tables whose rows are all accessible. */
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

/** Throws unless a table whose rows are all accessible has one buffer state. */
export function checkOneState(where: string, states: number): void {
  if (states !== 1)
    throw new StateError(
      `${where}: expected one buffer state, since all rows are accessible, got ${states}.`,
    );
}

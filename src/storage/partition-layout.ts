/**
 * How a table of rows is cut into partitions: p of them, each of ceil(rows / p) rows, the last ones shorter or even
 * empty. The same arithmetic cuts edges into buckets, so a row's partition is known from its id alone.
 */
import { checkInteger } from '../util/errors.js';

/** Row ids are Int32. */
const maxRows = 2 ** 31 - 1;

export class PartitionLayout {
  readonly rows: number;
  readonly partitions: number;
  /** Rows of a full partition. */
  readonly size: number;

  /** A `size` other than ceil(rows / partitions) is for tables that were cut elsewhere; the partitions must hold all rows. */
  constructor(rows: number, partitions: number, size?: number) {
    this.rows = checkInteger('PartitionLayout', 'rows', rows, 1, maxRows);
    this.partitions = checkInteger('PartitionLayout', 'partitions', partitions, 1, rows);
    const least = Math.ceil(rows / partitions);
    this.size = checkInteger('PartitionLayout', 'size', size ?? least, least, rows);
  }

  /** First row of partition k. */
  start(k: number): number {
    checkInteger('PartitionLayout.start', 'k', k, 0, this.partitions - 1);
    return Math.min(k * this.size, this.rows);
  }

  /** Rows that partition k really has. */
  rowsOf(k: number): number {
    return Math.min(this.size, this.rows - this.start(k));
  }

  partitionOf(id: number): number {
    checkInteger('PartitionLayout.partitionOf', 'id', id, 0, this.rows - 1);
    return Math.floor(id / this.size);
  }
}

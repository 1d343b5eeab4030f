/**
 * The division of a table into p partitions of ceil(rows / p) rows each; the last ones are shorter or even empty. The
 * same arithmetic divides edges into buckets, so a row's partition follows from its id.
 *
 * A table that several workers swap is divided twice: into the partitions of the plan, and each of those into `pieces`,
 * of which every worker has some. Each file has one of these slices, in the order of rows.
 */
import { checkInteger } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';

/** Row ids are Int32. */
const maxRows = 2 ** 31 - 1;

export interface PartitionLayoutOptions {
  /**
   * The rows of a partition, if a table was partitioned elsewhere; the partitions must hold all rows. Default: the
   * least.
   */
  readonly size?: number;
  /** The number of consecutive partitions that make up one partition of the plan (default 1). */
  readonly pieces?: number;
}

export class PartitionLayout {
  readonly rows: number;
  readonly partitions: number;
  /** Rows of a full partition. */
  readonly size: number;
  readonly pieces: number;
  /** Rows of `pieces` consecutive partitions. */
  readonly span: number;

  constructor(rows: number, partitions: number, options: PartitionLayoutOptions = {}) {
    const where = 'PartitionLayout';
    checkOptionNames(where, options, { size: true, pieces: true });
    this.rows = checkInteger(where, 'rows', rows, 1, maxRows);
    this.partitions = checkInteger(where, 'partitions', partitions, 1, rows);
    this.pieces = checkInteger(where, 'pieces', options.pieces ?? 1, 1, partitions);
    checkInteger(where, 'partitions / pieces', partitions / this.pieces, 1);
    const span = Math.ceil(rows / (partitions / this.pieces));
    const least = Math.ceil(span / this.pieces);
    this.size = checkInteger(where, 'size', options.size ?? least, least, this.pieces === 1 ? rows : least);
    this.span = this.pieces === 1 ? this.size : span;
  }

  /** Returns the first row of partition k. */
  start(k: number): number {
    checkInteger('PartitionLayout.start', 'k', k, 0, this.partitions - 1);
    const first = Math.floor(k / this.pieces) * this.span;
    return Math.min(first + Math.min((k % this.pieces) * this.size, this.span), this.rows);
  }

  /** Returns the number of rows of partition k. */
  rowsOf(k: number): number {
    const start = this.start(k);
    const end = (Math.floor(k / this.pieces) + 1) * this.span;
    return Math.min(this.size, end - start, this.rows - start);
  }

  partitionOf(id: number): number {
    checkInteger('PartitionLayout.partitionOf', 'id', id, 0, this.rows - 1);
    const whole = Math.floor(id / this.span);
    return whole * this.pieces + Math.floor((id - whole * this.span) / this.size);
  }

  /** Whether another layout has the same partitions. */
  equals({ rows, partitions, size, pieces }: PartitionLayout): boolean {
    return (
      rows === this.rows && partitions === this.partitions && size === this.size && pieces === this.pieces
    );
  }
}

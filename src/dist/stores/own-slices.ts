/**
 * Assignment of a table's slices to workers: every partition of the plan is split into slices, and a worker has the same
 * slices of each partition, so that every worker holds its share of whichever partitions are resident.
 */
import type { PartitionLayout } from '../../storage/index.js';
import type { PartitionRange } from '../../storage/table-files.js';
import { evenRange } from '../../util/arrays.js';
import { StateError } from '../../util/errors.js';

/** Returns the slices of every partition that a worker has: consecutive ones, whose number differs by at most one. */
export function ownSlices(slices: number, rank: number, size: number): Required<PartitionRange> {
  const { start: first, end } = evenRange(slices, rank, size);
  return { first, end, of: slices };
}

/** Returns the number of slices per partition; throws if the files do not match the plan and the number of workers. */
export function checkSlices(
  where: string,
  layout: PartitionLayout,
  partitions: number,
  workers: number,
): number {
  const slices = layout.partitions / partitions;
  const fits = partitions === 1 ? layout.pieces === 1 : layout.pieces === slices;
  if (!fits)
    throw new StateError(
      `${where}: expected files of ${partitions} partitions in slices, got ${layout.partitions} files, ${layout.pieces} per partition. Use repartitionTable first.`,
    );
  if (slices >= workers) return slices;
  throw new StateError(
    `${where}: expected at least ${workers} slices per partition for ${workers} workers, got ${slices}. Use repartitionTable first.`,
  );
}

/** Returns the rows of every partition that each worker has, as if all slices were full. */
export function sliceRowRanges(
  { size }: PartitionLayout,
  slices: number,
  workers: number,
): { start: number; end: number }[] {
  return Array.from({ length: workers }, (_, rank) => {
    const { first, end } = ownSlices(slices, rank, workers);
    return { start: first * size, end: end * size };
  });
}

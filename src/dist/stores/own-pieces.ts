/**
 * Which part of a table each of several workers has: every partition of the plan is cut into pieces, and a worker has the same
 * pieces of each, so that whatever is resident, every worker holds its share of it.
 */
import type { PartitionLayout, PartitionRange } from '../../storage/index.js';
import { StateError } from '../../util/errors.js';
import { evenRange } from '../../util/even-range.js';

/** Which pieces of every partition a worker has: consecutive ones, as many as others within one. */
export function ownPieces(pieces: number, rank: number, size: number): Required<PartitionRange> {
  const { start: first, end } = evenRange(pieces, rank, size);
  return { first, end, of: pieces };
}

/** Pieces of a partition; refuses files that the plan and the workers do not fit. */
export function checkPieces(
  where: string,
  layout: PartitionLayout,
  partitions: number,
  workers: number,
): number {
  const pieces = layout.partitions / partitions;
  const fits = partitions === 1 ? layout.pieces === 1 : layout.pieces === pieces;
  if (!fits)
    throw new StateError(
      `${where}: expected files of ${partitions} partitions in pieces, got ${layout.partitions} files, ${layout.pieces} a partition. Use recutTable first.`,
    );
  if (pieces >= workers) return pieces;
  throw new StateError(
    `${where}: expected at least ${workers} pieces of a partition for ${workers} workers, got ${pieces}. Use recutTable first.`,
  );
}

/** The rows of every partition that each worker has, as if all pieces were full. */
export function rangesOf(
  { size }: PartitionLayout,
  pieces: number,
  workers: number,
): { start: number; end: number }[] {
  return Array.from({ length: workers }, (_, rank) => {
    const { first, end } = ownPieces(pieces, rank, workers);
    return { start: first * size, end: end * size };
  });
}

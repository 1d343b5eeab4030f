/**
 * Masks of negatives that are not negatives: the true end of an edge, other edges of the batch, or known edges. Ids are looked
 * up by binary search in sorted arrays, since a batch has some hundred thousand pairs of an edge and a negative.
 */
import type { NegativeMask } from '../../../gnn/ops/chunked-softmax-loss.js';
import type { TrainingBatch } from '../graph/batch/training-batch.js';
import type { FilterIndex } from './filter-index.js';

/** The edges of a batch by the end that negatives replace. */
export interface CorruptedEnds {
  readonly replaced: Int32Array;
  readonly kept: Int32Array;
  readonly relations: Int32Array | null;
  /** Whether negatives replace the destinations. */
  readonly tails: boolean;
}

/** @param src whether the sources are replaced. */
export function corruptedEnds(batch: TrainingBatch, src: boolean): CorruptedEnds {
  const none = new Int32Array(0);
  const [replaced, kept] = src ? [batch.src, batch.dst] : [batch.dst, batch.src];
  return { replaced: replaced ?? none, kept: kept ?? none, relations: batch.relations, tails: !src };
}

/** Masks negatives that are the true end of their edge. @param ids of all chunks, the same number for each. */
export function maskPositives(ends: CorruptedEnds, ids: Int32Array, chunks: number): NegativeMask | null {
  return maskEach(ends, ids, chunks, (edge, find) => find(ends.replaced[edge]));
}

/** Masks negatives that make an edge of the batch. */
export function maskBatchEdges(ends: CorruptedEnds, ids: Int32Array, chunks: number): NegativeMask | null {
  const { replaced, kept, relations } = ends;
  const relation = (edge: number): number => relations?.[edge] ?? 0;
  const byKept = (a: number, b: number): number => kept[a] - kept[b] || relation(a) - relation(b);
  const order = Int32Array.from(kept.keys()).sort((a, b) => byKept(a, b) || replaced[a] - replaced[b]);
  // Edges of one query are consecutive in the order: each edge masks the distinct ends of its run.
  const firstOfRun = new Int32Array(order.length);
  for (let i = 0, first = 0; i < order.length; i++) {
    if (byKept(order[first], order[i]) !== 0) first = i;
    firstOfRun[order[i]] = first;
  }
  return maskEach(ends, ids, chunks, (edge, find) => {
    for (let i = firstOfRun[edge]; i < order.length && byKept(order[i], edge) === 0; i++)
      if (i === firstOfRun[edge] || replaced[order[i]] !== replaced[order[i - 1]]) find(replaced[order[i]]);
  });
}

/** Masks negatives that make a known edge. */
export function maskKnownEdges(
  ends: CorruptedEnds,
  ids: Int32Array,
  chunks: number,
  known: Pick<FilterIndex, 'lists'>,
): NegativeMask | null {
  const lists = known.lists(ends.kept, ends.relations, ends.tails);
  const count = ids.length / chunks;
  const perChunk = Math.ceil(ends.replaced.length / chunks);
  return maskEach(ends, ids, chunks, (edge, find) => {
    const [begin, end] = [lists.offsets[edge], lists.offsets[edge + 1]];
    if (end - begin <= count) {
      for (let p = begin; p < end; p++) find(lists.ids[p]);
      return;
    }
    // Few drawn ids against a long list: the list is searched, and an id that was drawn twice is found once.
    const first = Math.floor(edge / perChunk) * count;
    const list = lists.ids.subarray(begin, end);
    const drawn = new Set<number>();
    for (let j = first; j < first + count; j++) {
      const id = ids[j];
      if (list[lowerBound(list, id)] !== id || drawn.has(id)) continue;
      drawn.add(id);
      find(id);
    }
  });
}

/** Masks the negatives that `visit` finds for each edge by their id; null if there are none. */
function maskEach(
  { replaced }: CorruptedEnds,
  ids: Int32Array,
  chunks: number,
  visit: (edge: number, find: (id: number) => void) => void,
): NegativeMask | null {
  const edges = replaced.length;
  const count = ids.length / chunks;
  const perChunk = Math.ceil(edges / chunks);
  const offsets = new Int32Array(edges + 1);
  const positions: number[] = [];
  let keys: Float64Array = new Float64Array(0);
  const find = (id: number): void => {
    for (let at = lowerBound(keys, id * count); at < keys.length && keys[at] < (id + 1) * count; at++)
      positions.push(keys[at] - id * count);
  };
  for (let edge = 0; edge < edges; edge++) {
    if (edge % perChunk === 0)
      keys = positionKeys(ids.subarray((edge / perChunk) * count, (edge / perChunk + 1) * count));
    const first = positions.length;
    visit(edge, find);
    if (positions.length - first > 1) sortFrom(positions, first);
    offsets[edge + 1] = positions.length;
  }
  return positions.length === 0 ? null : { offsets, positions: Int32Array.from(positions) };
}

/** Returns id · count + position for each id, ascending: equal ids are consecutive, in the order of their positions. */
function positionKeys(ids: Int32Array): Float64Array {
  const keys = new Float64Array(ids.length);
  for (let position = 0; position < ids.length; position++)
    keys[position] = ids[position] * ids.length + position;
  return keys.sort();
}

function sortFrom(values: number[], first: number): void {
  const sorted = values.slice(first).sort((a, b) => a - b);
  for (let i = 0; i < sorted.length; i++) values[first + i] = sorted[i];
}

function lowerBound(values: Float64Array | Int32Array, wanted: number): number {
  let lo = 0;
  let hi = values.length;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (values[mid] < wanted) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

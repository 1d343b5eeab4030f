/** From global source ids to rows used here, and the link that brings them: the only exchange of ids a graph needs. */
import type { Communicator } from '../comm/communicator.js';
import type { NodeRange } from '../partition/partition-data.js';
import { RowLink } from './row-link.js';

export interface ConnectedEdges {
  readonly link: RowLink;
  /** Of each edge, the source among the rows used here. */
  readonly sources: Int32Array;
  readonly usedIds: Int32Array;
}

/**
 * Collective.
 *
 * @param src global source ids of the edges.
 * @param own global ids of the source rows this worker owns, in the order of rows.
 */
export function connectEdges(
  comm: Communicator,
  nodeRanges: readonly NodeRange[],
  src: Int32Array,
  own: Int32Array,
): ConnectedEdges {
  const mine = nodeRanges[comm.rank];
  const ownRow = new Int32Array(mine.end - mine.start).fill(-1);
  for (let row = 0; row < own.length; row++) ownRow[own[row] - mine.start] = row;
  // Of each worker's nodes: −1 not needed, else the row among those that it sends.
  const places = nodeRanges.map(({ start, end }, q) =>
    q === comm.rank ? ownRow : new Int32Array(end - start).fill(-1),
  );
  const owners = new Int32Array(src.length);
  for (let e = 0; e < src.length; e++) {
    const q = ownerOf(nodeRanges, src[e]);
    owners[e] = q;
    if (q !== comm.rank) places[q][src[e] - nodeRanges[q].start] = 0;
  }
  const needed = places.map((place, q) => {
    if (q === comm.rank) return new Int32Array(0);
    const ids: number[] = [];
    for (let i = 0; i < place.length; i++) {
      if (place[i] < 0) continue;
      place[i] = ids.length;
      ids.push(nodeRanges[q].start + i);
    }
    return Int32Array.from(ids);
  });
  const link = RowLink.connect(comm, own.length, needed, (id) => ownRow[id - mine.start]);
  const usedIds = new Int32Array(link.numUsed);
  usedIds.set(own);
  for (const [q, ids] of needed.entries()) if (q !== comm.rank) usedIds.set(ids, link.starts[q]);
  const sources = src.map(
    (id, e) => link.starts[owners[e]] + places[owners[e]][id - nodeRanges[owners[e]].start],
  );
  return { link, sources, usedIds };
}

/** Which worker's range an id is in; ranges ascend. */
export function ownerOf(ranges: readonly NodeRange[], id: number): number {
  let [lo, hi] = [0, ranges.length - 1];
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (id >= ranges[mid].end) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

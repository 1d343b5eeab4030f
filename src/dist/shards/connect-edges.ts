/**
 * Maps global source ids to rows used here, and makes the link that fetches them: the only exchange of ids of a graph.
 */
import { kernels } from '../../native/index.js';
import type { Communicator } from '../comm/communicator.js';
import type { NodeRange } from '../partition/partition-data.js';
import { RowLink } from './row-link.js';

export interface ConnectedEdges {
  readonly link: RowLink;
  /** The source of each edge, as an index into the rows used here. */
  readonly sources: Int32Array;
  readonly usedIds: Int32Array;
}

/**
 * Collective. Connects the edges of a worker with the owners of their sources.
 *
 * @param src global source ids of the edges.
 * @param own global ids of the source rows this worker owns, in row order.
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
  const owners = src.map((id) => ownerOf(nodeRanges, id));
  const bounds = new Int32Array(nodeRanges.length + 1);
  const order = new Int32Array(src.length);
  kernels().groupByKey(owners, bounds, order, src.length, nodeRanges.length);
  // One worker's nodes at a time: marks for all of them would be as long as the whole graph.
  const rows = new Int32Array(src.length);
  const needed = nodeRanges.map((range, q) => {
    const edges = order.subarray(bounds[q], bounds[q + 1]);
    if (q !== comm.rank) return findRows(src, edges, range, rows);
    for (const e of edges) rows[e] = ownRow[src[e] - mine.start];
    return new Int32Array(0);
  });
  const link = RowLink.connect(comm, own.length, needed, (id) => ownRow[id - mine.start]);
  const usedIds = new Int32Array(link.numUsed);
  usedIds.set(own);
  for (const [q, ids] of needed.entries()) if (q !== comm.rank) usedIds.set(ids, link.starts[q]);
  const sources = rows.map((row, e) => link.starts[owners[e]] + row);
  return { link, sources, usedIds };
}

/**
 * Returns the distinct sources of some edges, ascending; `rows` receives the index of each edge's source among them.
 */
function findRows(
  src: Int32Array,
  edges: Int32Array,
  { start, end }: NodeRange,
  rows: Int32Array,
): Int32Array {
  const positions = new Int32Array(end - start);
  for (const e of edges) positions[src[e] - start] = 1;
  let count = 0;
  for (let i = 0; i < positions.length; i++) if (positions[i] > 0) positions[i] = ++count;
  const ids = new Int32Array(count);
  for (let i = 0; i < positions.length; i++) if (positions[i] > 0) ids[positions[i] - 1] = start + i;
  for (const e of edges) rows[e] = positions[src[e] - start] - 1;
  return ids;
}

/** Returns the worker whose range contains an id; ranges ascend. */
export function ownerOf(ranges: readonly NodeRange[], id: number): number {
  let [lo, hi] = [0, ranges.length - 1];
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (id >= ranges[mid].end) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

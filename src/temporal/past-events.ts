/** The latest events of nodes at several times: for each node one list, from the first event of the first time to the last of the last. */
import type { TemporalGraph } from '../graph/index.js';

export interface PastEvents {
  /** Boundaries of the nodes' events. */
  readonly offsets: Int32Array;
  /** Rows of the events, ascending for each node. */
  readonly rows: Int32Array;
  readonly times: Float64Array;
  /** Their other ends. */
  readonly neighbors: Int32Array;
}

/** @param cutoffs the times as numbers of visible events. @param fanout the most events at one time. */
export function pastEvents(
  graph: TemporalGraph,
  nodes: Int32Array,
  cutoffs: Int32Array,
  fanout: number,
): PastEvents {
  const { starts, rows, neighbors, time } = graph.moment();
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const cutoff of cutoffs) [least, most] = [Math.min(least, cutoff), Math.max(most, cutoff)];
  const offsets = new Int32Array(nodes.length + 1);
  const first = new Int32Array(nodes.length);
  for (let c = 0; c < nodes.length; c++) {
    const start = starts[nodes[c]];
    const end = countBelow(rows, start, most);
    first[c] = start + Math.max(0, countBelow(rows, start, least) - fanout);
    offsets[c + 1] = offsets[c] + start + end - first[c];
  }
  const total = offsets[nodes.length];
  const found = {
    offsets,
    rows: new Int32Array(total),
    times: new Float64Array(total),
    neighbors: new Int32Array(total),
  };
  for (let c = 0; c < nodes.length; c++) {
    const [from, to] = [first[c], first[c] + offsets[c + 1] - offsets[c]];
    found.rows.set(rows.subarray(from, to), offsets[c]);
    found.neighbors.set(neighbors.subarray(from, to), offsets[c]);
  }
  for (let p = 0; p < total; p++) found.times[p] = time[found.rows[p]];
  return found;
}

/** Counts the entries of a list with a row below `cutoff`; the rows of free entries are above all others. */
function countBelow(rows: Int32Array, start: number, cutoff: number): number {
  let low = 0;
  for (let high = rows[start - 1]; low < high; ) {
    const middle = (low + high) >>> 1;
    if (rows[start + middle] < cutoff) low = middle + 1;
    else high = middle;
  }
  return low;
}

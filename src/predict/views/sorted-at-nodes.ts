/**
 * Counts among the edges of each node. Values are sorted in one array, node by node: a Set or a Map ends at 2^24 entries, and
 * graphs have more edges.
 */
export interface SortedAtNodes {
  /** Position in `values` at which each node's begin; one more for the end. */
  readonly offsets: Int32Array;
  /** Values of each node's edges, ascending. */
  readonly values: Float64Array;
}

/** @param ends a node of each edge @param numberOf an integer of each edge */
export function sortedAtNodes(
  ends: Int32Array,
  numNodes: number,
  numberOf: (edge: number) => number,
): SortedAtNodes {
  const offsets = new Int32Array(numNodes + 1);
  for (const node of ends) offsets[node + 1]++;
  for (let node = 0; node < numNodes; node++) offsets[node + 1] += offsets[node];
  const next = offsets.slice();
  const values = new Float64Array(ends.length);
  for (let e = 0; e < ends.length; e++) values[next[ends[e]]++] = numberOf(e);
  for (let node = 0; node < numNodes; node++)
    if (offsets[node + 1] - offsets[node] > 1) values.subarray(offsets[node], offsets[node + 1]).sort();
  return { offsets, values };
}

/** Counts values that their node has before. */
export function countRepeats({ offsets, values }: SortedAtNodes): number {
  let count = 0;
  for (let node = 0; node + 1 < offsets.length; node++)
    for (let i = offsets[node] + 1; i < offsets[node + 1]; i++) if (values[i] === values[i - 1]) count++;
  return count;
}

/** Returns the value that each node has most often, among equal counts the lower one; −1 for a node without values. */
export function mostFrequent({ offsets, values }: SortedAtNodes): Int32Array {
  const found = new Int32Array(offsets.length - 1).fill(-1);
  for (let node = 0; node < found.length; node++) {
    let most = 0;
    let same = 0;
    for (let i = offsets[node]; i < offsets[node + 1]; i++) {
      same = i > offsets[node] && values[i] === values[i - 1] ? same + 1 : 1;
      if (same <= most) continue;
      most = same;
      found[node] = values[i];
    }
  }
  return found;
}

/** Counts the nodes that occur. */
export function countNodes(ends: Int32Array, numNodes: number): number {
  const occurs = new Uint8Array(numNodes);
  for (const node of ends) occurs[node] = 1;
  return occurs.reduce((count, one) => count + one, 0);
}

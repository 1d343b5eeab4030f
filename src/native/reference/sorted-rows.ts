/** Lookups in rows that `sortRows` has sorted. */

/** Whether row `node` contains `id`. */
export function hasNeighbor(offsets: Int32Array, sorted: Int32Array, node: number, id: number): boolean {
  let low = offsets[node];
  const end = offsets[node + 1];
  for (let high = end; low < high; ) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] >= id) high = middle;
    else low = middle + 1;
  }
  return low < end && sorted[low] === id;
}

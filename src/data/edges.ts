/**
 * Edge lists as two arrays of ids: sorting and symmetrising in linear time.
 */

/** Edge i goes from src[i] to dst[i]. */
export interface EdgeArrays {
  readonly numNodes: number;
  readonly src: Int32Array;
  readonly dst: Int32Array;
}

/** Returns the positions of `keys` in ascending order of key; equal keys keep the order of `before` (or of position). */
function stableOrder(keys: Int32Array, limit: number, before: Int32Array | null): Int32Array {
  const next = new Int32Array(limit + 1);
  for (let i = 0; i < keys.length; i++) next[keys[i] + 1]++;
  for (let k = 0; k < limit; k++) next[k + 1] += next[k];
  const order = new Int32Array(keys.length);
  for (let i = 0; i < keys.length; i++) {
    const position = before === null ? i : before[i];
    order[next[keys[position]]++] = position;
  }
  return order;
}

/** Returns the edges sorted by source, then destination, without duplicates. */
export function coalesceEdges({ numNodes, src, dst }: EdgeArrays): EdgeArrays {
  const order = stableOrder(src, numNodes, stableOrder(dst, numNodes, null));
  const newSrc = new Int32Array(src.length);
  const newDst = new Int32Array(src.length);
  let count = 0;
  for (const position of order) {
    const s = src[position];
    const d = dst[position];
    if (count > 0 && newSrc[count - 1] === s && newDst[count - 1] === d) continue;
    newSrc[count] = s;
    newDst[count++] = d;
  }
  return { numNodes, src: newSrc.slice(0, count), dst: newDst.slice(0, count) };
}

/** Returns both directions of each edge, without duplicates and self loops, sorted by source, then destination. */
export function symmetricEdges({ numNodes, src, dst }: EdgeArrays): EdgeArrays {
  const bothSrc = new Int32Array(2 * src.length);
  const bothDst = new Int32Array(2 * src.length);
  let count = 0;
  for (let i = 0; i < src.length; i++) {
    if (src[i] === dst[i]) continue;
    bothSrc[count] = src[i];
    bothDst[count++] = dst[i];
    bothSrc[count] = dst[i];
    bothDst[count++] = src[i];
  }
  return coalesceEdges({ numNodes, src: bothSrc.subarray(0, count), dst: bothDst.subarray(0, count) });
}

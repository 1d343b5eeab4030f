/**
 * The order in which rows are summed: sources grouped by destination, ascending within each, split into chunks of
 * bounded length so that no single invocation sums a hub. Computed on the host, which has the ids; float sums on the
 * device must not depend on the order of invocations.
 */

/** Maximum number of rows that one invocation sums. */
export const longestChunk = 256;

export interface Destinations {
  /** Positions of the sources, grouped by destination. */
  readonly order: Int32Array;
  /** Bounds of the chunks within `order`: one more than there are chunks. */
  readonly chunks: Int32Array;
  /** Bounds of each destination's chunks. */
  readonly bounds: Int32Array;
  /** The destination rows: those with at least one source, ascending. */
  readonly rows: Int32Array;
}

/** Groups ids 0 … n−1 of `ids`, all in [0, rows). */
export function byDestination(ids: Int32Array, n: number, rows: number): Destinations {
  const order = rows <= 8 * n || rows * n > Number.MAX_SAFE_INTEGER ? counted(ids, n, rows) : sortIds(ids, n);
  // No chunk is empty, so there are at most n.
  const chunks = new Int32Array(n + 1);
  const bounds = new Int32Array(n + 1);
  const named = new Int32Array(n);
  let [numChunks, numRows] = [0, 0];
  for (let start = 0; start < n; ) {
    const row = ids[order[start]];
    let end = start + 1;
    while (end < n && ids[order[end]] === row) end++;
    for (let at = start + longestChunk; at < end; at += longestChunk) chunks[++numChunks] = at;
    chunks[++numChunks] = end;
    named[numRows++] = row;
    bounds[numRows] = numChunks;
    start = end;
  }
  return {
    order,
    chunks: chunks.subarray(0, numChunks + 1),
    bounds: bounds.subarray(0, numRows + 1),
    rows: named.subarray(0, numRows),
  };
}

/** Splits consecutive rows into chunks: segments with the bounds `offsets`. */
export function splitIntoChunks(
  offsets: Int32Array,
  segments: number,
): Pick<Destinations, 'chunks' | 'bounds'> {
  const chunks = [offsets[0]];
  const bounds = [0];
  for (let s = 0; s < segments; s++) {
    const to = offsets[s + 1];
    for (let at = offsets[s] + longestChunk; at < to; at += longestChunk) chunks.push(at);
    if (to > offsets[s]) chunks.push(to);
    bounds.push(chunks.length - 1);
  }
  return { chunks: Int32Array.from(chunks), bounds: Int32Array.from(bounds) };
}

function counted(ids: Int32Array, n: number, rows: number): Int32Array {
  const next = new Int32Array(rows + 1);
  for (let i = 0; i < n; i++) next[ids[i] + 1]++;
  for (let r = 0; r < rows; r++) next[r + 1] += next[r];
  const order = new Int32Array(n);
  for (let i = 0; i < n; i++) order[next[ids[i]]++] = i;
  return order;
}

/** Sorts few ids among many rows: one number holds the id and the position. */
function sortIds(ids: Int32Array, n: number): Int32Array {
  const keys = new Float64Array(n);
  for (let i = 0; i < n; i++) keys[i] = ids[i] * n + i;
  keys.sort();
  return Int32Array.from(keys, (key) => key % n);
}

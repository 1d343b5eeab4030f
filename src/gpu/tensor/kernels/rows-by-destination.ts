/**
 * The order in which rows are added up: sources grouped by destination, ascending within each, cut into pieces of bounded
 * length so that no invocation has a hub to itself. Made by the host, because ids are in its memory and sums of floats on
 * the device must not depend on which invocation comes first.
 */

/** Longest run that one invocation adds up. */
export const longestPiece = 256;

export interface Destinations {
  /** Positions of the sources, grouped by destination. */
  readonly order: Int32Array;
  /** Bounds of the pieces within `order`: one more than there are pieces. */
  readonly pieces: Int32Array;
  /** Bounds of each destination's pieces. */
  readonly bounds: Int32Array;
  /** Which rows they are: those that at least one source names, ascending. */
  readonly rows: Int32Array;
}

/** Groups ids 0 … n−1 of `ids`, all in [0, rows). */
export function byDestination(ids: Int32Array, n: number, rows: number): Destinations {
  const order = rows <= 8 * n || rows * n > Number.MAX_SAFE_INTEGER ? counted(ids, n, rows) : sorted(ids, n);
  // No piece is empty, so there are at most n.
  const pieces = new Int32Array(n + 1);
  const bounds = new Int32Array(n + 1);
  const named = new Int32Array(n);
  let [numPieces, numRows] = [0, 0];
  for (let start = 0; start < n; ) {
    const row = ids[order[start]];
    let end = start + 1;
    while (end < n && ids[order[end]] === row) end++;
    for (let at = start + longestPiece; at < end; at += longestPiece) pieces[++numPieces] = at;
    pieces[++numPieces] = end;
    named[numRows++] = row;
    bounds[numRows] = numPieces;
    start = end;
  }
  return {
    order,
    pieces: pieces.subarray(0, numPieces + 1),
    bounds: bounds.subarray(0, numRows + 1),
    rows: named.subarray(0, numRows),
  };
}

/** Pieces of consecutive rows: segments with the bounds `offsets`. */
export function piecesOf(offsets: Int32Array, segments: number): Pick<Destinations, 'pieces' | 'bounds'> {
  const pieces = [offsets[0]];
  const bounds = [0];
  for (let s = 0; s < segments; s++) {
    const to = offsets[s + 1];
    for (let at = offsets[s] + longestPiece; at < to; at += longestPiece) pieces.push(at);
    if (to > offsets[s]) pieces.push(to);
    bounds.push(pieces.length - 1);
  }
  return { pieces: Int32Array.from(pieces), bounds: Int32Array.from(bounds) };
}

function counted(ids: Int32Array, n: number, rows: number): Int32Array {
  const next = new Int32Array(rows + 1);
  for (let i = 0; i < n; i++) next[ids[i] + 1]++;
  for (let r = 0; r < rows; r++) next[r + 1] += next[r];
  const order = new Int32Array(n);
  for (let i = 0; i < n; i++) order[next[ids[i]]++] = i;
  return order;
}

/** For few ids among many rows: one number holds the id and the position. */
function sorted(ids: Int32Array, n: number): Int32Array {
  const keys = new Float64Array(n);
  for (let i = 0; i < n; i++) keys[i] = ids[i] * n + i;
  keys.sort();
  return Int32Array.from(keys, (key) => key % n);
}

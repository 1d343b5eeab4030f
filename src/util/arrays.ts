/** Arrays of ids and even ranges of indices. */

/** Returns 0, 1, …, n − 1. */
export function iota(n: number): Int32Array {
  const ids = new Int32Array(n);
  for (let i = 0; i < n; i++) ids[i] = i;
  return ids;
}

/** Returns the elements of several arrays in one. */
export function concatInt32(arrays: readonly Int32Array[]): Int32Array {
  const out = new Int32Array(arrays.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const array of arrays) {
    out.set(array, at);
    at += array.length;
  }
  return out;
}

/** Returns range `index` of the `ranges` consecutive ranges, of equal length within one, that make up 0 … count − 1. */
export function evenRange(
  count: number,
  index: number,
  ranges: number,
): { readonly start: number; readonly end: number } {
  return { start: Math.floor((index * count) / ranges), end: Math.floor(((index + 1) * count) / ranges) };
}

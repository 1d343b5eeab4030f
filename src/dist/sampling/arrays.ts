/** Operations on typed arrays as loops, which are many times faster than `from` with a function. */

/** Returns start … start + count − 1. */
export function iota(count: number, start = 0): Int32Array {
  const all = new Int32Array(count);
  for (let i = 0; i < count; i++) all[i] = start + i;
  return all;
}

/** Concatenates one or more arrays of one type. */
export function concatArrays<T extends Int32Array | Float32Array>(parts: readonly T[]): T {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const all = new (parts[0].constructor as new (length: number) => T)(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

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

/**
 * Orderings that walk the matrix of edge buckets along a curve, for comparison with BETA: row by row, or along a
 * Hilbert curve. Partitions are read when the walk needs them; the one that is needed latest is evicted (Belady's rule,
 * which is optimal for a given walk).
 */

/** Returns the buckets row by row. */
export function sequentialWalk(partitions: number): Int32Array {
  return Int32Array.from({ length: partitions * partitions }, (_, i) => i);
}

/** Returns the buckets along a Hilbert curve on the enclosing square of a power of two, without the cells outside. */
export function hilbertWalk(partitions: number): Int32Array {
  let side = 1;
  while (side < partitions) side *= 2;
  const walk = new Int32Array(partitions * partitions);
  let count = 0;
  for (let d = 0; d < side * side; d++) {
    const [x, y] = hilbertCell(side, d);
    if (x < partitions && y < partitions) walk[count++] = y * partitions + x;
  }
  return walk;
}

/** Returns cell d of the curve on a square of `side` cells. */
function hilbertCell(side: number, d: number): [number, number] {
  let x = 0;
  let y = 0;
  let rest = d;
  for (let s = 1; s < side; s *= 2) {
    const right = Math.floor(rest / 2) % 2;
    const up = (rest + right) % 2;
    if (up === 0) {
      if (right === 1) {
        x = s - 1 - x;
        y = s - 1 - y;
      }
      [x, y] = [y, x];
    }
    x += s * right;
    y += s * up;
    rest = Math.floor(rest / 4);
  }
  return [x, y];
}

/** Returns the buffer states along a walk and, for every bucket, the state in which the walk visits it. */
export function followWalk(
  walk: Int32Array,
  partitions: number,
  capacity: number,
): { readonly sets: number[][]; readonly assignment: Int32Array } {
  const uses = usesOf(walk, partitions);
  const cursor = new Int32Array(partitions);
  const nextUse = (k: number, now: number): number => {
    while (cursor[k] < uses[k].length && uses[k][cursor[k]] < now) cursor[k]++;
    return cursor[k] < uses[k].length ? uses[k][cursor[k]] : Infinity;
  };
  const buffer = firstContents(walk, partitions, capacity);
  const sets = [buffer.slice()];
  const assignment = new Int32Array(partitions * partitions).fill(-1);
  for (let t = 0; t < walk.length; t++) {
    const needed = [Math.floor(walk[t] / partitions), walk[t] % partitions];
    const missing = [...new Set(needed)].filter((k) => !buffer.includes(k));
    for (const k of missing) {
      let victim = -1;
      let latest = -1;
      for (let i = 0; i < buffer.length; i++) {
        if (needed.includes(buffer[i])) continue;
        const use = nextUse(buffer[i], t);
        if (use > latest) {
          latest = use;
          victim = i;
        }
      }
      buffer[victim] = k;
    }
    if (missing.length > 0) sets.push(buffer.slice());
    assignment[walk[t]] = sets.length - 1;
  }
  return { sets, assignment };
}

/** Returns, for every partition, the steps of the walk that need it. */
function usesOf(walk: Int32Array, partitions: number): number[][] {
  const uses: number[][] = Array.from({ length: partitions }, () => []);
  walk.forEach((bucket, t) => {
    const a = Math.floor(bucket / partitions);
    const b = bucket % partitions;
    uses[a].push(t);
    if (b !== a) uses[b].push(t);
  });
  return uses;
}

/** Returns the first `capacity` partitions of the walk. */
function firstContents(walk: Int32Array, partitions: number, capacity: number): number[] {
  const seen = new Set<number>();
  for (const bucket of walk) {
    for (const k of [Math.floor(bucket / partitions), bucket % partitions]) {
      if (seen.size < capacity) seen.add(k);
    }
  }
  return [...seen];
}

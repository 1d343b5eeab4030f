/** Finds the known name nearest to a misspelt one, by edit distance. */

/** Optimal string alignment: insertions, deletions, replacements and swaps of neighbours count one each. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j], beforeLast[j - 2] + 1);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length];
}

/**
 * Returns up to `count` of the known names that resemble `name`, the nearest first. Names that start with it come
 * before others.
 */
export function nearestNames(name: string, known: Iterable<string>, count = 3): string[] {
  const lower = name.toLowerCase();
  const bound = Math.max(2, Math.ceil(lower.length / 3));
  let best: { readonly candidate: string; readonly distance: number }[] = [];
  for (const candidate of known) {
    const other = candidate.toLowerCase();
    let distance: number;
    // Longer names lose against shorter ones, less than a wrong letter does.
    if (lower.length > 1 && other.startsWith(lower)) distance = (other.length - lower.length) / 1000;
    else if (Math.abs(other.length - lower.length) > bound) continue;
    else distance = editDistance(lower, other);
    if (distance > bound || (best.length === count && distance >= best[count - 1].distance)) continue;
    best = [...best, { candidate, distance }].sort((a, b) => a.distance - b.distance).slice(0, count);
  }
  return best.map(({ candidate }) => candidate);
}

/** Returns the known name nearest to `name`, ignoring case; undefined if none is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const lower = name.toLowerCase();
  let best: string | undefined;
  // A third of the letters may differ, as in "epochs" for "num_epochs"; beyond that a guess misleads.
  let bound = Math.max(2, Math.ceil(lower.length / 3)) + 0.5;
  for (const candidate of known) {
    const other = candidate.toLowerCase();
    const contained = other.includes(lower) || lower.includes(other);
    const distance = contained && Math.min(lower.length, other.length) > 3 ? 1.5 : editDistance(lower, other);
    if (distance < bound) {
      bound = distance;
      best = candidate;
    }
  }
  return best;
}

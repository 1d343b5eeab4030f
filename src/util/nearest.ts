/** Finds the known name nearest to a misspelt one, by edit distance. */

/** Rows of the table of distances; names are short, so they are kept. */
let rows: [Int32Array, Int32Array, Int32Array] = newRows(64);

function newRows(length: number): [Int32Array, Int32Array, Int32Array] {
  return [new Int32Array(length), new Int32Array(length), new Int32Array(length)];
}

/**
 * Optimal string alignment: insertions, deletions, replacements and swaps of neighbours count one each. Stops early with
 * infinity when the distance must exceed `bound`, so that a name is compared with many others in little time.
 */
function editDistance(a: string, b: string, bound = Number.POSITIVE_INFINITY): number {
  if (rows[0].length <= b.length) rows = newRows(2 * b.length + 1);
  let [beforeLast, last, row] = rows;
  for (let j = 0; j <= b.length; j++) last[j] = j;
  for (let i = 1; i <= a.length; i++) {
    row[0] = i;
    let least = i;
    const letter = a.charCodeAt(i - 1);
    for (let j = 1; j <= b.length; j++) {
      const other = b.charCodeAt(j - 1);
      let best = last[j - 1] + (letter === other ? 0 : 1);
      if (last[j] + 1 < best) best = last[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      if (i > 1 && j > 1 && letter === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === other)
        best = Math.min(best, beforeLast[j - 2] + 1);
      row[j] = best;
      if (best < least) least = best;
    }
    // A swap reaches back two rows, so the row before counts too.
    if (least - 1 > bound) return Number.POSITIVE_INFINITY;
    [beforeLast, last, row] = [last, row, beforeLast];
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
    else distance = editDistance(lower, other, best.length === count ? best[count - 1].distance : bound);
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

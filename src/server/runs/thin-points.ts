/** Fewer points of a curve than a run has: as many as a chart has pixels for, without losing its extremes. */

/**
 * Returns at most `most` points in their order: the first and the last, and of each of several equal spans those with the least and
 * the greatest of each value. Values that are not finite are never the least or the greatest; a span without others keeps its
 * first point.
 */
export function thinPoints<P>(
  points: readonly P[],
  most: number,
  values: readonly ((point: P) => number)[],
): readonly P[] {
  if (points.length <= most) return points;
  const spans = Math.max(1, Math.floor((most - 2) / Math.max(1, 2 * values.length)));
  const kept = new Set<number>([0]);
  for (let span = 0; span < spans; span++) {
    const from = Math.floor((span * points.length) / spans);
    const to = Math.floor(((span + 1) * points.length) / spans);
    for (const i of extremes(points, from, to, values)) kept.add(i);
  }
  kept.add(points.length - 1);
  return [...kept].sort((a, b) => a - b).map((i) => points[i]);
}

function extremes<P>(
  points: readonly P[],
  from: number,
  to: number,
  values: readonly ((point: P) => number)[],
): Set<number> {
  const found = new Set<number>();
  for (const value of values) {
    let [least, greatest] = [-1, -1];
    for (let i = from; i < to; i++) {
      const now = value(points[i]);
      if (!Number.isFinite(now)) continue;
      if (least < 0 || now < value(points[least])) least = i;
      if (greatest < 0 || now > value(points[greatest])) greatest = i;
    }
    if (least >= 0) found.add(least).add(greatest);
  }
  return found.size > 0 ? found : new Set([from]);
}

/** How two nodes are related by their latest events: the twin of `native/kernels/events/pair_features.cpp`. */
import { type PairFeaturesArguments, pairFeatureWidth } from '../event-kernels.js';
import type { Kernels } from '../kernels.js';

/** Features of one side: met, how long ago, how often, fraction, events since; then the ages and the count of the node. */
const meetingWidth = 5;
const ages = [1, 4, 16, 64] as const;
const sideWidth = meetingWidth + ages.length + 2;

/** Logarithms of times in seconds reach 15; this keeps inputs near 1. */
const scale = 0.1;

export const pairFeatureTwins = {
  pairFeatures(args) {
    const { src, times, cutoffs, numQueries, dst, numDst, perQuery, out } = args;
    for (let row = 0; row < numQueries * numDst; row++) {
      const i = row % numQueries;
      const other = dst[perQuery === 0 ? Math.floor(row / numQueries) : row];
      describeSide(args, src[i], other, times[i], cutoffs[i], out, row * pairFeatureWidth);
      describeSide(args, other, src[i], times[i], cutoffs[i], out, row * pairFeatureWidth + sideWidth);
    }
  },
} satisfies Partial<Kernels>;

/** Writes the features of `other` in the past of `node`, and of `node` itself. */
function describeSide(
  { starts, neighbors, rows, time, depth }: PairFeaturesArguments,
  node: number,
  other: number,
  t: number,
  cutoff: number,
  out: Float32Array,
  at: number,
): void {
  const start = starts[node];
  const past = pastCount(rows, start, cutoff);
  const from = Math.max(0, past - depth);
  let met = 0;
  let last = -1;
  for (let k = past - 1; k >= from; k--) {
    if (neighbors[start + k] !== other) continue;
    if (met++ === 0) last = k;
  }
  out.fill(0, at, at + meetingWidth);
  if (met > 0) {
    out[at] = 1;
    out[at + 1] = scale * Math.log1p(t - time[rows[start + last]]);
    out[at + 2] = Math.log1p(met);
    out[at + 3] = met / (past - from);
    out[at + 4] = 1 / (past - last);
  }
  const activity = at + meetingWidth;
  for (let a = 0; a < ages.length; a++) {
    const k = past - ages[a];
    // Missing events count as long ago.
    out[activity + a] = k < 0 ? 2 : scale * Math.log1p(t - time[rows[start + k]]);
  }
  out[activity + ages.length] = past === 0 ? 1 : 0;
  out[activity + ages.length + 1] = scale * Math.log1p(past);
}

/** Counts the entries of a slice with a row below `cutoff`; the rows of free entries are above all others. */
function pastCount(rows: Int32Array, start: number, cutoff: number): number {
  let low = 0;
  for (let high = rows[start - 1]; low < high; ) {
    const middle = (low + high) >>> 1;
    if (rows[start + middle] < cutoff) low = middle + 1;
    else high = middle;
  }
  return low;
}

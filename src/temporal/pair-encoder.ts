/**
 * Encodes how two nodes are related and how active each is, from their latest events: whether, when, how often and how long ago they
 * met among the last `depth` events of either, and how long ago each one's 1st, 4th, 16th and 64th latest event was. Models that
 * embed each node separately cannot see the former; most links of real streams are repeats.
 *
 * Only events strictly before the query time are used. (Encoding a pair by the appearances of one node in the other's past is the
 * idea of CAWN and DyGFormer: Yu et al., NeurIPS 2023.)
 */
import type { TemporalGraph } from '../graph/index.js';
import { checkInteger } from '../util/errors.js';

/** Features of one side: met, how long ago, how often, fraction, events since; then the ages and the count of the node. */
const meetingWidth = 5;
const ages = [1, 4, 16, 64] as const;
const activityWidth = ages.length + 2;

/** Logarithms of times in seconds reach 15; this keeps inputs near 1. */
const scale = 0.1;

export class PairEncoder {
  /** Features per pair. */
  static readonly width = 2 * (meetingWidth + activityWidth);
  readonly depth: number;
  readonly #graph: TemporalGraph;

  constructor(graph: TemporalGraph, depth: number) {
    this.#graph = graph;
    this.depth = checkInteger('PairEncoder', 'depth', depth, 1);
  }

  /** [n, width], row by row. @param rowLimit only events in rows below it are visible. */
  encode(
    src: Int32Array,
    dst: Int32Array,
    times: Float64Array,
    rowLimit = Number.POSITIVE_INFINITY,
  ): Float32Array {
    const { width } = PairEncoder;
    const out = new Float32Array(src.length * width);
    const moment = this.#graph.moment();
    let cutoff = 0;
    let of = Number.NaN;
    for (let i = 0; i < src.length; i++) {
      if (times[i] !== of) {
        of = times[i];
        cutoff = Math.min(this.#graph.cutoff(of), rowLimit);
      }
      this.#side(moment, src[i], dst[i], of, cutoff, out, i * width);
      this.#side(moment, dst[i], src[i], of, cutoff, out, i * width + meetingWidth + activityWidth);
    }
    return out;
  }

  /** Writes the features of `other` in the past of `node`, and of `node` itself. */
  #side(
    { starts, neighbors, rows, time }: ReturnType<TemporalGraph['moment']>,
    node: number,
    other: number,
    t: number,
    cutoff: number,
    out: Float32Array,
    at: number,
  ): void {
    const start = starts[node];
    const past = pastCount(rows, start, cutoff);
    const from = Math.max(0, past - this.depth);
    let met = 0;
    let last = -1;
    for (let k = past - 1; k >= from; k--) {
      if (neighbors[start + k] !== other) continue;
      if (met++ === 0) last = k;
    }
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

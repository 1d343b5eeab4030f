/**
 * Encodes how two nodes are related and how active each is, from their latest events: whether, when, how often and how long ago they
 * met among the last `depth` events of either, and how long ago each one's 1st, 4th, 16th and 64th latest event was. Models that
 * embed each node separately cannot see the former; most links of real streams are repeats.
 *
 * Only events strictly before the query time are used. (Encoding a pair by the appearances of one node in the other's past is the
 * idea of CAWN and DyGFormer: Yu et al., NeurIPS 2023.)
 */
import type { TemporalGraph } from '../graph/index.js';
import { pairFeatureWidth } from '../native/event-kernels.js';
import { kernels } from '../native/index.js';
import { checkInteger } from '../util/errors.js';

/** Sources with the times of their questions, and the events that each may see. */
export interface SourceQueries {
  readonly src: Int32Array;
  readonly times: Float64Array;
  /** Events in rows below its cutoff are visible to a query. */
  readonly cutoffs: Int32Array;
}

export class PairEncoder {
  /** Features per pair. */
  static readonly width = pairFeatureWidth;
  readonly depth: number;
  readonly #graph: TemporalGraph;

  constructor(graph: TemporalGraph, depth: number) {
    this.#graph = graph;
    this.depth = checkInteger('PairEncoder', 'depth', depth, 1);
  }

  /** [n, width], row by row. @param rowLimit only events in rows below it are visible. */
  encode(src: Int32Array, dst: Int32Array, times: Float64Array, rowLimit?: number): Float32Array {
    return this.#encode({ src, times, cutoffs: cutoffsOf(this.#graph, times, rowLimit) }, dst, false);
  }

  /** Every candidate with all queries [candidates, queries, width]. */
  encodeEach(queries: SourceQueries, candidates: Int32Array): Float32Array {
    return this.#encode(queries, candidates, true);
  }

  #encode({ src, times, cutoffs }: SourceQueries, dst: Int32Array, shared: boolean): Float32Array {
    const numQueries = src.length;
    const numDst = shared ? dst.length : 1;
    const out = new Float32Array(numQueries * numDst * pairFeatureWidth);
    const { numEvents, numNodes: _, ...lists } = this.#graph.moment();
    kernels().pairFeatures({
      ...lists,
      ...{ limit: numEvents, src, times, cutoffs, numQueries, dst, numDst, perQuery: shared ? 0 : 1 },
      ...{ depth: this.depth, out },
    });
    return out;
  }
}

/** Returns for each time the rows below which events are visible: those strictly earlier, and below `rowLimit`. */
export function cutoffsOf(
  graph: TemporalGraph,
  times: Float64Array,
  rowLimit = Number.POSITIVE_INFINITY,
): Int32Array {
  const cutoffs = new Int32Array(times.length);
  for (let i = 0; i < times.length; i++)
    cutoffs[i] =
      i > 0 && times[i] === times[i - 1] ? cutoffs[i - 1] : Math.min(graph.cutoff(times[i]), rowLimit);
  return cutoffs;
}

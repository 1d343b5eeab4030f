/**
 * One hop of temporal sampling: edges from events strictly earlier than their destination's time.
 *
 * A row is a (node, time) pair: a node at two times has two rows. The source rows begin with the destination rows,
 * followed by the rows that this hop reached, which are the destinations of the next hop.
 */
import { Block } from '../graph/index.js';

export interface TemporalHopArrays {
  readonly dstNodes: Int32Array;
  readonly dstTimes: Float64Array;
  /** Edges of destination i: indptr[i] … indptr[i + 1], oldest first. */
  readonly indptr: Int32Array;
  /** Source row of every edge. */
  readonly sources: Int32Array;
  /** Event of every edge, as a row of the stream in time order. */
  readonly eventRows: Int32Array;
  /** Time of the destination minus time of the event: computed in f64, stored in f32. */
  readonly spans: Float32Array;
  readonly srcNodes: Int32Array;
  readonly srcTimes: Float64Array;
}

export class TemporalHop implements TemporalHopArrays {
  readonly dstNodes: Int32Array;
  readonly dstTimes: Float64Array;
  readonly indptr: Int32Array;
  readonly sources: Int32Array;
  readonly eventRows: Int32Array;
  readonly spans: Float32Array;
  readonly srcNodes: Int32Array;
  readonly srcTimes: Float64Array;
  #block: Block | null = null;

  constructor(arrays: TemporalHopArrays) {
    this.dstNodes = arrays.dstNodes;
    this.dstTimes = arrays.dstTimes;
    this.indptr = arrays.indptr;
    this.sources = arrays.sources;
    this.eventRows = arrays.eventRows;
    this.spans = arrays.spans;
    this.srcNodes = arrays.srcNodes;
    this.srcTimes = arrays.srcTimes;
  }

  get numDst(): number {
    return this.dstNodes.length;
  }

  get numSrc(): number {
    return this.srcNodes.length;
  }

  get numEdges(): number {
    return this.sources.length;
  }

  /** The hop as a graph for the layers of `gnn`: rows of sources in, rows of destinations out. */
  get block(): Block {
    this.#block ??= Block.fromCsc(this.indptr, this.sources, this.numSrc, {
      srcIds: this.srcNodes,
      parentEdgeIds: this.eventRows,
    });
    return this.#block;
  }
}

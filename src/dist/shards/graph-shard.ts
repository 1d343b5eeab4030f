/**
 * The edges from one worker's nodes (or some of them) to another's, compact: sources are rows of the list that is sent
 * (`uniqueSrcNodes`), destinations the rows that have an edge here.
 *
 * In the worker's own shard the sources are all its rows, so that they are not copied. Edges are sorted by destination;
 * `edgePositions` are their positions among all edges of the manager, ascending.
 */

import type { ShardInfo } from '../../graph/fn.js';
import type { Adjacency } from '../../graph/index.js';
import { kernels } from '../../native/index.js';

/** Edges by source: `dst` are destination rows of the manager, `positions` are positions in the shard. */
export interface ShardOutEdges {
  readonly offsets: Int32Array;
  readonly dst: Int32Array;
  readonly positions: Int32Array;
}

export class GraphShard {
  /** The worker that owns the sources. */
  readonly owner: number;
  /** Index of its first source among all rows used here. */
  readonly start: number;
  /** Its index in the list of shards. */
  readonly index: number;
  readonly numSrc: number;
  /** Destinations of the manager, with or without edges here. */
  readonly numDst: number;
  /** Edges of touched destination i: offsets[i] … offsets[i+1]−1. */
  readonly offsets: Int32Array;
  /** Source rows. */
  readonly indices: Int32Array;
  /** The destinations that have an edge here, ascending; null if all have. */
  readonly dstRows: Int32Array | null;
  /** By edge of the shard, its position in the manager. */
  readonly edgePositions: Int32Array;
  readonly #srcIds: () => Int32Array;
  readonly #dstIds: () => Int32Array;
  #out: ShardOutEdges | null = null;
  #outPositions: Int32Array | null = null;
  #destinations: Int32Array | null = null;

  constructor(
    segment: SourceSegment,
    index: number,
    numDst: number,
    edges: {
      offsets: Int32Array;
      indices: Int32Array;
      dstRows: Int32Array | null;
      edgePositions: Int32Array;
    },
    ids: { src: () => Int32Array; dst: () => Int32Array },
  ) {
    this.owner = segment.owner;
    this.start = segment.start;
    this.numSrc = segment.count;
    this.index = index;
    this.numDst = numDst;
    this.offsets = edges.offsets;
    this.indices = edges.indices;
    this.dstRows = edges.dstRows;
    this.edgePositions = edges.edgePositions;
    this.#srcIds = ids.src;
    this.#dstIds = ids.dst;
  }

  get numEdges(): number {
    return this.indices.length;
  }

  get numTouched(): number {
    return this.offsets.length - 1;
  }

  /** Global ids of the sources, ascending if they were numbered so. */
  get uniqueSrcNodes(): Int32Array {
    return this.#srcIds();
  }

  /** Global ids of the destinations with an edge here. */
  get uniqueTgtNodes(): Int32Array {
    const ids = this.#dstIds();
    return this.dstRows === null ? ids : this.dstRows.map((row) => ids[row]);
  }

  get shardInfo(): ShardInfo {
    const { owner, numSrc, edgePositions, numDst } = this;
    const dstRows = this.dstRows ?? Int32Array.from({ length: numDst }, (_, row) => row);
    return { shardIdx: owner, numSrc, dstRows, positions: edgePositions };
  }

  /**
   * Returns offsets for all destinations of the manager; recomputed on each call if some have no edges, because storing
   * them for N shards would take N times the whole graph's.
   */
  allOffsets(): Int32Array {
    const { dstRows, offsets, numDst } = this;
    if (dstRows === null) return offsets;
    const all = new Int32Array(numDst + 1);
    let at = 0;
    for (let i = 0; i < dstRows.length; i++) {
      const row = dstRows[i];
      all.fill(offsets[i], at, row + 1);
      at = row + 1;
    }
    all.fill(offsets[dstRows.length], at);
    return all;
  }

  /** Returns the destination row of each edge. */
  destinations(): Int32Array {
    if (this.#destinations === null) {
      const { offsets, dstRows } = this;
      const all = new Int32Array(this.numEdges);
      for (let i = 0; i + 1 < offsets.length; i++)
        all.fill(dstRows === null ? i : dstRows[i], offsets[i], offsets[i + 1]);
      this.#destinations = all;
    }
    return this.#destinations;
  }

  /** Returns the edges by source, sorted on first use. */
  out(): ShardOutEdges {
    if (this.#out === null) {
      const { numEdges, numSrc, indices } = this;
      const offsets = new Int32Array(numSrc + 1);
      const positions = new Int32Array(numEdges);
      kernels().groupByKey(indices, offsets, positions, numEdges, numSrc);
      const dst = new Int32Array(numEdges);
      kernels().gatherRows(this.destinations(), positions, dst, numEdges, 4);
      this.#out = { offsets, dst, positions };
    }
    return this.#out;
  }

  /** Returns, in the order by source, the position of each edge in the manager. */
  outPositions(): Int32Array {
    if (this.#outPositions === null) {
      this.#outPositions = new Int32Array(this.numEdges);
      kernels().gatherRows(this.edgePositions, this.out().positions, this.#outPositions, this.numEdges, 4);
    }
    return this.#outPositions;
  }
}

/** A range of the rows used here, owned by one worker. */
export interface SourceSegment {
  readonly owner: number;
  readonly start: number;
  readonly count: number;
}

/**
 * Returns one shard for each segment of sources; segments do not overlap and cover all. `usedIds` are the ids of rows,
 * `dstIds` those of destinations.
 */
export function splitIntoShards(
  whole: Adjacency,
  segments: readonly SourceSegment[],
  usedIds: Int32Array,
  dstIds: Int32Array,
): GraphShard[] {
  const { indices, numDst, numSrc, numEdges } = whole;
  const segmentOfRow = new Int32Array(numSrc);
  for (const [index, { start, count }] of segments.entries()) segmentOfRow.fill(index, start, start + count);
  const keys = new Int32Array(numEdges);
  kernels().gatherRows(segmentOfRow, indices, keys, numEdges, 4);
  const bounds = new Int32Array(segments.length + 1);
  const order = new Int32Array(numEdges);
  kernels().groupByKey(keys, bounds, order, numEdges, segments.length);
  const destinations = whole.destinations();
  return segments.map((segment, index) => {
    const { start, count } = segment;
    const edgePositions = order.slice(bounds[index], bounds[index + 1]);
    const sources = new Int32Array(edgePositions.length);
    const touched = new Int32Array(Math.min(edgePositions.length, numDst));
    const offsets = new Int32Array(touched.length + 1);
    let rows = 0;
    for (let i = 0; i < edgePositions.length; i++) {
      const row = destinations[edgePositions[i]];
      sources[i] = indices[edgePositions[i]] - start;
      if (i === 0 || row !== touched[rows - 1]) touched[rows++] = row;
      offsets[rows] = i + 1;
    }
    const dstRows = rows === numDst ? null : touched.slice(0, rows);
    const compact = { offsets: offsets.slice(0, rows + 1), indices: sources, dstRows, edgePositions };
    const ids = { src: () => usedIds.subarray(start, start + count), dst: () => dstIds };
    return new GraphShard(segment, index, numDst, compact, ids);
  });
}

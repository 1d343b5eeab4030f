/**
 * The edges from one worker's nodes (or some of them) to another's, compact: sources are rows of the list that travels
 * (`uniqueSrcNodes`), destinations the rows that have an edge here.
 *
 * In the worker's own shard the sources are all its rows, so that it needs no copy of them. Edges are by destination; `slots`
 * says where each is among all edges of the manager, and ascends.
 */

import type { Adjacency, ShardInfo } from '../../graph/index.js';
import { kernels } from '../../native/index.js';

/** Edges by source: `dst` are destination rows of the manager, `slots` places in the shard. */
export interface ShardOutEdges {
  readonly offsets: Int32Array;
  readonly dst: Int32Array;
  readonly slots: Int32Array;
}

export class GraphShard {
  /** The worker that owns the sources. */
  readonly owner: number;
  /** Where its sources begin among all rows used here. */
  readonly start: number;
  /** Its place in the list it was made for. */
  readonly index: number;
  readonly numSrc: number;
  /** Destinations of the manager, with or without edges here. */
  readonly numDst: number;
  /** Edges of touched destination i: offsets[i] … offsets[i+1]−1. */
  readonly offsets: Int32Array;
  /** Source rows. */
  readonly indices: Int32Array;
  /** The destinations that have an edge here, ascending; null when all have. */
  readonly dstRows: Int32Array | null;
  /** By edge of the shard, the slot in the manager. */
  readonly slots: Int32Array;
  readonly #srcIds: () => Int32Array;
  readonly #dstIds: () => Int32Array;
  #out: ShardOutEdges | null = null;
  #outSlots: Int32Array | null = null;
  #destinations: Int32Array | null = null;

  constructor(
    segment: SourceSegment,
    index: number,
    numDst: number,
    edges: { offsets: Int32Array; indices: Int32Array; dstRows: Int32Array | null; slots: Int32Array },
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
    this.slots = edges.slots;
    this.#srcIds = ids.src;
    this.#dstIds = ids.dst;
  }

  get numEdges(): number {
    return this.indices.length;
  }

  get numTouched(): number {
    return this.offsets.length - 1;
  }

  /** Global ids of the sources, ascending where they were numbered so. */
  get uniqueSrcNodes(): Int32Array {
    return this.#srcIds();
  }

  /** Global ids of the destinations with an edge here. */
  get uniqueTgtNodes(): Int32Array {
    const ids = this.#dstIds();
    return this.dstRows === null ? ids : this.dstRows.map((row) => ids[row]);
  }

  get shardInfo(): ShardInfo {
    const { owner, numSrc, slots, numDst } = this;
    const dstRows = this.dstRows ?? Int32Array.from({ length: numDst }, (_, row) => row);
    return { shardIdx: owner, numSrc, dstRows, slots };
  }

  /** Offsets by all destinations of the manager; made anew where some have no edges, because N of them would be as long as the whole graph. */
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

  /** The destination row of each edge. */
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

  /** The edges by source, sorted on first use. */
  out(): ShardOutEdges {
    if (this.#out === null) {
      const { numEdges, numSrc, indices } = this;
      const offsets = new Int32Array(numSrc + 1);
      const slots = new Int32Array(numEdges);
      kernels().groupByKey(indices, offsets, slots, numEdges, numSrc);
      const dst = new Int32Array(numEdges);
      kernels().gatherRows(this.destinations(), slots, dst, numEdges, 4);
      this.#out = { offsets, dst, slots };
    }
    return this.#out;
  }

  /** By edge in the order by source, the slot in the manager. */
  outSlots(): Int32Array {
    if (this.#outSlots === null) {
      this.#outSlots = new Int32Array(this.numEdges);
      kernels().gatherRows(this.slots, this.out().slots, this.#outSlots, this.numEdges, 4);
    }
    return this.#outSlots;
  }
}

/** Rows used here, of one worker. */
export interface SourceSegment {
  readonly owner: number;
  readonly start: number;
  readonly count: number;
}

/**
 * One shard for each segment of sources; segments do not overlap and cover all. `usedIds` are the ids behind rows, `dstIds` those
 * of destinations.
 */
export function cutShards(
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
    const slots = order.slice(bounds[index], bounds[index + 1]);
    const sources = new Int32Array(slots.length);
    const touched = new Int32Array(Math.min(slots.length, numDst));
    const offsets = new Int32Array(touched.length + 1);
    let rows = 0;
    for (let i = 0; i < slots.length; i++) {
      const row = destinations[slots[i]];
      sources[i] = indices[slots[i]] - start;
      if (i === 0 || row !== touched[rows - 1]) touched[rows++] = row;
      offsets[rows] = i + 1;
    }
    const dstRows = rows === numDst ? null : touched.slice(0, rows);
    const compact = { offsets: offsets.slice(0, rows + 1), indices: sources, dstRows, slots };
    const ids = { src: () => usedIds.subarray(start, start + count), dst: () => dstIds };
    return new GraphShard(segment, index, numDst, compact, ids);
  });
}

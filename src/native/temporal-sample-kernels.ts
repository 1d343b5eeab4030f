/**
 * The kernel that draws from a stream of events; part of the contract in `kernels.ts`, whose rules hold here too.
 *
 * Same results in C++ and TypeScript to the bit: integers, and f64 sums in the order of the events. Draw words of
 * destination (node, t) are those of the Philox blocks (node, cutoff(t), (tag + 65536·block) ^ key[2], step ^ key[3]), so
 * they depend on neither its place in a batch nor on threads.
 */
import type { RandomKey } from './types.js';

export interface TemporalSampleKernels {
  /**
   * One hop: for each of the numDst (nodes, times) events strictly before its time, oldest first, and the rows they lead to.
   *
   * Neighbour lists: slice of node v from starts[v], room for rows[starts[v] − 1] entries, event rows ascending; only rows
   * below `limit` count. cutoffs[i]: events before times[i] where known, −1 where not, −2 − r where it is at most r; known
   * for all destinations afterwards. Candidates: event time in [t − from, t − to). strategy: 0 the last `fanout`, 1 `fanout`
   * draws with replacement, 2 the same by `weights` (by event row; those of weight 0 are none). All candidates when they
   * are no more than `fanout`, or fanout is −1.
   *
   * Rows found are appended to nodes, times (of the event; with propTime of the destination) and cutoffs, equal ones once
   * with `unique`; these have room for numDst + capacity. Returns the number of rows, or −1 − (capacity needed).
   */
  sampleTemporalHop(
    starts: Int32Array,
    neighbors: Int32Array,
    rows: Int32Array,
    time: Float64Array,
    limit: number,
    weights: Float32Array | null,
    nodes: Int32Array,
    times: Float64Array,
    cutoffs: Int32Array,
    numDst: number,
    strategy: number,
    fanout: number,
    from: number,
    to: number,
    propTime: boolean,
    unique: boolean,
    key: RandomKey,
    step: number,
    tag: number,
    indptr: Int32Array,
    sources: Int32Array,
    eventRows: Int32Array,
    spans: Float32Array,
    capacity: number,
  ): number;
}

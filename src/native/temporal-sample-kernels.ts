/**
 * The kernel that draws from a stream of events; part of the contract in `kernels.ts`, whose rules hold here too.
 *
 * Same results in C++ and TypeScript to the bit: integers, and f64 sums in the order of the events. Draw words of
 * destination (node, t) are those of the Philox blocks (node, cutoff(t), (tag + 65536·block) ^ key[2], step ^ key[3]), so
 * they depend on neither its row in a batch nor on threads.
 */
import type { RandomKey } from './types.js';

export interface SampleTemporalHopArguments {
  /** Where the neighbour list of each node starts; rows[starts[v] − 1] is the number of entries it has room for. */
  readonly starts: Int32Array;
  /** Neighbour of each list entry. */
  readonly neighbors: Int32Array;
  /** Event row of each list entry, ascending within a list. */
  readonly rows: Int32Array;
  /** Time of each event row. */
  readonly time: Float64Array;
  /** Only event rows below it are visible. */
  readonly limit: number;
  /** Weight of each event row, for strategy 2; null otherwise. */
  readonly weights: Float32Array | null;
  /** Nodes of the destinations; rows found are appended. Has room for numDst + capacity, like times and cutoffs. */
  readonly nodes: Int32Array;
  /** Times of the destinations; extended like nodes. */
  readonly times: Float64Array;
  /**
   * Number of events before times[i]: known, −1 if unknown, −2 − r if it is at most r. Known for all destinations afterwards;
   * extended like nodes.
   */
  readonly cutoffs: Int32Array;
  /** Number of destinations. */
  readonly numDst: number;
  /** 0 for the last `fanout` events, 1 for `fanout` draws with replacement, 2 for weighted draws with replacement. */
  readonly strategy: number;
  /** Events per destination; −1 for all. */
  readonly fanout: number;
  /** Candidates have an event time in [t − from, t − to). */
  readonly from: number;
  readonly to: number;
  /** Whether rows take the time of their destination instead of the event's. */
  readonly propTime: boolean;
  /** Whether equal (node, time) pairs share a row. */
  readonly unique: boolean;
  readonly key: RandomKey;
  readonly step: number;
  readonly tag: number;
  /** Boundaries of the destinations' edges, written. */
  readonly indptr: Int32Array;
  /** Row of each edge's neighbour, written. */
  readonly sources: Int32Array;
  /** Event row of each edge, written. */
  readonly eventRows: Int32Array;
  /** Time between destination and event of each edge, written. */
  readonly spans: Float32Array;
  /** Edges that the results have room for. */
  readonly capacity: number;
}

export interface TemporalSampleKernels {
  /**
   * One hop: for each of the numDst (nodes, times), events strictly before its time, oldest first, and the rows they lead to.
   * All candidates are taken when they are no more than `fanout`; with weights, those of weight 0 are not candidates. Returns
   * the number of rows, or −1 − (capacity needed).
   */
  sampleTemporalHop(args: SampleTemporalHopArguments): number;
}

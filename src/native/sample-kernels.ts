/**
 * The kernels that draw from a graph; part of the contract in `kernels.ts`, whose rules hold here too.
 *
 * Integers only, the same in C++ and TypeScript: draw d of node v is word d & 3 of the Philox block
 * (v, d >> 2, tag ^ key[2], step ^ key[3]), so what a node draws depends on neither its row in a batch nor on threads.
 */
import type { RandomKey } from './types.js';

/** The key of the random words of a call. */
interface DrawKey {
  readonly key: RandomKey;
  /** Step of the run, mixed into the key. */
  readonly step: number;
}

interface TaggedDrawKey extends DrawKey {
  /** Distinguishes draws of the same step; hops count upwards from it. */
  readonly tag: number;
}

/** A graph grouped by destination. */
interface GraphRows {
  /** Row boundaries of the nodes. */
  readonly offsets: Int32Array;
  /** Sources of the edges. */
  readonly indices: Int32Array;
}

/** How a node picks among its neighbours, and where the picked edges go. */
interface NeighborDraws extends TaggedDrawKey {
  /** Running integer sums of the edge weights within each row; null for equal weights. */
  readonly weights: Uint32Array | null;
  /** Whether an edge can be drawn several times. */
  readonly replace: boolean;
  /** Boundaries of the drawn edges by destination row, written. */
  readonly localOffsets: Int32Array;
  /** Index in the graph of each drawn edge, ascending within a destination, written. */
  readonly positions: Int32Array;
  /** Edges that the results have room for. */
  readonly capacity: number;
}

export interface SampleNeighborsArguments extends GraphRows, NeighborDraws {
  readonly seeds: Int32Array;
  readonly numSeeds: number;
  /** Edges per node in each hop; −1 for all. */
  readonly fanouts: Int32Array;
  /** Per hop, edges whose word is below the number are left out; null for none. */
  readonly drops: Uint32Array | null;
  readonly hops: number;
  /** −1 for all nodes, before the call and after it. */
  readonly map: Int32Array;
  /** Row of each seed, written. */
  readonly seedRows: Int32Array;
  /** Node of each row, written; has room for numSeeds + capacity. */
  readonly nodeIds: Int32Array;
  /** Seed of each row, written, with separate rows for every seed; null to share rows. */
  readonly trees: Int32Array | null;
  /** Source row of each drawn edge, written. */
  readonly localIndices: Int32Array;
  /** hops + 1 node counts, then hops edge counts, written. */
  readonly perHop: Int32Array;
}

/** One hop over one relation. */
interface HopDraws extends NeighborDraws {
  /** Number of nodes to draw for. */
  readonly count: number;
  /** Edges per node; −1 for all. */
  readonly fanout: number;
  /** Edges whose word is below it are left out. */
  readonly drop: number;
}

export interface SampleHopArguments extends GraphRows, HopDraws {
  /** Nodes to draw for. */
  readonly frontier: Int32Array;
  /** Row of each node, −1 for those without one; extended by the call and reset by the caller. */
  readonly map: Int32Array;
  /** Nodes of the rows: holds numNodes and has room for `capacity` more. */
  readonly nodeIds: Int32Array;
  readonly numNodes: number;
  /** Source row of each drawn edge, written. */
  readonly localIndices: Int32Array;
}

export interface DrawNeighborsArguments extends HopDraws {
  /** Row boundaries of nodes firstNode, firstNode + 1, …. */
  readonly offsets: Int32Array;
  /** Nodes to draw for. */
  readonly nodes: Int32Array;
  /** Id of the node whose row is the first. */
  readonly firstNode: number;
}

export interface RandomWalkArguments extends GraphRows, DrawKey {
  /** Rows of `sortRows` for walks of second order; null for first order. */
  readonly sorted: Int32Array | null;
  readonly starts: Int32Array;
  /** Number of starts. */
  readonly count: number;
  /** Walks per start. */
  readonly walks: number;
  /** Moves per walk. */
  readonly length: number;
  /** A move returns to the start when word 0 is below it. */
  readonly restart: number;
  /** Second order: the largest word 2 that accepts the previous node. */
  readonly back: number;
  /** Second order: the largest word 2 that accepts a neighbour of the previous node. */
  readonly near: number;
  /** Second order: the largest word 2 that accepts any other node. */
  readonly far: number;
  /** [count, walks, length + 1], written; −1 after a node without neighbours. */
  readonly out: Int32Array;
}

export interface SampleNegativesArguments extends TaggedDrawKey {
  /** Row boundaries of `sorted`; null without it. */
  readonly offsets: Int32Array | null;
  /** Rows of `sortRows`: neighbours are not drawn; null to draw any node. */
  readonly sorted: Int32Array | null;
  /** Nodes to draw from where word 0 is below `byDegree`; null for none. */
  readonly population: Int32Array | null;
  readonly populationSize: number;
  readonly nodes: Int32Array;
  /** Number of `nodes`. */
  readonly count: number;
  /** Draws per node. */
  readonly perNode: number;
  readonly byDegree: number;
  /** Nodes of the graph. */
  readonly numNodes: number;
  /** [count, perNode], written. */
  readonly out: Int32Array;
}

export interface MetisPartitionWeightedArguments extends GraphRows {
  /** Weight per edge, equal in both directions. */
  readonly edgeWeights: Int32Array;
  /** `constraints` weights per node, each balanced. */
  readonly nodeWeights: Int32Array;
  readonly constraints: number;
  /** Number of nodes. */
  readonly n: number;
  /** Number of partitions. */
  readonly parts: number;
  readonly seed: number;
  /** Partition of each node, written. */
  readonly out: Int32Array;
}

export interface SampleKernels {
  /**
   * Neighbours over several hops, relabelled by first appearance with the seeds first (equal seeds share a row). Each
   * hop draws for the nodes that the one before found. Returns 0, or a lower bound of the capacity needed.
   */
  sampleNeighbors(args: SampleNeighborsArguments): number;
  /**
   * One hop over one relation: draws for `frontier`, and appends sources without a row in `map` to nodeIds. Returns the new
   * number of nodes, or −1 − (capacity needed) with nothing changed.
   */
  sampleHop(args: SampleHopArguments): number;
  /**
   * The edges that each of `nodes` takes, as in `sampleHop`, without reading the neighbours. Draws follow from the nodes'
   * ids, so a partition of a graph draws what the whole graph would. Returns the number of edges, or −1 − (capacity needed)
   * with nothing changed.
   */
  drawNeighbors(args: DrawNeighborsArguments): number;
  /**
   * `walks` walks of `length` moves from each start. With `sorted` the walk is of second order: a candidate is accepted when
   * word 2 is at most `back`, `near` or `far`. Counter: (start, move << 8 | attempt, walk ^ key[2], step ^ key[3]); word 1
   * picks; attempt 255 is always accepted.
   */
  randomWalk(args: RandomWalkArguments): void;
  /**
   * Random nodes for each of `nodes`. With `sorted` rows, neighbours of nodes[i] are drawn again, 16 times, then the next
   * node upwards that is not a neighbour is taken; −1 when all are. Counter: (i, j << 8 | attempt, tag ^ key[2], step ^
   * key[3]).
   */
  sampleNegatives(args: SampleNegativesArguments): void;
  /** Every row of indices in ascending order. */
  sortRows(offsets: Int32Array, indices: Int32Array, out: Int32Array, rows: number): void;
  /**
   * The partition of each node: METIS k-way over a symmetric graph without self loops. Returns the number of edges between
   * partitions, or −1 where METIS is not available (the twin never has it).
   */
  metisPartition(
    offsets: Int32Array,
    indices: Int32Array,
    n: number,
    parts: number,
    seed: number,
    out: Int32Array,
  ): number;
  /** metisPartition with weights of edges and nodes. */
  metisPartitionWeighted(args: MetisPartitionWeightedArguments): number;
}

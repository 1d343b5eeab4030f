/**
 * The kernels that draw from a graph; part of the contract in `kernels.ts`, whose rules hold here too.
 *
 * Integers only, the same in C++ and TypeScript: draw d of node v is word d & 3 of the Philox block
 * (v, d >> 2, tag ^ key[2], step ^ key[3]), so what a node draws depends on neither its place in a batch nor on threads.
 */
import type { RandomKey } from './types.js';

export interface SampleKernels {
  /**
   * Neighbours over several hops, relabelled by first appearance with the seeds first (equal seeds share a row). Each
   * hop draws for the nodes the one before found. Edges: by destination row in `localOffsets`, source row, slot in the
   * graph, ascending within a destination. `weights`: running integer sums within each row. `drops`: per hop, edges
   * whose word is below stay out. `map`: -1 for all nodes, and again afterwards. `trees` (not null): every seed has rows of
   * its own. perHop: hops + 1 node counts, then hops edge counts. `capacity`: edges that fit; nodeIds holds numSeeds more,
   * localOffsets numSeeds + 1. Returns 0, or a lower bound of the capacity needed.
   */
  sampleNeighbors(
    offsets: Int32Array,
    indices: Int32Array,
    weights: Uint32Array | null,
    seeds: Int32Array,
    numSeeds: number,
    fanouts: Int32Array,
    drops: Uint32Array | null,
    hops: number,
    replace: boolean,
    key: RandomKey,
    step: number,
    tag: number,
    map: Int32Array,
    seedRows: Int32Array,
    nodeIds: Int32Array,
    trees: Int32Array | null,
    localOffsets: Int32Array,
    localIndices: Int32Array,
    slots: Int32Array,
    perHop: Int32Array,
    capacity: number,
  ): number;
  /**
   * One hop over one relation: draws for `frontier`, and appends the sources that `map` does not know to nodeIds, which
   * holds numNodes rows already and has room for `capacity` more. The caller resets `map`. Returns the new number of
   * nodes, or −1 − (capacity needed) with nothing changed.
   */
  sampleHop(
    offsets: Int32Array,
    indices: Int32Array,
    weights: Uint32Array | null,
    frontier: Int32Array,
    count: number,
    fanout: number,
    drop: number,
    replace: boolean,
    key: RandomKey,
    step: number,
    tag: number,
    map: Int32Array,
    nodeIds: Int32Array,
    numNodes: number,
    localOffsets: Int32Array,
    localIndices: Int32Array,
    slots: Int32Array,
    capacity: number,
  ): number;
  /**
   * The slots that each of `nodes` takes, as in `sampleHop`, without looking at the neighbours. For a part of a graph: the
   * rows are those of nodes firstNode, firstNode + 1, …, and draws follow from the nodes' ids, so a part draws what the
   * whole graph would. Returns the number of edges, or −1 − (capacity needed) with nothing changed.
   */
  drawNeighbors(
    offsets: Int32Array,
    weights: Uint32Array | null,
    nodes: Int32Array,
    count: number,
    firstNode: number,
    fanout: number,
    drop: number,
    replace: boolean,
    key: RandomKey,
    step: number,
    tag: number,
    localOffsets: Int32Array,
    slots: Int32Array,
    capacity: number,
  ): number;
  /**
   * `walks` walks of `length` moves from each start: out [count, walks, length + 1], −1 once a node has no neighbours.
   * A move returns to the start when word 0 is below `restart`. With `sorted` (rows of `sortRows`) the walk is of second
   * order: a candidate is kept when word 2 is at most `back` (the node before), `near` (its neighbour) or `far`.
   * Counter: (start, move << 8 | attempt, walk ^ key[2], step ^ key[3]); word 1 picks; attempt 255 is kept as it is.
   */
  randomWalk(
    offsets: Int32Array,
    indices: Int32Array,
    sorted: Int32Array | null,
    starts: Int32Array,
    count: number,
    walks: number,
    length: number,
    restart: number,
    back: number,
    near: number,
    far: number,
    key: RandomKey,
    step: number,
    out: Int32Array,
  ): void;
  /**
   * Random nodes for each of `nodes`: out [count, perNode]. From `population` when word 0 is below `byDegree`, otherwise
   * from all numNodes. With `sorted` rows, neighbours of nodes[i] are drawn again, 16 times, then the next node upwards
   * that is none is taken; −1 when all are. Counter: (i, j << 8 | attempt, tag ^ key[2], step ^ key[3]).
   */
  sampleNegatives(
    offsets: Int32Array | null,
    sorted: Int32Array | null,
    population: Int32Array | null,
    populationSize: number,
    nodes: Int32Array,
    count: number,
    perNode: number,
    byDegree: number,
    numNodes: number,
    key: RandomKey,
    step: number,
    tag: number,
    out: Int32Array,
  ): void;
  /** Every row of indices in ascending order. */
  sortRows(offsets: Int32Array, indices: Int32Array, out: Int32Array, rows: number): void;
  /**
   * The part of each node: METIS k-way over a symmetric graph without self loops. Returns the number of edges between
   * parts, or −1 where METIS is not available (the twin never has it).
   */
  metisPartition(
    offsets: Int32Array,
    indices: Int32Array,
    n: number,
    parts: number,
    seed: number,
    out: Int32Array,
  ): number;
  /** The same with a weight per edge (equal in both directions) and `constraints` weights per node, each balanced. */
  metisPartitionWeighted(
    offsets: Int32Array,
    indices: Int32Array,
    edgeWeights: Int32Array,
    nodeWeights: Int32Array,
    constraints: number,
    n: number,
    parts: number,
    seed: number,
    out: Int32Array,
  ): number;
}

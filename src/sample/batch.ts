/**
 * A sampled neighbourhood: nodes with the seeds first, edges by destination, and the blocks that layers run on.
 *
 * Nodes are in the order of hops, and only nodes of the last hop have no in-edges. So the blocks of all layers are
 * prefixes of one structure: the block of the last layer holds the edges of the seeds, the one before those of the
 * seeds and the first hop, and so on. A node found in an early hop keeps the neighbours it drew then in all layers.
 */

import type { BlockParent } from '../graph/block.js';
import { Block } from '../graph/index.js';

/** One layer's edges as PyTorch Geometric writes them: `row` sources, `col` destinations, size = [sources, destinations]. */
export interface Adj {
  readonly row: Int32Array;
  readonly col: Int32Array;
  readonly eId: Int32Array;
  readonly size: readonly [number, number];
}

export interface BatchArrays {
  readonly nodeIds: Int32Array;
  readonly seedRows: Int32Array;
  readonly trees: Int32Array | null;
  /** By destination: all nodes but those of the last hop. */
  readonly offsets: Int32Array;
  /** Source rows. */
  readonly indices: Int32Array;
  /** Positions of the edges in the sampling graph. */
  readonly slots: Int32Array;
  readonly nodesPerHop: readonly number[];
  readonly edgesPerHop: readonly number[];
}

/** Looks up the edges at the positions of a batch. */
export interface EdgeLookup {
  edgeIds(slots: Int32Array): Int32Array;
  /** Ids that distinguish edges if one may be followed in both directions; by default their edge ids. */
  rowIds?(slots: Int32Array): Int32Array;
  weightsOf(slots: Int32Array): Float32Array | null;
  readonly graph: BlockParent;
}

export class Batch {
  /** Global ids of the rows, seeds first, then by hop in order of appearance. */
  readonly nodeIds: Int32Array;
  /** The row of each given seed; equal seeds share a row (not in disjoint batches). */
  readonly seedRows: Int32Array;
  /** In disjoint batches, the seed that each row belongs to; otherwise null. */
  readonly trees: Int32Array | null;
  /** Number of rows that the seeds and each hop added. */
  readonly nodesPerHop: readonly number[];
  readonly edgesPerHop: readonly number[];
  readonly #arrays: BatchArrays;
  readonly #graph: EdgeLookup;
  #blocks: readonly Block[] | null = null;
  #edgeIds: Int32Array | null = null;

  /** @internal Created by samplers. */
  constructor(arrays: BatchArrays, graph: EdgeLookup) {
    this.nodeIds = arrays.nodeIds;
    this.seedRows = arrays.seedRows;
    this.trees = arrays.trees;
    this.nodesPerHop = arrays.nodesPerHop;
    this.edgesPerHop = arrays.edgesPerHop;
    this.#arrays = arrays;
    this.#graph = graph;
  }

  /** Number of seed rows, which the last block computes. Fewer than the given seeds if some were equal. */
  get numSeeds(): number {
    return this.nodesPerHop[0];
  }

  get numNodes(): number {
    return this.nodeIds.length;
  }

  get numEdges(): number {
    return this.#arrays.indices.length;
  }

  /** Number of hops, and so of layers. */
  get numHops(): number {
    return this.edgesPerHop.length;
  }

  /** The edge of the graph for each sampled edge, by destination row. */
  get edgeIds(): Int32Array {
    this.#edgeIds ??= this.#graph.edgeIds(this.#arrays.slots);
    return this.#edgeIds;
  }

  /** One block per layer, the outermost first: views of the same arrays. */
  get blocks(): readonly Block[] {
    this.#blocks ??= this.#makeBlocks();
    return this.#blocks;
  }

  #makeBlocks(): Block[] {
    const { offsets, indices, slots } = this.#arrays;
    const weights = this.#graph.weightsOf(slots);
    const blocks: Block[] = [];
    for (const { destinations, sources, edges } of this.#layers()) {
      blocks.push(
        Block.trusted(offsets.subarray(0, destinations + 1), indices.subarray(0, edges), sources, {
          srcIds: this.nodeIds.subarray(0, sources),
          parentEdgeIds: () => this.edgeIds.subarray(0, edges),
          rowIds: () => this.#graph.rowIds?.(slots.subarray(0, edges)) ?? null,
          weights: weights === null ? null : weights.subarray(0, edges),
          parent: this.#graph.graph,
        }),
      );
    }
    return blocks;
  }

  /** Returns the edges of each layer as lists, the outermost layer first. */
  adjs(): Adj[] {
    const { offsets, indices } = this.#arrays;
    const columns = new Int32Array(indices.length);
    for (let v = 0; v + 1 < offsets.length; v++) columns.fill(v, offsets[v], offsets[v + 1]);
    return this.#layers().map(({ destinations, sources, edges }) => ({
      row: indices.slice(0, edges),
      col: columns.slice(0, edges),
      eId: this.edgeIds.slice(0, edges),
      size: [sources, destinations] as const,
    }));
  }

  /**
   * Returns a batch of the same nodes with only those edges that `keep` accepts; it is called with indices into
   * `edgeIds`.
   */
  filterEdges(keep: (edge: number) => boolean): Batch {
    const { offsets, indices, slots } = this.#arrays;
    const newOffsets = new Int32Array(offsets.length);
    const found = new Int32Array(indices.length);
    let n = 0;
    for (let v = 0; v + 1 < offsets.length; v++) {
      for (let e = offsets[v]; e < offsets[v + 1]; e++) if (keep(e)) found[n++] = e;
      newOffsets[v + 1] = n;
    }
    if (n === indices.length) return this;
    const kept = found.subarray(0, n);
    let row = 0;
    const edgesPerHop = this.edgesPerHop.map((_, hop) => {
      const before = newOffsets[row];
      row += this.nodesPerHop[hop];
      return newOffsets[row] - before;
    });
    const arrays: BatchArrays = {
      ...this.#arrays,
      offsets: newOffsets,
      indices: kept.map((e) => indices[e]),
      slots: kept.map((e) => slots[e]),
      edgesPerHop,
    };
    return new Batch(arrays, this.#graph);
  }

  /** Returns the sizes of each layer, the outermost first. */
  #layers(): { destinations: number; sources: number; edges: number }[] {
    const layers: { destinations: number; sources: number; edges: number }[] = [];
    let destinations = 0;
    let edges = 0;
    for (const [hop, count] of this.edgesPerHop.entries()) {
      destinations += this.nodesPerHop[hop];
      edges += count;
      layers.unshift({ destinations, sources: destinations + this.nodesPerHop[hop + 1], edges });
    }
    return layers;
  }
}

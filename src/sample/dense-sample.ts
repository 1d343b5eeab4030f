/**
 * A sample in DENSE, the delta encoding of MariusGNN (Waleffe, Mohoney, Rekatsinas, Venkataraman, EuroSys 2023): nodes
 * from the farthest hop to the targets, one-hop samples reused by all layers, and a structure that shrinks from layer to
 * layer by dropping a prefix.
 *
 * nodeIds = [Δ₀ | Δ₁ | … | Δₖ = targets], each Δ but the targets in ascending order; hopOffsets are the starts of the
 * Δ and the end. Edges exist for Δ₁ … Δₖ. A layer computes the rows from `getLayerOffset()` on; all their
 * neighbours are rows too.
 */

import type { BlockParent } from '../graph/block.js';
import { Block } from '../graph/index.js';
import { kernels } from '../native/index.js';
import { slice, type Tensor } from '../tensor/index.js';
import { StateError } from '../util/errors.js';
import type { HopEdges } from './hop-runner.js';
import type { LayerGraph } from './layer-graph.js';
import type { EdgeList } from './one-hop-sampler.js';

/** The edges that were drawn in one direction, as layers read them: a whole graph, or only those of the sample. */
export interface DrawnEdges {
  /** Number of edges of the whole graph. */
  readonly numEdges: number;
  neighborsOf(slots: Int32Array): Int32Array;
  /** Ids in the whole graph. */
  edgeIds(slots: Int32Array): Int32Array;
  /** Message weights; null if the graph has none. */
  weightsOf(slots: Int32Array): Float32Array | null;
}

/** Sampled edges in one direction, by the node that drew. */
export interface DenseSide {
  readonly graph: DrawnEdges;
  /** `indices` are rows in order of appearance. */
  readonly edges: HopEdges;
}

export interface DenseParts {
  readonly nodeIds: Int32Array;
  readonly hopOffsets: Int32Array;
  /** The final row of each row in order of appearance. */
  readonly position: Int32Array;
  readonly incoming: DenseSide | null;
  readonly outgoing: DenseSide | null;
  readonly targetRows: Int32Array;
  /** Returns the degrees in the whole graph. */
  readonly parent: BlockParent;
  readonly relations?: DrawnRelations | null;
}

/** The number of relations, and those of drawn edges. */
export interface DrawnRelations {
  readonly count: number;
  of(edges: DrawnEdges, slots: Int32Array): Int32Array;
}

/** Relations by edge id, and their number. */
export interface EdgeRelations {
  readonly ids: Int32Array;
  readonly count: number;
}

/** Whether to keep an edge, given its id in the graph and the global ids of its endpoints. */
export type KeepEdge = (edgeId: number, src: number, dst: number) => boolean;

/** The remaining edges of one direction: destinations from `row`, edges from `edge`. */
interface Side {
  readonly graph: DrawnEdges;
  readonly offsets: Int32Array;
  readonly slots: Int32Array;
  readonly appearance: Int32Array;
  /** Neighbour rows; null before `performMap`. */
  mapping: Int32Array | null;
}

export class DenseSample implements LayerGraph {
  /** Global ids of the rows that are left. */
  nodeIds: Int32Array;
  /** Where each hop starts, the farthest first, and the number of rows. */
  hopOffsets: Int32Array;
  /** The row of each given target among the rows of the targets; equal targets share one. */
  readonly targetRows: Int32Array;
  readonly #position: Int32Array;
  readonly #parent: BlockParent;
  readonly #relations: DrawnRelations | null;
  #in: Side | null;
  #out: Side | null;
  #block: Block | null = null;

  /** @internal Made by LayeredNeighborSampler. */
  constructor(parts: DenseParts) {
    this.nodeIds = parts.nodeIds;
    this.hopOffsets = parts.hopOffsets;
    this.targetRows = parts.targetRows;
    this.#position = parts.position;
    this.#parent = parts.parent;
    this.#relations = parts.relations ?? null;
    this.#in = parts.incoming === null ? null : makeSide(parts.incoming);
    this.#out = parts.outgoing === null ? null : makeSide(parts.outgoing);
  }

  /** Layers that are still to run. */
  get numLayers(): number {
    return this.hopOffsets.length - 2;
  }

  get numRows(): number {
    return this.nodeIds.length;
  }

  get numTargets(): number {
    return this.nodeIds.length - this.hopOffsets[this.hopOffsets.length - 2];
  }

  /** First row that the current layer computes. */
  getLayerOffset(): number {
    return this.hopOffsets[1];
  }

  /** Rows of farther hops come first and drop out. */
  computedRows(x: Tensor): Tensor {
    const count = this.nodeIds.length - this.getLayerOffset();
    return x.shape[0] === count ? x : slice(x, x.shape[0] - count);
  }

  /** Returns the offset of the first edge of each computed row. */
  getNeighborOffsets(incoming = true): Int32Array {
    const { offsets } = this.#side(incoming);
    return offsets.subarray(0, offsets.length - 1);
  }

  getNumNeighbors(incoming = true): Int32Array {
    const { offsets } = this.#side(incoming);
    return Int32Array.from({ length: offsets.length - 1 }, (_, i) => offsets[i + 1] - offsets[i]);
  }

  /** Returns the neighbour of each edge: its row after `performMap`, or its global id. */
  getNeighborIDs(incoming = true, global = false): Int32Array {
    const side = this.#side(incoming);
    if (!global) return mapped(side);
    return side.graph.neighborsOf(side.slots);
  }

  /** Returns sampled edges as global (source, destination); outgoing ones leave the node that drew them. */
  getEdges(incoming = true): EdgeList {
    const neighbors = this.getNeighborIDs(incoming, true);
    const nodes = new Int32Array(neighbors.length);
    const { offsets } = this.#side(incoming);
    const first = this.getLayerOffset();
    for (let i = 0; i + 1 < offsets.length; i++)
      nodes.fill(this.nodeIds[first + i], offsets[i], offsets[i + 1]);
    const relations = this.getRelationIDs(incoming);
    return incoming ? { src: neighbors, dst: nodes, relations } : { src: nodes, dst: neighbors, relations };
  }

  /** Returns the relation of each sampled edge; null in a graph without relations. */
  getRelationIDs(incoming = true): Int32Array | null {
    if (this.#relations === null) return null;
    const { graph, slots } = this.#side(incoming);
    return this.#relations.of(graph, slots);
  }

  /**
   * Returns the relations of the current block's edges in its order; edges followed against their direction have r +
   * count.
   */
  blockRelations(): Int32Array | null {
    const relations = this.#relations;
    if (relations === null) return null;
    const { side, edge } = combine(this.#sides()).sources;
    const ofSide = this.#sides().map((given) => ({
      ids: this.getRelationIDs(given === this.#in) as Int32Array,
      shift: given === this.#in ? 0 : relations.count,
    }));
    return Int32Array.from(edge, (e, i) => ofSide[side[i]].ids[e] + ofSide[side[i]].shift);
  }

  /** Removes edges for which `keep` is false, to hide targets from the model. Costs as much as the sample has edges. */
  filterEdges(keep: KeepEdge): this {
    const nodes = this.nodeIds.subarray(this.getLayerOffset());
    if (this.#in !== null) this.#in = keepEdges(this.#in, nodes, keep);
    if (this.#out !== null)
      this.#out = keepEdges(this.#out, nodes, (id, neighbor, node) => keep(id, node, neighbor));
    this.#block = null;
    return this;
  }

  /** Returns the ids, in the graph, of the sampled edges. */
  getEdgeIDs(incoming = true): Int32Array {
    const side = this.#side(incoming);
    return side.graph.edgeIds(side.slots);
  }

  /** Returns the neighbour rows of each computed row, its incoming edges first, then its outgoing ones. */
  getCombinedNeighborIDs(): Int32Array {
    return this.block().adjacency.indices;
  }

  /** Finds the row of every neighbour. Must be called once before layers run. */
  performMap(): this {
    for (const side of [this.#in, this.#out]) {
      if (side === null || side.mapping !== null) continue;
      side.mapping = new Int32Array(side.appearance.length);
      kernels().gatherRows(this.#position, side.appearance, side.mapping, side.mapping.length, 4);
    }
    return this;
  }

  /** Drops the farthest nodes and the edges of the hop that has been computed for the last time. */
  prepareForNextLayer(): this {
    if (this.numLayers <= 1)
      throw new StateError('DenseSample.prepareForNextLayer: expected a layer after this one, got the last.');
    const dropped = this.hopOffsets[1];
    const finished = this.hopOffsets[2] - this.hopOffsets[1];
    this.nodeIds = this.nodeIds.subarray(dropped);
    this.hopOffsets = this.hopOffsets.subarray(1).map((start) => start - dropped);
    this.#in = this.#in === null ? null : shrink(this.#in, finished, dropped);
    this.#out = this.#out === null ? null : shrink(this.#out, finished, dropped);
    this.#block = null;
    return this;
  }

  /** Returns the block of the current layer: sources are all rows, destinations those from the layer offset on. */
  block(): Block {
    this.#block ??= this.#makeBlock();
    return this.#block;
  }

  /** Returns the blocks of all remaining layers, the first to run first. Leaves this graph at its last layer. */
  takeBlocks(): Block[] {
    this.performMap();
    const blocks: Block[] = [];
    for (let left = this.numLayers; left > 0; left--) {
      blocks.push(this.block());
      if (left > 1) this.prepareForNextLayer();
    }
    return blocks;
  }

  #makeBlock(): Block {
    const sides = this.#sides();
    const { offsets, indices, sources } = combine(sides);
    const gather = <A extends Int32Array | Float32Array>(parts: readonly A[], out: A): A => {
      for (let e = 0; e < out.length; e++) out[e] = parts[sources.side[e]][sources.edge[e]];
      return out;
    };
    const weights = sides.map((side) => side.graph.weightsOf(side.slots)).filter((w) => w !== null);
    return Block.trusted(offsets, indices, this.nodeIds.length, {
      dstOffset: this.getLayerOffset(),
      srcIds: this.nodeIds,
      parentEdgeIds: () =>
        gather(
          sides.map((side) => side.graph.edgeIds(side.slots)),
          new Int32Array(indices.length),
        ),
      rowIds: () => gather(sides.map(rowIdsOf), new Int32Array(indices.length)),
      weights: weights.length === 0 ? null : gather(weights, new Float32Array(indices.length)),
      parent: this.#parent,
    });
  }

  #sides(): Side[] {
    return [this.#in, this.#out].filter((side) => side !== null);
  }

  #side(incoming: boolean): Side {
    const side = incoming ? this.#in : this.#out;
    if (side === null) {
      const which = incoming ? 'incoming' : 'outgoing';
      throw new StateError(`DenseSample: expected a sample of ${which} edges, got one without them.`);
    }
    return side;
  }
}

function makeSide({ graph, edges }: DenseSide): Side {
  return { graph, offsets: edges.offsets, slots: edges.slots, appearance: edges.indices, mapping: null };
}

/** Row ids: edges followed against their direction come after all others if both directions are followed. */
function rowIdsOf({ graph, slots }: Side, place: number): Int32Array {
  const ids = graph.edgeIds(slots);
  return place === 0 ? ids : ids.map((id) => id + graph.numEdges);
}

function mapped(side: Side): Int32Array {
  if (side.mapping === null)
    throw new StateError('DenseSample: expected performMap() before rows of neighbours are asked for.');
  return side.mapping;
}

function shrink(side: Side, finished: number, dropped: number): Side {
  const from = side.offsets[finished];
  return {
    graph: side.graph,
    offsets: side.offsets.subarray(finished).map((offset) => offset - from),
    slots: side.slots.subarray(from),
    appearance: side.appearance.subarray(from),
    mapping: mapped(side)
      .subarray(from)
      .map((row) => row - dropped),
  };
}

/** Filters edges. `nodes` are those that drew, in the order of the offsets. `keep` receives their neighbour first. */
function keepEdges(side: Side, nodes: Int32Array, keep: KeepEdge): Side {
  const ids = side.graph.edgeIds(side.slots);
  const neighbors = side.graph.neighborsOf(side.slots);
  const kept: number[] = [];
  const offsets = new Int32Array(side.offsets.length);
  for (let v = 0; v + 1 < offsets.length; v++) {
    for (let e = side.offsets[v]; e < side.offsets[v + 1]; e++)
      if (keep(ids[e], neighbors[e], nodes[v])) kept.push(e);
    offsets[v + 1] = kept.length;
  }
  if (kept.length === ids.length) return side;
  const pick = (values: Int32Array) => Int32Array.from(kept, (e) => values[e]);
  const { graph, slots, appearance, mapping } = side;
  return {
    graph,
    offsets,
    slots: pick(slots),
    appearance: pick(appearance),
    mapping: mapping === null ? null : pick(mapping),
  };
}

/** Joins the edges of all directions by destination, with the direction of each. */
function combine(sides: readonly Side[]): {
  offsets: Int32Array;
  indices: Int32Array;
  sources: { side: Uint8Array; edge: Int32Array };
} {
  const edges = sides.reduce((sum, side) => sum + side.slots.length, 0);
  const destinations = sides[0].offsets.length - 1;
  const offsets = new Int32Array(destinations + 1);
  const indices = new Int32Array(edges);
  const sources = { side: new Uint8Array(edges), edge: new Int32Array(edges) };
  let n = 0;
  for (let v = 0; v < destinations; v++) {
    for (const [s, side] of sides.entries()) {
      const mapping = mapped(side);
      for (let e = side.offsets[v]; e < side.offsets[v + 1]; e++) {
        sources.side[n] = s;
        sources.edge[n] = e;
        indices[n++] = mapping[e];
      }
    }
    offsets[v + 1] = n;
  }
  return { offsets, indices, sources };
}

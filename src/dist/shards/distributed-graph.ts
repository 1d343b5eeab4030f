/**
 * A worker's partition of a distributed graph: its own nodes, all edges into them, and a link to the rows of sources
 * that other workers own. Operations on edges and destinations are those of one machine; operations on rows of sources
 * are left to `GraphShardManager` (shard by shard) and `DistributedBlock` (one shot).
 *
 * `adjacency` has the rows used here as sources: own rows first, then those of other workers. Source tensors that
 * callers pass and receive have own rows only. Edges keep the order of their global ids, so edge positions are as on
 * one machine.
 */

import { makeFrame } from '../../graph/frame.js';
import { Adjacency, type Frame, LocalGraph } from '../../graph/index.js';
import { selectDegrees } from '../../graph/local-graph.js';
import type { FloatArray } from '../../native/index.js';
import type { Ids, Tensor } from '../../tensor/index.js';
import { concatInt32 } from '../../util/arrays.js';
import { expected, StateError, ValueError } from '../../util/errors.js';
import type { Communicator } from '../comm/communicator.js';
import type { NodeRange } from '../partition/partition-data.js';
import { joinLinks, type RowLink, type Traffic, trafficOf } from './row-link.js';

/** The components of a distributed graph. */
export interface DistributedEdges {
  readonly link: RowLink;
  /** Sources are the rows used here, destinations own rows. */
  readonly adjacency: Adjacency;
  /** Global ids of the rows used here. */
  readonly usedIds: Int32Array;
  /** Global ids of the destinations. */
  readonly dstIds: Int32Array;
  /** For a subgraph of the worker's partition: the edge of the partition for each edge. */
  readonly parentEdgeIds?: Int32Array | null;
  /** The ids this worker owns. */
  readonly tgtNodeRange: NodeRange;
  /** Own row at which the destinations begin; null if they are other nodes. */
  readonly dstOffset: number | null;
  /** By edge position. */
  readonly weights: Float32Array | null;
  readonly addedLoops?: Int32Array | null;
  /** For a subgraph: weighted in-degrees of own sources in the full graph. */
  readonly wholeDegrees?: ((selfLoops: boolean) => Float64Array) | null;
  readonly frames?: { readonly src: Frame; readonly dst: Frame } | null;
  readonly original: OriginalIds;
}

/** Ids of nodes and edges before partitioning, computed on request: independent of the number of workers. */
export interface OriginalIds {
  /** Original ids of own sources, of the destinations (null if they are not nodes), and of edges by edge id. */
  readonly src: () => Int32Array;
  readonly dst: () => Int32Array | null;
  readonly edges: () => Int32Array;
  /** Number of sources and edges of the full relation. */
  readonly numSrc: number;
  readonly numEdges: number;
}

/** Source factors that have been exchanged already. */
const exchangedFactors = new WeakMap<FloatArray, WeakMap<RowLink, FloatArray>>();

export abstract class DistributedGraph extends LocalGraph {
  readonly link: RowLink;
  readonly tgtNodeRange: NodeRange;
  /** Global ids of the rows used here: own sources, then those of other workers. */
  readonly usedIds: Int32Array;
  /** Global ids of the destinations. */
  readonly seeds: Int32Array;
  readonly #edges: DistributedEdges;
  #outDegrees: Int32Array | null = null;
  #looped: this | null = null;

  constructor(edges: DistributedEdges) {
    const { link, adjacency, dstOffset } = edges;
    super(adjacency, dstOffset, edges.weights, edges.frames ?? ownFrames(edges), edges.addedLoops ?? null);
    this.#edges = edges;
    this.link = link;
    this.tgtNodeRange = edges.tgtNodeRange;
    this.usedIds = edges.usedIds;
    this.seeds = edges.dstIds;
  }

  override get numSrcNodes(): number {
    return this.link.numOwn;
  }

  /** Global ids of the sources that this worker owns, in row order. */
  get inputNodes(): Int32Array {
    return this.usedIds.subarray(0, this.link.numOwn);
  }

  /** Global ids of the destinations. */
  override get dstIds(): Int32Array {
    return this.seeds;
  }

  override get parentEdgeIds(): Int32Array | null {
    return this.#edges.parentEdgeIds ?? null;
  }

  protected override nodeRowIds(rows: 'src' | 'dst'): Int32Array | null {
    return this.#edges.original[rows]();
  }

  protected override edgeRowIds(): Int32Array {
    return this.#edges.original.edges();
  }

  /** Number of nodes of this worker, if sources and destinations are the same. */
  get numNodes(): number {
    if (this.numSrcNodes === this.numDstNodes && this.dstOffset === 0) return this.numDstNodes;
    throw new StateError(
      'numNodes: expected the same sources and destinations, got different ones. Use numSrcNodes and numDstNodes.',
    );
  }

  /** Returns the global source id of each edge position. */
  override positionSources(): Int32Array {
    const { usedIds } = this;
    return this.adjacency.indices.map((row) => usedIds[row]);
  }

  /** Returns what graphs of this communicator have exchanged so far. */
  traffic(): Traffic {
    return trafficOf(this.link.comm);
  }

  /** Graphs are in main memory: 'cpu' returns the graph itself. */
  to(device: string): this {
    if (device === 'cpu') return this;
    throw new ValueError(expected(this.constructor.name, "'cpu'", 'device', device));
  }

  /**
   * Caches the rows of `x` that other workers own from their first fetch on, so that constant inputs such as features
   * are not sent in every epoch. Layers that sum or average their neighbours then aggregate `x` itself and project
   * afterwards. Must be called on all workers. Takes memory for all fetched rows.
   */
  cacheInputs(x: Tensor): this {
    this.link.inputs.add(x);
    return this;
  }

  override keepsRows(x: Tensor): boolean {
    return this.link.inputs.has(x) && !x.requiresGrad;
  }

  /**
   * With compression: starts a training step, in which the rounding errors of the previous step's gradients are added.
   */
  beginStep(): void {
    this.link.codec?.beginStep();
  }

  /** Releases the rows that `cacheInputs` cached. */
  uncacheInputs(x: Tensor): this {
    this.link.inputs.remove(x);
    return this;
  }

  /** Collective on the first call: other workers hold some of the edges out of own sources. */
  override outDegrees(nodes?: Ids): Int32Array {
    return selectDegrees('outDegrees', this.#ownOutDegrees(), nodes);
  }

  #ownOutDegrees(): Int32Array {
    if (this.#outDegrees !== null) return this.#outDegrees;
    const { comm, indicesRequiredFromMe, sizesExpectedFromOthers, starts, numOwn } = this.link;
    const used = this.adjacency.outDegrees();
    const parts = comm.allToAllv(
      sizesExpectedFromOthers.map((count, q) =>
        used.slice(starts[q], starts[q] + (q === comm.rank ? 0 : count)),
      ),
    );
    const degrees = used.slice(0, numOwn);
    for (const [q, counts] of parts.entries())
      for (let i = 0; i < counts.length; i++) degrees[indicesRequiredFromMe[q][i]] += counts[i];
    this.#outDegrees = degrees;
    return degrees;
  }

  normDegrees(selfLoops: boolean): { readonly src: Float64Array; readonly dst: Float64Array } {
    const dst = this.weightedInDegrees(selfLoops);
    const whole = this.#edges.wholeDegrees ?? null;
    if (whole !== null) return { src: whole(selfLoops), dst };
    if (this.numSrcNodes === this.numDstNodes && this.dstOffset === 0) return { src: dst, dst };
    throw new StateError(
      'normDegrees: expected one node type, got a relation between two, whose sources have no in-degrees here.',
    );
  }

  withSelfLoops(): this {
    if (this.#looped === null) this.#looped = this.#addLoops();
    return this.#looped;
  }

  #addLoops(): this {
    const { dstOffset, adjacency, weights } = this;
    if (dstOffset === null)
      throw new StateError('withSelfLoops: expected destinations that are also sources, got others.');
    const { offsets, indices, numDst } = adjacency;
    const missing: number[] = [];
    for (let v = 0; v < numDst; v++) {
      let loop = false;
      for (let p = offsets[v]; p < offsets[v + 1]; p++) if (indices[p] === v + dstOffset) loop = true;
      if (!loop) missing.push(v);
    }
    if (missing.length === 0) return this;
    const { src, dst } = adjacency.edges();
    const added = Int32Array.from(missing);
    const looped = Adjacency.fromEdges(
      concatInt32([src, added.map((v) => v + dstOffset)]),
      concatInt32([dst, added]),
      adjacency.numSrc,
      numDst,
    );
    let positionWeights: Float32Array | null = null;
    if (weights !== null) {
      const byEdge = new Float32Array(looped.numEdges).fill(1);
      for (let slot = 0; slot < weights.length; slot++)
        byEdge[adjacency.edgeIds?.[slot] ?? slot] = weights[slot];
      positionWeights = byEdge.map((_, slot) => byEdge[looped.edgeIds?.[slot] ?? slot]);
    }
    return this.withEdges({
      ...this.#edges,
      adjacency: looped,
      weights: positionWeights,
      addedLoops: added,
      parentEdgeIds: null,
      frames: null,
    });
  }

  /**
   * Returns a graph of the same edges and sources with other destinations: destination d has the edges at positions
   * order[offsets[d]] … order[offsets[d+1] − 1].
   */
  regroup(offsets: Int32Array, order: Int32Array): this {
    const { indices, numSrc } = this.adjacency;
    const adjacency = Adjacency.trusted(
      offsets,
      order.map((slot) => indices[slot]),
      numSrc,
    );
    const numDst = offsets.length - 1;
    return this.withEdges({
      ...this.#edges,
      adjacency,
      original: {
        ...this.#edges.original,
        dst: () => null,
        edges: () => order.map((slot) => (this.rowIds('positions') as Int32Array)[slot]),
      },
      dstIds: new Int32Array(numDst),
      dstOffset: null,
      weights: null,
      addedLoops: null,
      wholeDegrees: null,
      parentEdgeIds: null,
      frames: null,
    });
  }

  /**
   * Joins all edges of several relations into the same destinations to one graph, whose sources are those of each
   * relation in turn. Edge ids follow in the same order.
   */
  joinedWith(others: readonly this[]): this {
    const all: readonly DistributedGraph[] = [this, ...others];
    const { link, positions } = joinLinks(all.map((graph) => graph.link));
    const edges = all.map((graph) => graph.adjacency.edges());
    const src = edges.map((list, i) => list.src.map((row) => positions[i][row]));
    const usedIds = new Int32Array(link.numUsed);
    for (const [i, graph] of all.entries())
      for (const [row, position] of positions[i].entries()) usedIds[position] = graph.usedIds[row];
    const adjacency = Adjacency.fromEdges(
      concatInt32(src),
      concatInt32(edges.map(({ dst }) => dst)),
      link.numUsed,
      this.numDstNodes,
    );
    return this.withEdges({
      ...this.#edges,
      original: joinOriginals(all.map((graph) => graph.#edges.original)),
      link,
      adjacency,
      usedIds,
      dstOffset: null,
      weights: null,
      addedLoops: null,
      wholeDegrees: null,
      parentEdgeIds: null,
      frames: null,
    });
  }

  /** Returns factors of all rows used here from those of own rows; collective if `own` is new. */
  protected exchangeFactors(own: FloatArray): FloatArray {
    const { link } = this;
    let byLink = exchangedFactors.get(own);
    if (byLink === undefined) {
      byLink = new WeakMap();
      exchangedFactors.set(own, byLink);
    }
    let used = byLink.get(link);
    if (used === undefined) {
      used = sendFactors(link, own);
      byLink.set(link, used);
    }
    return used;
  }

  /** Returns a graph of these edges with another communicator of the same size. @internal */
  withComm(comm: Communicator): this {
    return this.withEdges({ ...this.#edges, link: this.link.withComm(comm), frames: null });
  }

  /** Returns a graph of this class with other edges. */
  protected abstract withEdges(edges: DistributedEdges): this;
}

function ownFrames({ link, adjacency, dstOffset }: DistributedEdges): { src: Frame; dst: Frame } {
  const src = makeFrame('srcdata', link.numOwn);
  const whole = dstOffset === 0 && adjacency.numDst === link.numOwn;
  return { src, dst: whole ? src : makeFrame('dstdata', adjacency.numDst) };
}

function sendFactors(link: RowLink, own: FloatArray): FloatArray {
  const make = (length: number): FloatArray =>
    own instanceof Float32Array ? new Float32Array(length) : new Float64Array(length);
  const parts = link.comm.allToAllv(
    link.indicesRequiredFromMe.map((ids) => {
      const part = make(ids.length);
      for (let i = 0; i < ids.length; i++) part[i] = own[ids[i]];
      return part;
    }),
  );
  const used = make(link.numUsed);
  used.set(own);
  for (const [q, part] of parts.entries()) if (q !== link.comm.rank) used.set(part, link.starts[q]);
  return used;
}

/** Concatenates the original ids of several relations. */
function joinOriginals(all: readonly OriginalIds[]): OriginalIds {
  const total = (count: 'numSrc' | 'numEdges', of = all): number =>
    of.reduce((sum, each) => sum + each[count], 0);
  const shifted = (ids: 'src' | 'edges', count: 'numSrc' | 'numEdges'): Int32Array =>
    concatInt32(
      all.map((each, i) => {
        const before = total(count, all.slice(0, i));
        return each[ids]().map((id) => id + before);
      }),
    );
  return {
    src: () => shifted('src', 'numSrc'),
    dst: all[0].dst,
    edges: () => shifted('edges', 'numEdges'),
    numSrc: total('numSrc'),
    numEdges: total('numEdges'),
  };
}

/**
 * A graph of one node type (or between two, as a relation of a heterogeneous graph), stored by destination.
 *
 * @example
 * const g = Graph.fromEdges([0, 1, 2], [1, 2, 0], { numNodes: 3 });
 * g.ndata.h = x;
 * g.updateAll(fn.copyU('h', 'm'), fn.mean('m', 'h'));
 */
import { kernels, type Offsets } from '../native/index.js';
import { type Ids, Tensor } from '../tensor/index.js';
import { toInt32 } from '../tensor/ops/common.js';
import { checkInteger, expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Adjacency, checkNodeIds } from './adjacency.js';
import { makeFrame } from './frame.js';
import { type Frames, LocalGraph } from './local-graph.js';

export interface GraphOptions {
  /** The number of nodes of a graph in which every node can be source and destination. */
  readonly numNodes?: number;
  /** The numbers of nodes of a bipartite graph, instead of `numNodes`. */
  readonly numSrc?: number;
  readonly numDst?: number;
  /** One weight per edge, in the order of the edges given. */
  readonly edgeWeight?: Tensor | Float32Array | readonly number[];
}

export interface CscOptions {
  /** The number of sources, if they are other nodes than the destinations. */
  readonly numSrc?: number;
  /** The edge id of each entry; its position by default. */
  readonly edgeIds?: Int32Array;
  /** One weight per edge id. */
  readonly edgeWeight?: Tensor | Float32Array | readonly number[];
  /** Use the arrays without copying; they must not change as long as the graph is used. */
  readonly share?: boolean;
}

export class Graph extends LocalGraph {
  readonly #bipartite: boolean;
  #looped: Graph | null = null;

  /** @internal Use `Graph.fromEdges` or `Graph.fromCsc`. */
  constructor(
    adjacency: Adjacency,
    bipartite: boolean,
    positionWeights: Float32Array | null = null,
    frames: Frames | null = null,
    addedLoops: Int32Array | null = null,
  ) {
    const own = bipartite ? frames : sharedFrames(adjacency.numDst, frames);
    super(adjacency, bipartite ? null : 0, positionWeights, own, addedLoops);
    this.#bipartite = bipartite;
  }

  /** Makes a graph from a list of edges src[i] → dst[i]; i is the edge id. The number of nodes is always explicit. */
  static fromEdges(src: Ids, dst: Ids, options: GraphOptions): Graph {
    checkOptionNames('Graph.fromEdges', options, {
      numNodes: true,
      numSrc: true,
      numDst: true,
      edgeWeight: true,
    });
    const where = 'Graph.fromEdges';
    const from = toInt32(where, 'src', src);
    const to = toInt32(where, 'dst', dst);
    if (from.length !== to.length)
      throw new ShapeError(expected(where, `${from.length} ids (as src)`, 'dst', to.length));
    const { numSrc, numDst, bipartite } = sides(where, options);
    checkNodeIds(where, 'src', from, numSrc);
    checkNodeIds(where, 'dst', to, numDst);
    // A copy, so that the caller may change its list.
    const adjacency = Adjacency.fromEdges(from.slice(), to, numSrc, numDst);
    return new Graph(adjacency, bipartite, orderedWeights(where, adjacency, options.edgeWeight));
  }

  /** Makes a graph from edges that are sorted by destination. */
  static fromCsc(offsets: Offsets, indices: Int32Array, options: CscOptions = {}): Graph {
    checkOptionNames('Graph.fromCsc', options, {
      numSrc: true,
      edgeIds: true,
      edgeWeight: true,
      share: true,
    });
    if (!ArrayBuffer.isView(offsets))
      throw new ValueError(expected('Graph.fromCsc', 'an Int32Array or a Float64Array', 'offsets', offsets));
    const bipartite = options.numSrc !== undefined;
    const numSrc = options.numSrc ?? offsets.length - 1;
    checkInteger('Graph.fromCsc', 'numSrc', numSrc, 0, 2 ** 31 - 1);
    const given = options.edgeIds ?? null;
    const checked = Adjacency.fromCsc(offsets, indices, numSrc, given);
    // Kernels trust checked arrays, so they are copied unless the caller guarantees not to change them.
    const adjacency =
      options.share === true
        ? checked
        : Adjacency.trusted(offsets.slice(), indices.slice(), numSrc, given?.slice() ?? null);
    return new Graph(adjacency, bipartite, orderedWeights('Graph.fromCsc', adjacency, options.edgeWeight));
  }

  /** The number of nodes of a graph that is not bipartite. */
  get numNodes(): number {
    if (this.#bipartite)
      throw new ValueError('numNodes: this graph is bipartite. Use numSrcNodes and numDstNodes.');
    return this.adjacency.numDst;
  }

  get isBipartite(): boolean {
    return this.#bipartite;
  }

  /** Weights by edge id; null if all are 1. */
  get edgeWeight(): Float32Array | null {
    if (this.weights === null) return null;
    const positions = this.adjacency.edgePositions();
    return positions === null
      ? this.weights
      : Float32Array.from(positions, (position) => (this.weights as Float32Array)[position]);
  }

  /** Returns source and destination of every edge, by edge id. */
  edges(): { src: Int32Array; dst: Int32Array } {
    return this.adjacency.edges();
  }

  withSelfLoops(): Graph {
    if (this.#looped === null) {
      const { src, dst } = this.edges();
      const has = new Uint8Array(this.numNodes);
      for (let i = 0; i < src.length; i++) if (src[i] === dst[i]) has[src[i]] = 1;
      const missing = Int32Array.from(has.keys()).filter((v) => has[v] === 0);
      this.#looped = missing.length === 0 ? this : withLoops(this, src, dst, missing);
    }
    return this.#looped;
  }

  regroup(offsets: Int32Array, order: Int32Array): Graph {
    return regroup(this.adjacency, offsets, order);
  }

  normDegrees(selfLoops: boolean): { readonly src: Float64Array; readonly dst: Float64Array } {
    const degrees = this.weightedInDegrees(selfLoops);
    return { src: degrees, dst: degrees };
  }
}

/** @see MessageGraph.regroup */
export function regroup({ indices, numSrc }: Adjacency, offsets: Int32Array, order: Int32Array): Graph {
  const sources = new Int32Array(order.length);
  kernels().gatherRows(indices, order, sources, order.length, 4);
  return new Graph(Adjacency.trusted(offsets, sources, numSrc), true);
}

function sharedFrames(nodes: number, frames: Frames | null): Frames {
  if (frames !== null) return frames;
  const shared = makeFrame('ndata', nodes);
  return { src: shared, dst: shared };
}

function sides(where: string, options: GraphOptions): { numSrc: number; numDst: number; bipartite: boolean } {
  const { numNodes, numSrc, numDst } = options ?? {};
  const most = 2 ** 31 - 1;
  if (numNodes !== undefined && numSrc === undefined && numDst === undefined) {
    checkInteger(where, 'numNodes', numNodes, 0, most);
    return { numSrc: numNodes, numDst: numNodes, bipartite: false };
  }
  if (numNodes === undefined && numSrc !== undefined && numDst !== undefined) {
    checkInteger(where, 'numSrc', numSrc, 0, most);
    checkInteger(where, 'numDst', numDst, 0, most);
    return { numSrc, numDst, bipartite: true };
  }
  throw new ValueError(
    `${where}: expected either numNodes, or numSrc and numDst. Isolated nodes count, so the number cannot be inferred from the edges.`,
  );
}

/** Reorders weights from edge ids to positions; throws if one is not finite. */
function orderedWeights(
  where: string,
  adjacency: Adjacency,
  given: GraphOptions['edgeWeight'],
): Float32Array | null {
  if (given === undefined) return null;
  const values: ArrayLike<number> = given instanceof Tensor ? given.dataSync() : given;
  if (!Array.isArray(values) && !ArrayBuffer.isView(values))
    throw new ValueError(expected(where, 'a tensor or an array of numbers', 'edgeWeight', given));
  if (values.length !== adjacency.numEdges)
    throw new ShapeError(expected(where, `${adjacency.numEdges} weights`, 'edgeWeight', values.length));
  const weights = new Float32Array(adjacency.numEdges);
  for (let position = 0; position < weights.length; position++) {
    const id = adjacency.edgeIds === null ? position : adjacency.edgeIds[position];
    if (!Number.isFinite(Math.fround(values[id])))
      throw new ValueError(
        expected(where, 'finite weights', 'edgeWeight', `${values[id]} at position ${id}`),
      );
    weights[position] = values[id];
  }
  return weights;
}

function withLoops(graph: Graph, src: Int32Array, dst: Int32Array, loops: Int32Array): Graph {
  const joined = (a: Int32Array): Int32Array => {
    const all = new Int32Array(a.length + loops.length);
    all.set(a);
    all.set(loops, a.length);
    return all;
  };
  const nodes = graph.numNodes;
  const adjacency = Adjacency.fromEdges(joined(src), joined(dst), nodes, nodes);
  const weight = graph.edgeWeight;
  let positionWeights: Float32Array | null = null;
  if (weight !== null) {
    const all = new Float32Array(adjacency.numEdges).fill(1);
    all.set(weight);
    positionWeights = orderedWeights('withSelfLoops', adjacency, all);
  }
  return new Graph(adjacency, false, positionWeights, null, loops);
}

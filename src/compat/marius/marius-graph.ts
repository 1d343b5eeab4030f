/**
 * The document's graph: edges with optional relations, sorted by source and by destination, and one-hop sampling. A
 * facade over `Graph` and `OneHopSampler`; sorted lists are made on each call.
 */
import { Graph } from '../../graph/index.js';
import { type NeighborSamplingStrategy, OneHopSampler, type SampleTime } from '../../sample/index.js';
import type { EdgeList, NodeNeighbors } from '../../sample/one-hop-sampler.js';
import { expected, ShapeError, StateError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkEdgeList } from './checks.js';

export interface MariusGraphOptions {
  /** Default: one more than the largest id. */
  readonly numNodes?: number;
  readonly seed?: number;
}

const name = 'MariusGraph';

export class MariusGraph {
  #sampler: OneHopSampler | null = null;
  readonly #seed: number;

  /** Without edges the graph is empty, as after `clear`. */
  constructor(edges: EdgeList | null = null, options: MariusGraphOptions = {}) {
    checkOptionNames(name, options, { numNodes: true, seed: true });
    this.#seed = options.seed ?? 0;
    if (edges === null) return;
    const { relations = null, weights = null } = checkEdgeList(name, edges);
    if (relations !== null && relations.length !== edges.src.length)
      throw new ShapeError(expected(name, `${edges.src.length} relations`, 'relations', relations.length));
    const graph = Graph.fromEdges(edges.src, edges.dst, {
      numNodes: options.numNodes ?? 1 + maxOf(edges.src, maxOf(edges.dst, -1)),
      ...(weights === null ? {} : { edgeWeight: weights }),
    });
    this.#sampler = new OneHopSampler(graph, { relations, seed: this.#seed });
  }

  /** The graph that layers and samplers take. */
  get graph(): Graph {
    return this.#edges.graph;
  }

  /** The seed of its draws. */
  get seed(): number {
    return this.#seed;
  }

  /** The relation of each edge, by edge id; null without relations. */
  get relations(): Int32Array | null {
    return this.#sampler?.relations ?? null;
  }

  get srcSortedEdges(): EdgeList {
    return this.getEdges(false);
  }

  get dstSortedEdges(): EdgeList {
    return this.getEdges(true);
  }

  /** The edges in the order given. */
  get activeInMemorySubgraph(): EdgeList {
    return { ...this.graph.edges(), relations: this.relations };
  }

  get nodeIds(): Int32Array {
    return this.getNodeIDs();
  }

  get outOffsets(): Int32Array {
    return this.getNeighborOffsets(false);
  }

  get inOffsets(): Int32Array {
    return this.getNeighborOffsets(true);
  }

  get outNumNeighbors(): Int32Array {
    return this.getNumNeighbors(false);
  }

  get inNumNeighbors(): Int32Array {
    return this.getNumNeighbors(true);
  }

  /** Nodes with outgoing edges, ascending. */
  get outSortedUniques(): Int32Array {
    return positive(this.outNumNeighbors);
  }

  /** Nodes with incoming edges, ascending. */
  get inSortedUniques(): Int32Array {
    return positive(this.inNumNeighbors);
  }

  getNodeIDs(): Int32Array {
    return Int32Array.from({ length: this.#sampler?.graph.numNodes ?? 0 }, (_, i) => i);
  }

  /** Returns all edges, sorted by destination (incoming) or by source. */
  getEdges(incoming = true): EdgeList {
    return this.#edges.sortedEdges(incoming);
  }

  /** Returns relations in the order of `getEdges`; null without relations. */
  getRelationIDs(incoming = true): Int32Array | null {
    return this.getEdges(incoming).relations ?? null;
  }

  /** Returns where the edges of each node start in the list of `getEdges`. */
  getNeighborOffsets(incoming = true): Int32Array {
    return this.#edges.side(incoming).offsets.slice(0, -1);
  }

  getNumNeighbors(incoming = true): Int32Array {
    const { offsets } = this.#edges.side(incoming);
    return Int32Array.from({ length: offsets.length - 1 }, (_, v) => offsets[v + 1] - offsets[v]);
  }

  /** Samples one hop: all edges, at most `maxNeighborsSize` per node without repetition, or each with probability 1 − rate. */
  getNeighborsForNodeIds(
    nodeIds: Int32Array,
    incoming: boolean,
    strategy: NeighborSamplingStrategy = 'ALL',
    maxNeighborsSize = -1,
    rate = 0,
    at?: SampleTime,
  ): NodeNeighbors {
    return this.#edges.sample(nodeIds, incoming, strategy, maxNeighborsSize, rate, at);
  }

  /** Removes all edges. */
  clear(): void {
    this.#sampler = null;
  }

  get #edges(): OneHopSampler {
    if (this.#sampler === null) throw new StateError(`${name}: expected edges, got an empty graph.`);
    return this.#sampler;
  }
}

function maxOf(ids: Int32Array, start: number): number {
  let most = start;
  for (let i = 0; i < ids.length; i++) if (ids[i] > most) most = ids[i];
  return most;
}

function positive(counts: Int32Array): Int32Array {
  return Int32Array.from([...counts.keys()].filter((v) => counts[v] > 0));
}

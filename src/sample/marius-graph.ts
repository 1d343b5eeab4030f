/**
 * A graph as Marius names it: edges with optional relations, sorted by source and by destination, and one-hop sampling.
 *
 * Everything is derived from one `Graph`; the lists sorted by source or destination are made when asked for. `GNNGraph`
 * is the sampled form that layers run on.
 */
import { Graph } from '../graph/index.js';
import { kernels } from '../native/index.js';
import { checkIds } from '../tensor/ops/common.js';
import { checkInteger, checkNumber, expected, ShapeError, StateError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { type HopRule, hopTag, NodeRows, runHops, sampleHop } from './hop-runner.js';
import { DrawKeys, purposes, type SampleTime, wordThreshold } from './sampler.js';
import { SamplingGraph } from './sampling-graph.js';

/** Edges src[i] → dst[i], with the relation of each when the graph has relations. */
export interface EdgeList {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly relations?: Int32Array | null;
  /** Weights of edges, for layers that use them. */
  readonly weights?: Float32Array | null;
}

export type NeighborSamplingStrategy = 'ALL' | 'UNIFORM' | 'DROPOUT';

export interface MariusGraphOptions {
  /** Default: one more than the largest id. */
  readonly numNodes?: number;
  readonly seed?: number;
}

/** Edges of the asked nodes one after another, and where those of each node start. */
export interface NodeNeighbors {
  readonly edges: EdgeList;
  readonly offsets: Int32Array;
}

interface Sides {
  in?: SamplingGraph;
  out?: SamplingGraph;
}

const name = 'MariusGraph';

export class MariusGraph {
  #graph: Graph | null;
  #relations: Int32Array | null;
  #sides: Sides = {};
  readonly #seed: number;

  /** Without edges it is empty, as after `clear`. */
  constructor(edges: EdgeList | null = null, options: MariusGraphOptions = {}) {
    checkOptionNames('MariusGraph', options, { numNodes: true, seed: true });
    this.#seed = options.seed ?? 0;
    this.#graph = null;
    this.#relations = null;
    if (edges === null) return;
    const relations = edges.relations ?? null;
    if (relations !== null && relations.length !== edges.src.length)
      throw new ShapeError(expected(name, `${edges.src.length} relations`, 'relations', relations.length));
    const numNodes = options.numNodes ?? 1 + maxOf(edges.src, maxOf(edges.dst, -1));
    const { weights = null } = edges;
    this.#graph = Graph.fromEdges(edges.src, edges.dst, {
      numNodes,
      ...(weights === null ? {} : { edgeWeight: weights }),
    });
    this.#relations = relations;
  }

  /** The graph that layers and samplers take. */
  get graph(): Graph {
    if (this.#graph === null) throw new StateError(`${name}: expected edges, got an empty graph.`);
    return this.#graph;
  }

  /** The seed of its draws. */
  get seed(): number {
    return this.#seed;
  }

  /** The relation of each edge, by edge id; null without relations. */
  get relations(): Int32Array | null {
    return this.#relations;
  }

  get srcSortedEdges(): EdgeList {
    return this.getEdges(false);
  }

  get dstSortedEdges(): EdgeList {
    return this.getEdges(true);
  }

  /** The edges in the order given. */
  get activeInMemorySubgraph(): EdgeList {
    return { ...this.graph.edges(), relations: this.#relations };
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
    const count = this.#graph?.numNodes ?? 0;
    return Int32Array.from({ length: count }, (_, i) => i);
  }

  /** All edges, sorted by destination (incoming) or by source. */
  getEdges(incoming = true): EdgeList {
    const { graph, slots } = this.#sorted(incoming);
    const edges = this.graph.edges();
    const ids = graph.edgeIds(slots);
    const pick = (values: Int32Array) => gather(values, ids);
    const relations = this.#relations === null ? null : pick(this.#relations);
    return { src: pick(edges.src), dst: pick(edges.dst), relations };
  }

  /** Relations in the order of `getEdges`; null without relations. */
  getRelationIDs(incoming = true): Int32Array | null {
    return this.getEdges(incoming).relations ?? null;
  }

  /** Where the edges of each node start in the list of `getEdges`. */
  getNeighborOffsets(incoming = true): Int32Array {
    return this.#side(incoming).offsets.slice(0, -1);
  }

  getNumNeighbors(incoming = true): Int32Array {
    const { offsets } = this.#side(incoming);
    return Int32Array.from({ length: offsets.length - 1 }, (_, v) => offsets[v + 1] - offsets[v]);
  }

  /** One hop: all edges of the nodes, at most `max` of each drawn without repetition, or each kept with chance 1 − rate. */
  getNeighborsForNodeIds(
    nodeIds: Int32Array,
    incoming: boolean,
    strategy: NeighborSamplingStrategy = 'ALL',
    maxNeighborsSize = -1,
    rate = 0,
    at?: SampleTime,
  ): NodeNeighbors {
    const side = this.#side(incoming);
    const ids = checkIds(`${name}.getNeighborsForNodeIds`, 'nodeIds', nodeIds, side.numNodes);
    const rule = neighborRule(strategy, maxNeighborsSize, rate);
    const time = new DrawKeys(name, this.#seed, purposes.neighbors).at(at);
    const rows = new NodeRows(side.numNodes);
    const hop = runHops(
      sampleHop(name, side, { frontier: ids, rule, time, tag: hopTag(0, incoming ? 0 : 1) }, rows),
    );
    const edgeIds = side.edgeIds(hop.slots);
    const all = this.graph.edges();
    const relations = this.#relations === null ? null : gather(this.#relations, edgeIds);
    const edges = { src: gather(all.src, edgeIds), dst: gather(all.dst, edgeIds), relations };
    return { edges, offsets: hop.offsets.slice(0, -1) };
  }

  /** Forgets all edges. */
  clear(): void {
    this.#graph = null;
    this.#relations = null;
    this.#sides = {};
  }

  #side(incoming: boolean): SamplingGraph {
    const key = incoming ? 'in' : 'out';
    this.#sides[key] ??= new SamplingGraph(name, this.graph, key);
    return this.#sides[key];
  }

  #sorted(incoming: boolean): { graph: SamplingGraph; slots: Int32Array } {
    const graph = this.#side(incoming);
    return { graph, slots: Int32Array.from({ length: graph.indices.length }, (_, i) => i) };
  }
}

/** How `getNeighborsForNodeIds` draws. @internal */
export function neighborRule(strategy: NeighborSamplingStrategy, max: number, rate: number): HopRule {
  const where = `${name}.getNeighborsForNodeIds`;
  if (strategy === 'ALL') return { fanout: -1, drop: 0, replace: false };
  if (strategy === 'UNIFORM')
    return { fanout: checkInteger(where, 'maxNeighborsSize', max, -1, 2 ** 31 - 1), drop: 0, replace: false };
  if (strategy === 'DROPOUT')
    return { fanout: -1, drop: wordThreshold(checkNumber(where, 'rate', rate, 0, 1)), replace: false };
  throw new ValueError(expected(where, 'ALL, UNIFORM or DROPOUT', 'strategy', strategy));
}

function maxOf(ids: Int32Array, start: number): number {
  let most = start;
  for (let i = 0; i < ids.length; i++) if (ids[i] > most) most = ids[i];
  return most;
}

function gather(values: Int32Array, ids: Int32Array): Int32Array {
  const out = new Int32Array(ids.length);
  kernels().gatherRows(values, ids, out, ids.length, 4);
  return out;
}

function positive(counts: Int32Array): Int32Array {
  return Int32Array.from([...counts.keys()].filter((v) => counts[v] > 0));
}

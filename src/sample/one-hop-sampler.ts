/**
 * One hop over a graph with optional relations: all edges of the given nodes, or those drawn for each of them.
 *
 * @example
 * const sampler = new OneHopSampler(graph, { relations, seed: 1 });
 * const { edges, offsets } = sampler.sample(ids, true, 'UNIFORM', 10);
 */
import type { Graph } from '../graph/index.js';
import { kernels } from '../native/index.js';
import type { Ids } from '../tensor/index.js';
import { checkIds } from '../tensor/ops/common.js';
import { checkInteger, checkNumber, expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { type HopRule, hopTag, NodeRowIndex, runHops, sampleHop } from './hop-runner.js';
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

/** Edges of the given nodes one after another, and where those of each node start. */
export interface NodeNeighbors {
  readonly edges: EdgeList;
  readonly offsets: Int32Array;
}

export interface OneHopSamplerOptions {
  /** The relation of each edge, by edge id. */
  readonly relations?: Int32Array | null;
  readonly seed?: number;
}

const name = 'OneHopSampler';

export class OneHopSampler {
  readonly graph: Graph;
  readonly relations: Int32Array | null;
  readonly seed: number;
  readonly #sides: { in?: SamplingGraph; out?: SamplingGraph } = {};

  constructor(graph: Graph, options: OneHopSamplerOptions = {}) {
    checkOptionNames(name, options, { relations: true, seed: true });
    const { relations = null, seed = 0 } = options;
    if (relations !== null && relations.length !== graph.numEdges)
      throw new ShapeError(expected(name, `${graph.numEdges} relations`, 'relations', relations.length));
    this.graph = graph;
    this.relations = relations;
    this.seed = seed;
  }

  /**
   * Samples the edges into each node (incoming) or out of it: all of them, at most `maxNeighbors` without repetition
   * (UNIFORM), or each with probability 1 − rate (DROPOUT).
   */
  sample(
    nodes: Ids,
    incoming = true,
    strategy: NeighborSamplingStrategy = 'ALL',
    maxNeighbors = -1,
    rate = 0,
    at?: SampleTime,
  ): NodeNeighbors {
    const side = this.side(incoming);
    const frontier = checkIds(`${name}.sample`, 'nodes', nodes, side.numNodes);
    const rule = neighborRule(`${name}.sample`, strategy, maxNeighbors, rate);
    const time = new DrawKeys(name, this.seed, purposes.neighbors).at(at);
    const draw = { frontier, rule, time, tag: hopTag(0, incoming ? 0 : 1) };
    const hop = runHops(sampleHop(name, side, draw, new NodeRowIndex(side.numNodes)));
    return { edges: this.pickEdges(side.edgeIds(hop.slots)), offsets: hop.offsets.slice(0, -1) };
  }

  /** All edges, sorted by destination (incoming) or by source. */
  sortedEdges(incoming = true): EdgeList {
    const side = this.side(incoming);
    return this.pickEdges(side.edgeIds(Int32Array.from({ length: side.indices.length }, (_, i) => i)));
  }

  /** The edges of these ids. */
  pickEdges(ids: Int32Array): EdgeList {
    const { src, dst } = this.graph.edges();
    const relations = this.relations === null ? null : gather(this.relations, ids);
    return { src: gather(src, ids), dst: gather(dst, ids), relations };
  }

  /** The graph in one direction, as kernels draw from it. @internal */
  side(incoming: boolean): SamplingGraph {
    const key = incoming ? 'in' : 'out';
    this.#sides[key] ??= new SamplingGraph(name, this.graph, key);
    return this.#sides[key];
  }
}

/** How a hop of the strategy draws. @internal */
export function neighborRule(
  where: string,
  strategy: NeighborSamplingStrategy,
  maxNeighbors: number,
  rate: number,
): HopRule {
  if (strategy === 'ALL') return { fanout: -1, drop: 0, replace: false };
  if (strategy === 'UNIFORM') {
    const fanout = checkInteger(where, 'maxNeighbors', maxNeighbors, -1, 2 ** 31 - 1);
    return { fanout, drop: 0, replace: false };
  }
  if (strategy === 'DROPOUT')
    return { fanout: -1, drop: wordThreshold(checkNumber(where, 'rate', rate, 0, 1)), replace: false };
  throw new ValueError(expected(where, 'ALL, UNIFORM or DROPOUT', 'strategy', strategy));
}

function gather(values: Int32Array, ids: Int32Array): Int32Array {
  const out = new Int32Array(ids.length);
  kernels().gatherRows(values, ids, out, ids.length, 4);
  return out;
}

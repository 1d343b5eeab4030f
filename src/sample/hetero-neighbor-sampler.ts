/**
 * Neighbour sampling in a heterogeneous graph: in every hop, each relation draws for the nodes of its destination type
 * that the previous hop found, with a separate fan-out.
 *
 * @example
 * const sampler = new HeteroNeighborSampler(graph, {
 *   fanouts: { 'author,writes,paper': [10, 5], 'paper,cites,paper': [5, 5] },
 * });
 * const batch = sampler.sample({ paper: seeds }, { step: 0 });
 */
import { type EdgeType, HeteroGraph } from '../graph/index.js';
import type { Ids } from '../tensor/index.js';
import { checkIds } from '../tensor/ops/common.js';
import { expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkFlag, checkOptions } from './checks.js';
import { HeteroBatch, type SampledRelation } from './hetero-batch.js';
import {
  type HopEdges,
  type HopSteps,
  hopTag,
  joinHops,
  NodeRowIndex,
  runHops,
  runHopsAsync,
  sampleHop,
} from './hop-runner.js';
import { checkFanouts } from './neighbor-sampler.js';
import { DrawKeys, type DrawTime, purposes, type Sampler, type SampleTime } from './sampler.js';
import { SamplingGraph } from './sampling-graph.js';

export interface HeteroNeighborSamplerOptions {
  /** For all relations, or by relation ('src,relation,dst', or its name if unambiguous); other relations draw none. */
  readonly fanouts: readonly number[] | Readonly<Record<string, readonly number[]>>;
  readonly replace?: boolean;
  readonly seed?: number;
}

/** Seeds by node type. */
export type HeteroSeeds = Readonly<Record<string, Ids>>;

interface Relation {
  readonly type: EdgeType;
  readonly graph: SamplingGraph;
  readonly fanouts: Int32Array;
}

const name = 'HeteroNeighborSampler';

export class HeteroNeighborSampler implements Sampler<HeteroSeeds, HeteroBatch> {
  readonly #graph: HeteroGraph;
  readonly #relations: readonly Relation[];
  readonly #hops: number;
  readonly #replace: boolean;
  readonly #keys: DrawKeys;
  readonly #free: ReadonlyMap<string, NodeRowIndex>[] = [];

  constructor(graph: HeteroGraph, options: HeteroNeighborSamplerOptions) {
    checkOptionNames('HeteroNeighborSampler', options, { fanouts: true, replace: true, seed: true });
    if (!(graph instanceof HeteroGraph))
      throw new ValueError(expected(name, 'a HeteroGraph', 'graph', graph));
    checkOptions(name, options);
    this.#graph = graph;
    this.#relations = relationsOf(graph, options.fanouts);
    this.#hops = this.#relations.length === 0 ? 0 : this.#relations[0].fanouts.length;
    this.#replace = checkFlag(name, 'replace', options.replace, false);
    this.#keys = new DrawKeys(name, options.seed ?? 0, purposes.neighbors);
  }

  sample(seeds: HeteroSeeds, at?: SampleTime): HeteroBatch {
    return runHops(this.#steps(this.#checkSeeds(seeds), this.#keys.at(at)));
  }

  async sampleAsync(seeds: HeteroSeeds, at?: SampleTime): Promise<HeteroBatch> {
    return runHopsAsync(this.#steps(this.#checkSeeds(seeds), this.#keys.at(at)));
  }

  #checkSeeds(seeds: HeteroSeeds): ReadonlyMap<string, Int32Array> {
    return new Map(
      Object.entries(checkOptions(name, seeds, 'seeds')).map(([type, ids]) => [
        type,
        checkIds(name, `seeds.${type}`, ids, this.#graph.numNodes(type)).slice(),
      ]),
    );
  }

  *#steps(seeds: ReadonlyMap<string, Int32Array>, time: DrawTime): HopSteps<HeteroBatch> {
    const types = this.#graph.nodeTypes;
    const rows =
      this.#free.pop() ?? new Map(types.map((type) => [type, new NodeRowIndex(this.#graph.numNodes(type))]));
    const rowsOf = (type: string) => rows.get(type) as NodeRowIndex;
    try {
      const perType = <T>(make: (type: string) => T): Record<string, T> =>
        Object.fromEntries(types.map((type) => [type, make(type)]));
      const seedRows = perType((type) => rowsOf(type).add(seeds.get(type) ?? new Int32Array(0)));
      const ends = perType((type) => [0, rowsOf(type).count]);
      const edges = this.#relations.map((): HopEdges[] => []);
      for (let hop = 0; hop < this.#hops; hop++) {
        const frontiers = perType((type) => rowsOf(type).ids.slice(ends[type][hop], ends[type][hop + 1]));
        for (const [r, { type, graph, fanouts }] of this.#relations.entries()) {
          const rule = { fanout: fanouts[hop], drop: 0, replace: this.#replace };
          const draw = { frontier: frontiers[type[2]], rule, time, tag: hopTag(hop, r) };
          edges[r].push(yield* sampleHop(name, graph, draw, rowsOf(type[0])));
        }
        for (const type of types) ends[type].push(rowsOf(type).count);
      }
      const relations = this.#relations.map(({ type, graph }, r): SampledRelation => {
        return { type, graph, edges: joinHops(name, edges[r]) };
      });
      return new HeteroBatch({
        nodeIds: perType((type) => rowsOf(type).ids.slice(0, rowsOf(type).count)),
        seedRows,
        nodesPerHop: perType((type) => ends[type].slice(1).map((end, i) => end - ends[type][i])),
        relations,
        hops: this.#hops,
      });
    } finally {
      for (const list of rows.values()) list.clear();
      this.#free.push(rows);
    }
  }
}

function relationsOf(graph: HeteroGraph, fanouts: HeteroNeighborSamplerOptions['fanouts']): Relation[] {
  const given = new Map<string, Int32Array>();
  if (Array.isArray(fanouts)) {
    for (const type of graph.edgeTypes) given.set(type.join(), checkFanouts(name, fanouts));
  } else {
    for (const [key, list] of Object.entries(checkOptions(name, fanouts, 'fanouts')))
      given.set(graph.canonical(key).join(), checkFanouts(name, list));
  }
  const lengths = new Set([...given.values()].map((list) => list.length));
  if (lengths.size > 1)
    throw new ValueError(
      expected(name, 'the same number of hops for every relation', 'fanouts', [...lengths].join(' and ')),
    );
  // Relations are numbered by their index in the graph, so that omitting one does not change what the others draw.
  const hops = [...lengths][0] ?? 0;
  return graph.edgeTypes.map((type) => ({
    type,
    graph: new SamplingGraph(name, graph.relation(type)),
    fanouts: given.get(type.join()) ?? new Int32Array(hops),
  }));
}

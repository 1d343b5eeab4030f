/** Neighbour samplers over the resident graph, or over one that several workers hold together. */
import {
  type EdgeRelations,
  type GNNGraph,
  type HopSources,
  LayeredNeighborSampler,
  type LayerSampling,
  MariusGraph,
  type NeighborSamplingStrategy,
  type SampleTime,
} from '../../../../sample/index.js';
import { checkInteger, expected, ValueError } from '../../../../util/errors.js';
import { checkOptionNames } from '../../../../util/option-names.js';
import type { GraphModelStorage } from '../storage/graph-model-storage.js';

export abstract class NeighborSampler {
  readonly graphStorage: GraphModelStorage;
  abstract readonly neighborSamplingStrategy: NeighborSamplingStrategy;
  abstract readonly maxNeighborsSize: number;

  constructor(graphStorage: GraphModelStorage) {
    this.graphStorage = graphStorage;
  }

  abstract getNeighbors(
    nodeIds: Int32Array,
    incoming?: boolean,
    outgoing?: boolean,
    at?: SampleTime,
  ): GNNGraph;
  /** The same, off the calling thread where it can be. `batch`: all targets, where `nodeIds` are a worker's share of them. */
  async getNeighborsAsync(nodeIds: Int32Array, at?: SampleTime, _batch?: Int32Array): Promise<GNNGraph> {
    return this.getNeighbors(nodeIds, undefined, undefined, at);
  }
}

export interface KHopOptions {
  readonly incoming?: boolean;
  readonly outgoing?: boolean;
  readonly seed?: number;
}

/** Neighbours over k hops, one rule per hop, the one next to the targets first. */
export class KHopNeighborSampler extends NeighborSampler {
  readonly layers: readonly LayerSampling[];
  readonly neighborSamplingStrategy: NeighborSamplingStrategy;
  readonly maxNeighborsSize: number;
  readonly #options: KHopOptions;
  readonly #made = new WeakMap<MariusGraph | HopSources, Map<string, LayeredNeighborSampler>>();

  /** As Marius: (storage, numLayers, strategy, maxNeighborsSize); or with one rule per layer. */
  constructor(
    graphStorage: GraphModelStorage,
    layers: number | readonly LayerSampling[],
    strategy: NeighborSamplingStrategy = 'ALL',
    maxNeighborsSize = -1,
    options: KHopOptions = {},
  ) {
    super(graphStorage);
    checkOptionNames('KHopNeighborSampler', options, { incoming: true, outgoing: true, seed: true });
    this.neighborSamplingStrategy = strategy;
    this.maxNeighborsSize = maxNeighborsSize;
    this.layers = typeof layers === 'number' ? sameRules(layers, strategy, maxNeighborsSize) : layers;
    this.#options = options;
  }

  override getNeighbors(
    nodeIds: Int32Array,
    incoming = this.#options.incoming ?? true,
    outgoing = this.#options.outgoing ?? true,
    at?: SampleTime,
  ): GNNGraph {
    return this.#sampler(incoming, outgoing).getNeighbors(nodeIds, at);
  }

  override async getNeighborsAsync(
    nodeIds: Int32Array,
    at?: SampleTime,
    batch?: Int32Array,
  ): Promise<GNNGraph> {
    const { incoming = true, outgoing = true } = this.#options;
    return this.#sampler(incoming, outgoing).sampleAsync(nodeIds, at, batch);
  }

  /** A sampler of one hop with the rule of layer i. */
  forLayer(i: number): KHopNeighborSampler {
    const { neighborSamplingStrategy: strategy, maxNeighborsSize: max } = this;
    return new KHopNeighborSampler(this.graphStorage, [this.layers[i]], strategy, max, this.#options);
  }

  #sampler(incoming: boolean, outgoing: boolean): LayeredNeighborSampler {
    const graph = this.graphStorage.spread?.graph ?? this.graphStorage.graph;
    let made = this.#made.get(graph);
    if (made === undefined) {
      made = new Map();
      this.#made.set(graph, made);
    }
    const key = `${incoming}.${outgoing}`;
    let sampler = made.get(key);
    if (sampler === undefined) {
      const options = { layers: this.layers, incoming, outgoing, seed: this.#options.seed ?? 0 };
      sampler =
        graph instanceof MariusGraph
          ? new LayeredNeighborSampler(graph.graph, { ...options, relations: this.#relationsOf(graph) })
          : new LayeredNeighborSampler(graph, options);
      made.set(key, sampler);
    }
    return sampler;
  }

  #relationsOf({ relations }: MariusGraph): EdgeRelations | null {
    return relations === null ? null : { ids: relations, count: this.graphStorage.numRelations };
  }
}

function sameRules(layers: number, strategy: NeighborSamplingStrategy, max: number): LayerSampling[] {
  const where = 'KHopNeighborSampler';
  checkInteger(where, 'layers', layers, 0, 255);
  const rules: Readonly<Record<NeighborSamplingStrategy, () => LayerSampling>> = {
    ALL: () => ({ type: 'ALL' }),
    UNIFORM: () => ({ type: 'UNIFORM', maxNeighbors: max }),
    DROPOUT: () => ({ type: 'DROPOUT', rate: max }),
  };
  const rule = rules[strategy];
  if (rule === undefined)
    throw new ValueError(expected(where, 'ALL, UNIFORM or DROPOUT', 'strategy', strategy));
  return Array.from({ length: layers }, rule);
}

/** As the source spells it. */
export { KHopNeighborSampler as kHopNeighborSampler };

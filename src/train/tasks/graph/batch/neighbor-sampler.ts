/** Neighbour samplers over the resident graph, or over one that is sharded over workers. */

import type { HopSources } from '../../../../sample/hop-source.js';
import {
  type DenseSample,
  LayeredNeighborSampler,
  type NeighborSamplingStrategy,
  type SampleTime,
} from '../../../../sample/index.js';
import type { LayerSampling } from '../../../../sample/layered-neighbor-sampler.js';
import { checkInteger, expected, ValueError } from '../../../../util/errors.js';
import { checkOptionNames } from '../../../../util/option-names.js';
import type { EdgeGraph, GraphStorage } from '../storage/graph-storage.js';

export abstract class TrainingNeighborSampler {
  readonly graphStorage: GraphStorage;

  constructor(graphStorage: GraphStorage) {
    this.graphStorage = graphStorage;
  }

  /** Samples the neighbourhood of the targets. */
  abstract sample(targets: Int32Array, at?: SampleTime): DenseSample;

  /** Samples off the calling thread where possible. `batch`: all targets, where `targets` are a worker's share of them. */
  async sampleAsync(targets: Int32Array, at?: SampleTime, _batch?: Int32Array): Promise<DenseSample> {
    return this.sample(targets, at);
  }
}

export interface KHopOptions {
  readonly incoming?: boolean;
  readonly outgoing?: boolean;
  readonly seed?: number;
}

/** Samples k hops, with one rule per hop, that of the hop next to the targets first. */
export class KHopNeighborSampler extends TrainingNeighborSampler {
  readonly layers: readonly LayerSampling[];
  readonly neighborSamplingStrategy: NeighborSamplingStrategy;
  readonly maxNeighborsSize: number;
  readonly #options: KHopOptions;
  readonly #made = new WeakMap<EdgeGraph | HopSources, Map<string, LayeredNeighborSampler>>();

  /** @param layers one rule per hop, or the number of hops that all draw by `strategy` and `maxNeighborsSize`. */
  constructor(
    graphStorage: GraphStorage,
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

  override sample(targets: Int32Array, at?: SampleTime): DenseSample {
    return this.sampler().sample(targets, at);
  }

  override async sampleAsync(targets: Int32Array, at?: SampleTime, batch?: Int32Array): Promise<DenseSample> {
    return this.sampler().sampleAsync(targets, at, batch);
  }

  /** Returns a sampler of one hop with the rule of layer i. */
  forLayer(i: number): KHopNeighborSampler {
    const { neighborSamplingStrategy: strategy, maxNeighborsSize: max } = this;
    return new KHopNeighborSampler(this.graphStorage, [this.layers[i]], strategy, max, this.#options);
  }

  /** Returns the sampler of the resident graph. @internal */
  protected sampler(
    incoming = this.#options.incoming ?? true,
    outgoing = this.#options.outgoing ?? true,
  ): LayeredNeighborSampler {
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
        'graph' in graph
          ? new LayeredNeighborSampler(graph.graph, { ...options, relations: this.#relationsOf(graph) })
          : new LayeredNeighborSampler(graph, options);
      made.set(key, sampler);
    }
    return sampler;
  }

  #relationsOf({ relations }: EdgeGraph) {
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

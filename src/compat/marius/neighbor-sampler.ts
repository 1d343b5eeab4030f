/** The document's neighbour samplers: those of training, with `getNeighbors` that returns a `GNNGraph`. */
import type { DenseSample, NeighborSamplingStrategy, SampleTime } from '../../sample/index.js';
import { KHopNeighborSampler, TrainingNeighborSampler } from '../../train/index.js';
import { GNNGraph } from './gnn-graph.js';

export abstract class NeighborSampler extends TrainingNeighborSampler {
  abstract readonly neighborSamplingStrategy: NeighborSamplingStrategy;
  abstract readonly maxNeighborsSize: number;

  /** Samples the neighbours of nodes; without directions, those that the sampler follows by default. */
  abstract getNeighbors(
    nodeIds: Int32Array,
    incoming?: boolean,
    outgoing?: boolean,
    at?: SampleTime,
  ): GNNGraph;

  override sample(targets: Int32Array, at?: SampleTime): DenseSample {
    return this.getNeighbors(targets, undefined, undefined, at).sample;
  }
}

/** Samples k hops: (storage, numLayers, strategy, maxNeighborsSize). */
class MariusKHopNeighborSampler extends KHopNeighborSampler implements NeighborSampler {
  getNeighbors(nodeIds: Int32Array, incoming?: boolean, outgoing?: boolean, at?: SampleTime): GNNGraph {
    const { numLocalRows } = this.graphStorage.residency;
    return GNNGraph.of(this.sampler(incoming, outgoing).sample(nodeIds, at), numLocalRows);
  }
}

export { MariusKHopNeighborSampler as kHopNeighborSampler };

/**
 * Weights of training edges by how often their queries occur: w = 1/√(#(head, relation) + #(relation, tail)), each count plus
 * 3, as in Sun et al., "RotatE" (2019). They are scaled to a mean of 1 over the batch.
 */
import type { EdgeList } from '../../../sample/one-hop-sampler.js';
import { StateError } from '../../../util/errors.js';
import type { GraphStorage } from '../graph/storage/graph-storage.js';

const least = 3;

export class SubsamplingWeights {
  readonly #storage: GraphStorage;

  constructor(storage: GraphStorage) {
    this.#storage = storage;
  }

  /** Counts the training edges, before the first batch. */
  async prepare(): Promise<void> {
    if (!this.#storage.allResident)
      throw new StateError(
        'SubsamplingWeights: expected all nodes in memory to count their edges, got a partition buffer. Train without subsampling.',
      );
    await this.#storage.trainFilterIndex();
  }

  ofEdges({ src, dst, relations = null }: EdgeList): Float32Array {
    const index = this.#storage.knownFilter;
    const tails = index.counts(src, relations, true);
    const heads = index.counts(dst, relations, false);
    const weights = Float64Array.from(tails, (count, i) => 1 / Math.sqrt(count + heads[i] + 2 * least));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return Float32Array.from(weights, (weight) => (weight * weights.length) / total);
  }
}

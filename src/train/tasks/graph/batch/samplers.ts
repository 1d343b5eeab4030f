/**
 * Samplers of the edges or nodes of a batch: abstract classes to extend, and random orders. Draws depend on (seed, epoch,
 * step) of the batch alone.
 */
import { kernels } from '../../../../native/index.js';
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import { checkOptionNames } from '../../../../util/option-names.js';
import { Random } from '../../../../util/philox.js';
import type { GraphStorage } from '../storage/graph-storage.js';
import type { TrainingBatch } from './training-batch.js';

/** Independent uses of one seed; apart from those of the samplers in `skein/sample`. */
export const streams = { order: 16, negatives: 17, queries: 18, validation: 19 } as const;

export abstract class TrainingEdgeSampler {
  readonly graphStorage: GraphStorage;

  constructor(graphStorage: GraphStorage) {
    this.graphStorage = graphStorage;
  }

  /** Returns edges batch.startIndex … + batchSize − 1 of the active ones. */
  abstract getEdges(batch: TrainingBatch): EdgeList;
}

export interface OrderOptions {
  readonly seed?: number;
  /** false takes edges in their order (default true). */
  readonly shuffle?: boolean;
}

/** Draws every active edge once per epoch, in random order. */
export class RandomEdgeSampler extends TrainingEdgeSampler {
  readonly #order: ShuffledOrder;

  constructor(graphStorage: GraphStorage, options: OrderOptions = {}) {
    super(graphStorage);
    checkOptionNames('RandomEdgeSampler', options, { seed: true, shuffle: true });
    this.#order = new ShuffledOrder(options);
  }

  override getEdges(batch: TrainingBatch): EdgeList {
    const { graphStorage } = this;
    return graphStorage.pickEdges(this.#order.range(graphStorage.numActiveEdges, batch, graphStorage.state));
  }
}

export abstract class TrainingNodeSampler {
  readonly graphStorage: GraphStorage;

  constructor(graphStorage: GraphStorage) {
    this.graphStorage = graphStorage;
  }

  abstract getNodes(batch: TrainingBatch): Int32Array;
}

/** Draws every active training node once per epoch, in random order. */
export class RandomNodeSampler extends TrainingNodeSampler {
  readonly #order: ShuffledOrder;

  constructor(graphStorage: GraphStorage, options: OrderOptions = {}) {
    super(graphStorage);
    checkOptionNames('RandomNodeSampler', options, { seed: true, shuffle: true });
    this.#order = new ShuffledOrder(options);
  }

  override getNodes(batch: TrainingBatch): Int32Array {
    const { activeNodes, state } = this.graphStorage;
    return this.#order.range(activeNodes.length, batch, state).map((i) => activeNodes[i]);
  }
}

/** A permutation per epoch and buffer state, computed once. */
class ShuffledOrder {
  readonly #random: Random;
  readonly #shuffle: boolean;
  #made = '';
  #order = new Int32Array(0);

  constructor(options: OrderOptions) {
    this.#random = new Random(options.seed ?? 0, streams.order);
    this.#shuffle = options.shuffle ?? true;
  }

  range(length: number, batch: TrainingBatch, state: number): Int32Array {
    const { startIndex, batchSize, at } = batch;
    const end = Math.min(startIndex + batchSize, length);
    if (!this.#shuffle) return Int32Array.from({ length: end - startIndex }, (_, i) => startIndex + i);
    const made = `${at.epoch}.${state}.${length}`;
    if (made !== this.#made) {
      if (this.#order.length !== length) this.#order = new Int32Array(length);
      kernels().randomPermutation(this.#order, length, this.#random.split(at.epoch).split(state).key);
      this.#made = made;
    }
    return this.#order.slice(startIndex, end);
  }
}

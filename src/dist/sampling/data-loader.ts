/**
 * Batches of a partitioned graph (as SAR's `DataLoader`): every worker iterates over its own seeds, and all yield the
 * same number of batches, because sampling and the exchange of gradients are collective.
 *
 * A worker with fewer batches than the others either repeats its seeds (`uneven: 'repeat'`, as SAR) or distributes them
 * over all batches, each seed once (`'spread'`). One without seeds yields empty batches: blocks without rows, to be
 * passed through forward, backward and `gatherGrads` like others. All workers must leave a loop at the same batch.
 *
 * Features of the next batches are fetched while one is in use. Batch `step` of worker r draws as step `step · workers
 * + r` on one machine does, so that workers draw independently.
 *
 * @example
 * const loader = new DataLoader(graph, trainIds, sampler, { batchSize: 1000, shuffle: true });
 * for (const blocks of loader) output = model.forward(blocks, blocks[0].srcdata.features);
 */
import type { Block } from '../../graph/index.js';
import { kernels } from '../../native/index.js';
import { checkFlag } from '../../sample/checks.js';
import { DrawKeys, purposes } from '../../sample/sampler.js';
import type { Ids } from '../../tensor/index.js';
import { checkIds } from '../../tensor/ops/common.js';
import { evenRange } from '../../util/arrays.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { type Sampleable, samplingGraph } from './convert-dist-graph.js';
import type { DistGraph } from './dist-graph.js';
import type { DistNeighborSampler, PendingSample } from './dist-neighbor-sampler.js';
import { clusterSeeds } from './optimized-batches.js';

export const unevenRules = ['repeat', 'spread'] as const;

export interface DataLoaderOptions {
  /** Seeds per batch and worker. */
  readonly batchSize: number;
  /** Omit a last batch with fewer seeds. */
  readonly dropLast?: boolean;
  /** Use a different order in every epoch (default false, as SAR). */
  readonly shuffle?: boolean;
  /** Behaviour of a worker with fewer seeds (default 'repeat'). */
  readonly uneven?: (typeof unevenRules)[number];
  /** Batches of seeds that share neighbours, computed once by METIS; of about `batchSize` seeds (default false). */
  readonly precomputeOptimizedBatches?: boolean;
  /** Batches whose features are fetched ahead (default 1). */
  readonly prefetch?: number;
  /** Dispose a batch's features when the next batch is requested (default true). */
  readonly reuse?: boolean;
  readonly seed?: number;
}

const name = 'DataLoader';

export class DataLoader implements Iterable<readonly Block[]> {
  /** Batches per epoch, the same on all workers. */
  readonly length: number;
  readonly #graph: DistGraph;
  readonly #sampler: DistNeighborSampler;
  readonly #seeds: Int32Array;
  readonly #batchSize: number;
  readonly #dropLast: boolean;
  readonly #shuffle: boolean;
  readonly #uneven: (typeof unevenRules)[number];
  readonly #prefetch: number;
  readonly #reuse: boolean;
  readonly #order: DrawKeys;
  readonly #clusters: readonly Int32Array[] | null;
  #epoch = 0;

  /**
   * Collective.
   *
   * @param seedNodes global ids of this worker's seeds
   * @param given options, or the batch size alone, as in SAR
   */
  constructor(
    graph: Sampleable,
    seedNodes: Ids,
    sampler: DistNeighborSampler,
    given: DataLoaderOptions | number,
  ) {
    const options: DataLoaderOptions = typeof given === 'number' ? { batchSize: given } : given;
    checkOptionNames('DataLoader', options, {
      batchSize: true,
      dropLast: true,
      shuffle: true,
      uneven: true,
      precomputeOptimizedBatches: true,
      prefetch: true,
      reuse: true,
      seed: true,
    });
    this.#graph = samplingGraph(graph);
    this.#sampler = sampler;
    this.#seeds = checkIds(name, 'seedNodes', seedNodes, this.#graph.numNodes).slice();
    this.#batchSize = checkInteger(name, 'batchSize', options.batchSize, 1);
    this.#shuffle = checkFlag(name, 'shuffle', options.shuffle, false);
    this.#uneven = options.uneven ?? 'repeat';
    if (!unevenRules.includes(this.#uneven))
      throw new ValueError(expected(name, unevenRules.join(' or '), 'uneven', this.#uneven));
    this.#prefetch = checkInteger(name, 'prefetch', options.prefetch ?? 1, 0, 64);
    this.#reuse = checkFlag(name, 'reuse', options.reuse, true);
    const { comm } = this.#graph;
    this.#order = new DrawKeys(name, options.seed ?? 0, purposes.order);
    const batches = this.#seeds.length / this.#batchSize;
    this.#dropLast = checkFlag(name, 'dropLast', options.dropLast, false);
    const most = Int32Array.of(this.#dropLast ? Math.floor(batches) : Math.ceil(batches));
    comm.allReduce(most, 'max');
    this.length = most[0];
    const optimized = checkFlag(
      name,
      'precomputeOptimizedBatches',
      options.precomputeOptimizedBatches,
      false,
    );
    this.#clusters = optimized
      ? clusterSeeds(this.#graph, this.#seeds, this.length, options.seed ?? 0)
      : null;
  }

  /** Returns the batches of the next epoch: the first loop is epoch 0. */
  [Symbol.iterator](): Iterator<readonly Block[], void, void> {
    return this.epoch(this.#epoch++);
  }

  /** Returns the batches of epoch `epoch`, which must be the same on all workers. */
  *epoch(epoch: number): Generator<readonly Block[], void, void> {
    checkInteger(name, 'epoch', epoch);
    const seeds = this.#batches(epoch);
    const { rank, size } = this.#graph.comm;
    const ahead: PendingSample[] = [];
    let next = 0;
    const fill = (count: number): void => {
      for (; next < this.length && ahead.length < count; next++)
        ahead.push(this.#sampler.start(this.#graph, seeds(next), { epoch, step: next * size + rank }));
    };
    let current: PendingSample | null = null;
    try {
      for (let step = 0; step < this.length; step++) {
        fill(1);
        current = ahead.shift() as PendingSample;
        fill(this.#prefetch);
        yield current.finish();
        if (this.#reuse) current.recycle();
      }
    } finally {
      for (const left of ahead) left.recycle();
    }
  }

  /** Returns the seeds of each batch of an epoch. */
  #batches(epoch: number): (step: number) => Int32Array {
    const { key } = this.#order.at({ epoch, step: 0 });
    const clusters = this.#clusters;
    if (clusters !== null) {
      const order = this.#shuffle ? permutation(clusters.length, key) : null;
      return (step) => clusters[order === null ? step : order[step]];
    }
    const n = this.#seeds.length;
    if (n === 0) return () => this.#seeds;
    let seeds = this.#seeds;
    if (this.#shuffle) {
      const order = permutation(n, key);
      seeds = seeds.map((_, i) => this.#seeds[order[i]]);
    }
    if (this.#uneven === 'spread' && n < this.length * this.#batchSize)
      return (step) => {
        const { start, end } = evenRange(n, step, this.length);
        return seeds.subarray(start, end);
      };
    // After the last seed, the seeds are repeated in whole rounds of batches.
    const whole = n / this.#batchSize;
    const round = Math.max(1, this.#dropLast ? Math.floor(whole) : Math.ceil(whole));
    return (step) => seeds.subarray((step % round) * this.#batchSize, ((step % round) + 1) * this.#batchSize);
  }
}

function permutation(count: number, key: Uint32Array): Int32Array {
  const order = new Int32Array(count);
  kernels().randomPermutation(order, count, key);
  return order;
}

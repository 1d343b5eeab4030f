/**
 * Batches of a stream for one of several workers: the boundaries of batches are those of one process, and this worker gets its chunks
 * of each batch. Neighbours of the next batch are sampled while this one is computed; memory and mail of all chunks are read in one
 * exchange when the batch is requested, after the commit of the previous one.
 */
import type { TemporalGraph } from '../../graph/index.js';
import { BatchMaker, range, type SampledPairs } from '../../temporal/batch-maker.js';
import type { TemporalBatch, TemporalLoaderOptions } from '../../temporal/index.js';
import { TemporalLoader } from '../../temporal/index.js';
import { rowLimitOf } from '../../temporal/loader.js';
import { disposeRows } from '../../temporal/mailbox/rows.js';
import type { EventBatch, TemporalBatches } from '../../temporal/steps.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import type { Division } from './division.js';

/** A batch of all workers, with the chunks of this one. */
export interface WorkerBatch extends EventBatch {
  /** The events of all workers. */
  readonly eventRows: Int32Array;
  readonly epoch: number;
  readonly step: number;
  readonly division: Division;
  /** Number of negatives per event. */
  readonly amount: number;
  /** Chunks of this worker; null for a chunk without events. */
  readonly chunks: readonly (TemporalBatch | null)[];
}

export interface WorkerLoaderOptions extends TemporalLoaderOptions {
  readonly comm: Communicator;
  readonly division: Division;
}

export class WorkerLoader implements TemporalBatches<WorkerBatch> {
  readonly #options: WorkerLoaderOptions;
  readonly #plan: TemporalLoader;
  readonly #maker: BatchMaker;

  constructor(graph: TemporalGraph, options: WorkerLoaderOptions) {
    checkOptionNames('WorkerLoader', options, {
      batchSize: true,
      chunks: true,
      tieGroups: true,
      seed: true,
      windowOf: true,
      sampler: true,
      negatives: true,
      mailbox: true,
      rows: true,
      pairDepth: true,
      cadence: true,
      recycle: true,
      comm: true,
      division: true,
    });
    this.#options = options;
    this.#plan = new TemporalLoader(graph, options);
    this.#maker = new BatchMaker(graph, options.mailbox ?? null, options.pairDepth ?? 0);
  }

  get numEvents(): number {
    return this.#plan.numEvents;
  }

  /** Yields the batches of an epoch, from batch `from` on. Collective. */
  async *epoch(epoch: number, from = 0): AsyncGenerator<WorkerBatch> {
    const boundaries = this.#plan.boundaries(epoch);
    const rowsOf = (step: number): Int32Array => {
      const { rows } = this.#options;
      const [begin, end] = [boundaries[step], boundaries[step + 1]];
      return rows?.slice(begin, end) ?? range(begin, end);
    };
    const count = boundaries.length - 1;
    let next = from < count ? this.#start(rowsOf(from), epoch, from) : null;
    for (let step = from; next !== null; step++) {
      const now: Promise<(SampledPairs | null)[]> = next;
      next = step + 1 < count ? this.#start(rowsOf(step + 1), epoch, step + 1) : null;
      // A failure of the next batch is thrown when that batch is requested; until then it must not count as unhandled.
      next?.catch(() => undefined);
      const batch = this.#make(await now, rowsOf(step), epoch, step);
      yield batch;
      if (this.#options.recycle === true)
        for (const chunk of batch.chunks)
          if (chunk !== null && chunk.state !== null) disposeRows(chunk.state);
    }
  }

  #make(
    sampled: readonly (SampledPairs | null)[],
    eventRows: Int32Array,
    epoch: number,
    step: number,
  ): WorkerBatch {
    const { division, negatives } = this.#options;
    const made = this.#maker.makeEach(sampled.filter((one) => one !== null));
    let next = 0;
    const chunks = sampled.map((one) => (one === null ? null : made[next++]));
    return { eventRows, epoch, step, division, amount: negatives?.amount ?? 0, chunks };
  }

  /** Sampling begins before this returns. */
  #start(eventRows: Int32Array, epoch: number, step: number): Promise<(SampledPairs | null)[]> {
    const { comm, division, negatives, sampler } = this.#options;
    const chunks = division.positions(eventRows, comm.rank).map(async (positions) => {
      if (positions.length === 0) return null;
      const rows = positions.map((i) => eventRows[i]);
      const others = negatives?.draw(rows, { epoch }) ?? new Int32Array(0);
      const pairs = this.#maker.pairs(rows, others, rowLimitOf(this.#options, eventRows));
      const roots = this.#maker.roots(pairs);
      return { pairs, roots, sample: await sampler.sampleAsync(roots, { epoch, step }) };
    });
    return Promise.all(chunks);
  }
}

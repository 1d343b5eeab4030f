/**
 * Batches of a stream for one of several workers: the boundaries of batches are those of one worker, and of each batch this
 * one gets its parts. Neighbours of the next batch are sampled while this one is computed; the state of all parts is read
 * in one exchange when the batch is asked for, after the commit of the one before.
 */
import type { TemporalGraph } from '../../graph/index.js';
import { BatchMaker, range, type SampledPairs } from '../../temporal/batch-maker.js';
import type { TemporalBatch, TemporalBatches, TemporalLoaderOptions } from '../../temporal/index.js';
import { TemporalLoader } from '../../temporal/index.js';
import { disposeRows } from '../../temporal/mailbox/rows.js';
import type { EventBatch } from '../../temporal/steps.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import type { Division } from './division.js';

/** A batch of all workers, and what this one computes of it. */
export interface WorkerBatch extends EventBatch {
  /** The events of all workers. */
  readonly eventRows: Int32Array;
  readonly epoch: number;
  readonly step: number;
  readonly division: Division;
  /** Negatives of each event. */
  readonly amount: number;
  /** Parts of this worker; null where a part has no events. */
  readonly parts: readonly (TemporalBatch | null)[];
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

  /** The batches of an epoch, from batch `from` on. All workers go through them together. */
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
      // Failures of the one ahead are met when its turn comes; until then they are not unhandled.
      next?.catch(() => undefined);
      const batch = this.#make(await now, rowsOf(step), epoch, step);
      yield batch;
      if (this.#options.recycle === true)
        for (const part of batch.parts) if (part !== null && part.state !== null) disposeRows(part.state);
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
    const parts = sampled.map((one) => (one === null ? null : made[next++]));
    return { eventRows, epoch, step, division, amount: negatives?.amount ?? 0, parts };
  }

  /** Sampling begins before this returns. */
  #start(eventRows: Int32Array, epoch: number, step: number): Promise<(SampledPairs | null)[]> {
    const { comm, division, negatives, sampler } = this.#options;
    const parts = division.positions(eventRows, comm.rank).map(async (positions) => {
      if (positions.length === 0) return null;
      const rows = positions.map((i) => eventRows[i]);
      const pairs = this.#maker.pairs(rows, negatives?.draw(rows, { epoch }) ?? new Int32Array(0));
      const roots = this.#maker.roots(pairs);
      return { pairs, roots, sample: await sampler.sampleAsync(roots, { epoch, step }) };
    });
    return Promise.all(parts);
  }
}

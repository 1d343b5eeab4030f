/**
 * Batches of edges or nodes of a graph for `fit`: drawn by a `BatchSource`, with up to `bound` of them read ahead.
 *
 * The rows of batch t are read when exactly the updates of batches up to t − bound have been applied, so results
 * depend on the bound and not on timing, and a bound of 1 is synchronous training bit for bit. Neighbours are sampled and
 * rows are read on other threads while the model computes. All batches are trained before partitions are swapped.
 */

import { StateError } from '../../../util/errors.js';
import type { Batches, Cursor } from '../../task.js';
import type { BatchSource } from './batch/batch-source.js';
import type { TrainingBatch } from './batch/training-batch.js';

export class GraphBatches implements Batches<TrainingBatch> {
  readonly #source: BatchSource;
  readonly #bound: number;
  /** The plan key of the epoch that a checkpoint was saved in; null: the current one. */
  plan: string | null = null;
  /** The read in flight, which must not see later updates. */
  #reading = Promise.resolve();

  constructor(source: BatchSource, bound: number) {
    this.#source = source;
    this.#bound = bound;
  }

  get numItems(): number {
    return this.#source.numItemsOf('train');
  }

  get readsAhead(): boolean {
    return this.#bound > 1;
  }

  /** Resolves when no rows are being read; updates wait for it. */
  idle(): Promise<void> {
    return this.#reading;
  }

  async *epoch(epoch: number, from: Cursor = { step: 0 }): AsyncGenerator<TrainingBatch, void, undefined> {
    const source = this.#source;
    const { step, state = 0, cursor = 0 } = from;
    const { planKey } = source;
    if (step > 0 && this.plan !== null && this.plan !== planKey)
      throw new StateError(
        `resume: expected the partitions that the epoch was started with (${this.plan || 'all in one state'}), got others (${planKey || 'all in one state'}). Resume with the same number of workers, budget, buffer and training.form, or from a checkpoint at the end of an epoch.`,
      );
    this.plan = null;
    source.seek({ epoch, state, step, cursor });
    source.select('train');
    await source.load();
    const queue = new ReadAhead(source, this.#bound);
    try {
      for (;;) {
        this.#reading = queue.read();
        this.#reading.catch(() => undefined);
        if (queue.isEmpty) await this.#reading;
        const batch = queue.take();
        if (batch === null) break;
        yield batch;
        source.finishBatch();
        batch.dispose();
      }
      await source.endEpoch();
    } finally {
      await queue.close();
      source.abandonBatches();
      this.#reading = Promise.resolve();
    }
  }
}

/** A queue of drawn batches, the first of them with their rows. */
class ReadAhead {
  readonly #source: BatchSource;
  readonly #bound: number;
  readonly #drawn: Promise<TrainingBatch>[] = [];
  readonly #loaded: TrainingBatch[] = [];
  #closed = false;
  #reading = Promise.resolve();

  constructor(source: BatchSource, bound: number) {
    this.#source = source;
    this.#bound = bound;
  }

  get isEmpty(): boolean {
    return this.#loaded.length === 0;
  }

  take(): TrainingBatch | null {
    return this.#loaded.shift() ?? null;
  }

  /** Draws as many batches as the bound allows and reads their rows as they are now. */
  read(): Promise<void> {
    this.#draw();
    this.#reading = this.#load();
    return this.#reading;
  }

  /** Draws ahead, but never into a buffer state that is not resident yet. */
  #draw(): void {
    const source = this.#source;
    const ahead = (): number => this.#drawn.length + this.#loaded.length;
    while (!this.#closed && ahead() < this.#bound && source.hasNext()) {
      const entersState = source.isAtStateEnd;
      if (entersState && ahead() > 0) return;
      const next = source.draw();
      // The error is thrown to the consumer of the queue; until then it must not count as unhandled.
      next.catch(() => undefined);
      this.#drawn.push(next);
      if (entersState) return;
    }
  }

  async #load(): Promise<void> {
    while (this.#drawn.length > 0) {
      const drawn = await (this.#drawn.shift() as Promise<TrainingBatch>);
      this.#loaded.push(await this.#source.read(drawn, this.#bound > 1));
      this.#draw();
    }
  }

  /** Waits for reads in flight and drops batches that were read ahead. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([this.#reading, ...this.#drawn]);
    for (const batch of this.#loaded.splice(0)) batch.dispose();
  }
}

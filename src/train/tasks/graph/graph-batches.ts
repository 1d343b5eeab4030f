/**
 * Batches of edges or nodes of a graph for `fit`: drawn by a `GraphBatcher`, with up to `bound` of them read ahead.
 *
 * The parameters of batch t are read when exactly the updates of batches up to t − bound have been applied, so results
 * depend on the bound and not on timing, and a bound of 1 is synchronous training bit for bit. Neighbours are sampled and
 * rows are read on other threads while the model computes. All batches are trained before partitions are swapped.
 */

import { StateError } from '../../../util/errors.js';
import type { Batches, Cursor } from '../../task.js';
import type { Batch } from './batch/batch.js';
import type { GraphBatcher } from './batch/graph-batcher.js';

export class GraphBatches implements Batches<Batch> {
  readonly #batcher: GraphBatcher;
  readonly #bound: number;
  /** How the epoch was cut into states that a checkpoint within it was saved in; null: as it is now. */
  plan: string | null = null;
  /** What is being read must not see an update whose turn it was not. */
  #reading = Promise.resolve();

  constructor(batcher: GraphBatcher, bound: number) {
    this.#batcher = batcher;
    this.#bound = bound;
  }

  get numItems(): number {
    return this.#batcher.numItemsOf('train');
  }

  get readsAhead(): boolean {
    return this.#bound > 1;
  }

  /** Resolves when no parameters are being read: updates wait for it. */
  idle(): Promise<void> {
    return this.#reading;
  }

  async *epoch(epoch: number, from: Cursor = { step: 0 }): AsyncGenerator<Batch, void, undefined> {
    const batcher = this.#batcher;
    const { step, state = 0, cursor = 0 } = from;
    const { planKey } = batcher.graphStorage;
    if (step > 0 && this.plan !== null && this.plan !== planKey)
      throw new StateError(
        `resume: expected the partitions that the epoch was begun with (${this.plan || 'all in one state'}), got others (${planKey || 'all in one state'}). Resume with the number of workers, the budget and the buffer that it had, or from a checkpoint at the end of an epoch.`,
      );
    this.plan = null;
    batcher.seek({ epoch, state, step, cursor });
    batcher.setTrainSet();
    await batcher.loadStorage();
    const queue = new ReadAhead(batcher, this.#bound);
    try {
      for (;;) {
        this.#reading = queue.read();
        this.#reading.catch(() => undefined);
        if (queue.isEmpty) await this.#reading;
        const batch = queue.take();
        if (batch === null) break;
        yield batch;
        batcher.finishedBatch();
        batch.clear();
      }
      await batcher.nextEpoch();
    } finally {
      await queue.close();
      batcher.abandonBatches();
      this.#reading = Promise.resolve();
    }
  }
}

/** Batches that are drawn, and of them those whose parameters are there. */
class ReadAhead {
  readonly #batcher: GraphBatcher;
  readonly #bound: number;
  readonly #drawn: Promise<Batch>[] = [];
  readonly #loaded: Batch[] = [];
  #closed = false;
  #reading = Promise.resolve();

  constructor(batcher: GraphBatcher, bound: number) {
    this.#batcher = batcher;
    this.#bound = bound;
  }

  get isEmpty(): boolean {
    return this.#loaded.length === 0;
  }

  take(): Batch | null {
    return this.#loaded.shift() ?? null;
  }

  /** Draws as many batches as the bound allows and reads their parameters as they are now. */
  read(): Promise<void> {
    this.#draw();
    this.#reading = this.#load();
    return this.#reading;
  }

  /** Draws ahead, never into a state whose partitions are not there yet. */
  #draw(): void {
    const batcher = this.#batcher;
    const ahead = (): number => this.#drawn.length + this.#loaded.length;
    while (!this.#closed && ahead() < this.#bound && batcher.hasNextBatch()) {
      const entersState = batcher.atStateEnd;
      if (entersState && ahead() > 0) return;
      const next = batcher.prepareBatch();
      // The consumer of the queue meets the error; until then it must not count as unhandled.
      next.catch(() => undefined);
      this.#drawn.push(next);
      if (entersState) return;
    }
  }

  async #load(): Promise<void> {
    while (this.#drawn.length > 0) {
      const batch = await (this.#drawn.shift() as Promise<Batch>);
      await this.#batcher.loadParameters(batch, this.#bound > 1);
      this.#loaded.push(batch);
      this.#draw();
    }
  }

  /** Ends what is under way and drops what was read ahead. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([this.#reading, ...this.#drawn]);
    for (const batch of this.#loaded.splice(0)) batch.clear();
  }
}

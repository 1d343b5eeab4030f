/**
 * Models that are opened when the first question about them arrives: a page lists many runs, of which its reader asks few.
 * The ones used last stay open.
 */
import { HttpError } from '../http-error.js';
import type { QueueOptions } from '../request-queue.js';
import { type ModelSource, ServedModel } from '../served-model.js';

export interface LazyModelsOptions {
  /** Returns the source of a name; undefined if there is no such run. */
  readonly find: (name: string) => ModelSource | undefined;
  readonly onCall: (name: string) => NonNullable<QueueOptions['onCall']>;
  readonly onError: (error: unknown) => void;
}

/** Open models; the one that was used longest ago is closed for another. */
const mostOpen = 4;

export class LazyModels {
  readonly #options: LazyModelsOptions;
  /** In the order of use. */
  readonly #open = new Map<string, Promise<ServedModel>>();

  constructor(options: LazyModelsOptions) {
    this.#options = options;
  }

  async get(name: string): Promise<ServedModel> {
    const known = this.#open.get(name);
    if (known !== undefined) {
      this.#open.delete(name);
      this.#open.set(name, known);
      const model = await known;
      // A run that is being trained has a newer checkpoint from time to time.
      await model.reloadIfChanged().catch(this.#options.onError);
      return model;
    }
    const source = this.#options.find(name);
    if (source === undefined)
      throw new HttpError(
        404,
        'not_found',
        `expected the name of a run, got ${JSON.stringify(name.slice(0, 100))}.`,
      );
    const opening = ServedModel.open(source, {
      onCall: this.#options.onCall(name),
      onError: this.#options.onError,
    });
    this.#open.set(name, opening);
    try {
      const model = await opening;
      await this.#closeOldest();
      return model;
    } catch (error) {
      this.#open.delete(name);
      throw error;
    }
  }

  async #closeOldest(): Promise<void> {
    const [oldest] = this.#open.keys();
    if (this.#open.size <= mostOpen || oldest === undefined) return;
    const model = await (this.#open.get(oldest) as Promise<ServedModel>);
    // A question that waits would lose its answer.
    if (model.waiting > 0) return;
    this.#open.delete(oldest);
    await model.close();
  }

  async close(): Promise<void> {
    const models = await Promise.allSettled(this.#open.values());
    this.#open.clear();
    for (const one of models) if (one.status === 'fulfilled') await one.value.close();
  }
}

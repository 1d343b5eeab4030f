/**
 * Models that are opened when the first question about them arrives: a page lists many runs, of which its reader asks few.
 * The ones used last stay open; one that a request uses is not closed.
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

/** A model for one request. */
export interface TakenModel {
  readonly model: ServedModel;
  /** Says that the request has its answer; further calls do nothing. */
  release(): void;
}

interface OpenModel {
  readonly opening: Promise<ServedModel>;
  /** Requests that use it, or wait until it is open. */
  users: number;
}

/** Open models; of those without requests, the one that was used longest ago is closed for another. */
const mostOpen = 4;

export class LazyModels {
  readonly #options: LazyModelsOptions;
  /** In the order of use. */
  readonly #open = new Map<string, OpenModel>();
  readonly #closing = new Set<Promise<void>>();

  constructor(options: LazyModelsOptions) {
    this.#options = options;
  }

  /** Number of models that are open or being opened. */
  get size(): number {
    return this.#open.size;
  }

  /** Returns the model of a run, which stays open until it is released. */
  async take(name: string): Promise<TakenModel> {
    const known = this.#open.get(name);
    const one = known ?? this.#begin(name);
    this.#open.delete(name);
    this.#open.set(name, one);
    one.users++;
    let isTaken = true;
    const release = (): void => {
      if (!isTaken) return;
      isTaken = false;
      one.users--;
      this.#closeUnused();
    };
    try {
      const model = await one.opening;
      // A run that is being trained has a newer checkpoint from time to time.
      if (known !== undefined) await model.reloadIfChanged().catch(this.#options.onError);
      return { model, release };
    } catch (error) {
      if (this.#open.get(name) === one) this.#open.delete(name);
      release();
      throw error;
    }
  }

  #begin(name: string): OpenModel {
    const { find, onCall, onError } = this.#options;
    const source = find(name);
    if (source === undefined)
      throw new HttpError(
        404,
        'not_found',
        `expected the name of a run, got ${JSON.stringify(name.slice(0, 100))}. GET /runs lists them.`,
      );
    return { opening: ServedModel.open(source, { onCall: onCall(name), onError }), users: 0 };
  }

  #closeUnused(): void {
    for (const [name, { opening, users }] of this.#open) {
      if (this.#open.size <= mostOpen) return;
      if (users > 0) continue;
      this.#open.delete(name);
      const closing: Promise<void> = opening
        .then((model) => model.close())
        .catch(this.#options.onError)
        .finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
  }

  async close(): Promise<void> {
    const models = await Promise.allSettled([...this.#open.values()].map(({ opening }) => opening));
    this.#open.clear();
    for (const one of models) if (one.status === 'fulfilled') await one.value.close();
    await Promise.all(this.#closing);
  }
}

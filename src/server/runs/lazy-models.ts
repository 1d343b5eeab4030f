/**
 * Models that are opened when the first question about them arrives: a page lists many runs, of which its reader asks few.
 * The ones used last stay open; one that a request uses is not closed.
 */
import { InternalError, SkeinError, StateError } from '../../util/errors.js';
import { HttpError } from '../http-error.js';
import type { QueueOptions } from '../request-queue.js';
import { type ModelSource, type OpenedModel, ServedModel } from '../served-model.js';
import { checkRunFiles } from './run-file.js';

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
  /** Models of runs that have been removed, until their last request has its answer. */
  readonly #removed = new Set<OpenModel>();
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
    const source = this.#options.find(name);
    const known = this.#open.get(name);
    this.#open.delete(name);
    if (source === undefined) {
      if (known !== undefined) this.#remove(known);
      throw unknownRun(name);
    }
    const one = known ?? { opening: this.#begin(source), users: 0 };
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

  async #begin(source: ModelSource): Promise<ServedModel> {
    const { onCall, onError } = this.#options;
    const { name, path } = source;
    const open = async (): Promise<OpenedModel> => {
      checkRunFiles(path);
      return source.open();
    };
    try {
      return await ServedModel.open({ name, path, open }, { onCall: onCall(name), onError });
    } catch (error) {
      throw asAnswer(error);
    }
  }

  #remove(one: OpenModel): void {
    this.#removed.add(one);
    this.#closeUnused();
  }

  #closeUnused(): void {
    for (const one of this.#removed)
      if (one.users === 0) {
        this.#removed.delete(one);
        this.#close(one);
      }
    for (const [name, one] of this.#open) {
      if (this.#open.size <= mostOpen) return;
      if (one.users > 0) continue;
      this.#open.delete(name);
      this.#close(one);
    }
  }

  #close({ opening }: OpenModel): void {
    const closing: Promise<void> = opening
      .then((model) => model.close())
      .catch(this.#options.onError)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  async close(): Promise<void> {
    const kept = [...this.#open.values(), ...this.#removed];
    const models = await Promise.allSettled(kept.map(({ opening }) => opening));
    this.#open.clear();
    this.#removed.clear();
    for (const one of models) if (one.status === 'fulfilled') await one.value.close();
    await Promise.all(this.#closing);
  }
}

const unknownRun = (name: string): HttpError =>
  new HttpError(
    404,
    'not_found',
    `expected the name of a run, got ${JSON.stringify(name.slice(0, 100))}. GET /runs lists them.`,
  );

/** Returns the answer for a run that cannot be opened: the files are to blame, not the request, unless it is a defect. */
function asAnswer(error: unknown): unknown {
  const isOfFiles =
    error instanceof SkeinError && !(error instanceof StateError) && !(error instanceof InternalError);
  return isOfFiles ? new HttpError(409, 'unreadable', error.message) : error;
}

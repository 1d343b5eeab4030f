/**
 * A run that is served: its predictor, the requests that wait for it, and its replacement when the run has a newer model. A
 * request keeps the predictor that it began with; a replaced one is closed after its last request.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Ability, Predictor } from '../predict/index.js';
import { runAll } from '../util/run-all.js';
import { HttpError } from './http-error.js';
import type { LiveStream } from './live-stream.js';
import { type QueueOptions, RequestQueue, SliceError } from './request-queue.js';
import { fingerprint } from './watch-run.js';

export interface ModelSource {
  /** The name in paths. */
  readonly name: string;
  readonly path: string;
  /** Opens the model; called again when the run has a newer one. */
  open(): Promise<OpenedModel>;
}

export interface OpenedModel {
  readonly predictor: Predictor;
  /** Takes events; null unless the model is one of events. */
  readonly stream: LiveStream | null;
}

/** A predictor and the requests that use it. */
export interface ServedModelOptions extends QueueOptions {
  /** Told about a replaced model that cannot be closed. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Milliseconds that a closing model waits for its requests. */
const longestUse = 1000;

/** The most looks between two attempts to open a newer model. */
const mostPause = 64;

interface Loaded extends OpenedModel {
  readonly number: number;
  readonly since: Date;
  users: number;
  isRetired: boolean;
}

/** One request's view of a model. */
export interface ModelSession {
  readonly predictor: Predictor;
  /** Answers items, with others that have the same key and in slices. */
  each<T, A>(
    ability: Ability,
    key: string,
    items: readonly T[],
    call: (model: Predictor, items: readonly T[]) => Promise<ArrayLike<A>>,
  ): Promise<A[]>;
  /** Makes one call, in turn with those of other requests. */
  whole<A>(ability: Ability, call: (model: Predictor) => Promise<A>): Promise<A>;
  /**
   * Makes one long call in slices, between which other requests are answered: each ends when the call asks for its next
   * turn. A turn is rejected when the request ends. Long calls of one model run one after the other.
   */
  inTurns<A>(ability: Ability, call: (model: Predictor, turn: () => Promise<void>) => Promise<A>): Promise<A>;
}

export class ServedModel {
  readonly name: string;
  readonly #source: ModelSource;
  readonly #queue: RequestQueue;
  readonly #onCall: QueueOptions['onCall'];
  /** Resolves at the end of the last long call. */
  #longCall: Promise<void> = Promise.resolve();
  #loaded: Loaded;
  /** The files of the loaded model, and of the last look. */
  #ownFiles: string;
  #seenFiles: string;
  /** Failed attempts to open the files of the last look, and the looks until the next attempt. */
  #failures = 0;
  #pause = 0;
  #wholes = 0;
  readonly #onError: (error: unknown) => void;
  /** Replaced models that are being closed. */
  readonly #closing = new Set<Promise<void>>();
  #reloading: Promise<boolean> | null = null;
  #isClosed = false;
  /** Told that no request uses the model any more. */
  #onUnused: (() => void) | null = null;

  private constructor(source: ModelSource, opened: OpenedModel, files: string, options: ServedModelOptions) {
    const { onError = () => {}, ...queue } = options;
    this.name = source.name;
    this.#source = source;
    this.#onError = onError;
    this.#queue = new RequestQueue(queue);
    this.#onCall = queue.onCall;
    this.#loaded = newLoaded(opened, 1);
    this.#ownFiles = files;
    this.#seenFiles = files;
  }

  static async open(source: ModelSource, options: ServedModelOptions = {}): Promise<ServedModel> {
    // Before opening: a change while it opens is then seen later.
    const files = await fingerprint(source.path);
    return new ServedModel(source, await source.open(), files, options);
  }

  get predictor(): Predictor {
    return this.#loaded.predictor;
  }

  get stream(): LiveStream | null {
    return this.#loaded.stream;
  }

  /** Number of requests that wait for an answer. */
  get waiting(): number {
    return this.#queue.length;
  }

  get description() {
    const { kind, answers, classes, calibrated, metrics } = this.predictor;
    const { number, since } = this.#loaded;
    return {
      name: this.name,
      kind,
      answers,
      classes,
      calibrated,
      metrics,
      version: number,
      loaded: since.toISOString(),
    };
  }

  /** Throws unless the model answers questions of this kind. */
  checkAbility(ability: Ability): void {
    const { answers, kind } = this.predictor;
    if (!answers.includes(ability))
      throw new HttpError(
        409,
        'unsupported',
        `${ability}: expected a model that can do it, got ${this.name}, a model of ${kind}. It answers ${answers.join(', ')}.`,
      );
  }

  /** Runs a request on the model that is current when it begins. */
  async use<T>(work: (session: ModelSession) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const loaded = this.#loaded;
    loaded.users++;
    try {
      return await work(this.#session(loaded, signal));
    } finally {
      loaded.users--;
      if (loaded.users === 0) this.#onUnused?.();
      this.#closeUnused(loaded);
    }
  }

  #session(loaded: Loaded, signal: AbortSignal | undefined): ModelSession {
    const { predictor, number, stream } = loaded;
    const take = async (ability: Ability, call: () => Promise<unknown>): Promise<unknown> => {
      const key = `whole ${this.#wholes++}`;
      const kind = `${ability} whole`;
      const [answer] = await this.#ask({
        kind,
        key,
        items: [null],
        signal,
        call: async () => [await call()],
      });
      return answer;
    };
    return {
      predictor,
      each: async <T, A>(
        ability: Ability,
        key: string,
        items: readonly T[],
        call: (model: Predictor, items: readonly T[]) => Promise<ArrayLike<A>>,
      ): Promise<A[]> => {
        this.checkAbility(ability);
        return (await this.#ask({
          ...{ kind: ability, key: `${number} ${ability} ${key}`, items, signal },
          call: async (some) => {
            await stream?.settle();
            return call(predictor, some as readonly T[]);
          },
        })) as A[];
      },
      whole: async <A>(ability: Ability, call: (model: Predictor) => Promise<A>): Promise<A> => {
        this.checkAbility(ability);
        return (await take(ability, () => call(predictor))) as A;
      },
      inTurns: async <A>(
        ability: Ability,
        call: (model: Predictor, turn: () => Promise<void>) => Promise<A>,
      ): Promise<A> => {
        this.checkAbility(ability);
        return this.#oneByOne(async () => {
          signal?.throwIfAborted();
          await stream?.settle();
          const started = performance.now();
          const turn = async (): Promise<void> => {
            await setImmediate();
            signal?.throwIfAborted();
          };
          try {
            return await call(predictor, turn);
          } finally {
            const seconds = (performance.now() - started) / 1000;
            this.#onCall?.({ kind: ability, items: 1, requests: 1, seconds });
          }
        });
      },
    };
  }

  /**
   * Runs long calls one after the other. They do not take a place in the queue: a long question about a stream keeps its state,
   * a change of the state waits for the question, and requests of the queue may wait for the change.
   */
  async #oneByOne<A>(work: () => Promise<A>): Promise<A> {
    const previous = this.#longCall;
    let end = (): void => undefined;
    this.#longCall = new Promise((resolve) => {
      end = resolve;
    });
    await previous;
    try {
      return await work();
    } finally {
      end();
    }
  }

  async #ask(work: Parameters<RequestQueue['ask']>[0]): Promise<unknown[]> {
    try {
      return await this.#queue.ask(work);
    } catch (error) {
      throw error instanceof SliceError ? shiftPositions(error.cause, error.offset) : error;
    }
  }

  /**
   * Opens the model again if its files changed and then stayed the same for one look, so that one which is being written is
   * left alone. Returns whether it did. An attempt that fails is repeated after a pause of 1, 2, 4, … and at most 64
   * looks, and earlier if the files change. The state of an event stream is newer than its run, so that is never replaced.
   */
  reloadIfChanged(): Promise<boolean> {
    if (this.#isClosed || this.predictor.kind === 'events') return Promise.resolve(false);
    this.#reloading ??= this.#reload().finally(() => {
      this.#reloading = null;
    });
    return this.#reloading;
  }

  async #reload(): Promise<boolean> {
    const files = await fingerprint(this.#source.path);
    const isSettled = files === this.#seenFiles;
    this.#seenFiles = files;
    if (!isSettled) this.#failures = this.#pause = 0;
    if (files === this.#ownFiles || files === '' || !isSettled || this.#pause-- > 0) return false;
    const opened = await this.#source.open().catch((error: unknown) => {
      this.#pause = Math.min(2 ** this.#failures++, mostPause);
      throw error;
    });
    this.#ownFiles = files;
    this.#failures = this.#pause = 0;
    const previous = this.#loaded;
    const next = newLoaded(opened, previous.number + 1);
    if (this.#isClosed) {
      await next.predictor.close();
      return false;
    }
    this.#loaded = next;
    previous.isRetired = true;
    this.#closeUnused(previous);
    return true;
  }

  /** Closes a replaced model that has no requests. A failure is reported: no caller waits for it. */
  #closeUnused(loaded: Loaded): void {
    if (!loaded.isRetired || loaded.users > 0) return;
    const closing = loaded.predictor
      .close()
      .catch(this.#onError)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** Closes the model, also one that is being opened. */
  async close(): Promise<void> {
    this.#isClosed = true;
    // The caller of `reloadIfChanged` gets the error.
    await this.#reloading?.catch(() => {});
    await this.#unused();
    await runAll([
      () => Promise.all(this.#closing),
      async () => this.stream?.close(),
      () => this.predictor.close(),
    ]);
  }

  /** Waits for requests that use the model, which end at their next turn when their clients are gone, but not for ever. */
  async #unused(): Promise<void> {
    if (this.#loaded.users === 0) return;
    const isUnused = new Promise<void>((resolve) => {
      this.#onUnused = resolve;
    });
    await Promise.race([isUnused, setTimeout(longestUse, undefined, { ref: false })]);
  }
}

const newLoaded = (opened: OpenedModel, number: number): Loaded => ({
  ...{ ...opened, number, since: new Date() },
  ...{ users: 0, isRetired: false },
});

/** Adds the position of a slice to the positions in an error's message: `edges[3]` of the slice is another of the request. */
function shiftPositions(error: unknown, offset: number): unknown {
  if (offset > 0 && error instanceof Error)
    error.message = error.message.replace(
      /\b(edges|questions|names|events)\[(\d+)\]/g,
      (_, field: string, position: string) => `${field}[${Number(position) + offset}]`,
    );
  return error;
}

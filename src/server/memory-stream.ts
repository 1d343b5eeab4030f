/**
 * A stream in memory over an event predictor: accepted events are lost when the process ends. Events go to the model in batches,
 * between which requests are answered. Ids of events and requests are remembered, so that a repeated request changes nothing.
 */
import { setImmediate } from 'node:timers/promises';
import type { EventPredictor } from '../predict/event-predictor.js';
import type { StreamEvent } from '../predict/index.js';
import { HttpError } from './http-error.js';
import type { LiveStream } from './live-stream.js';

/** Events per pass of the model between which requests are answered. */
const batchSize = 200;
/** Ids that are remembered. */
const maxIds = 1_000_000;

export interface MemoryStreamOptions {
  /** Events that may wait for the model; beyond, requests are answered with status 429. Default 20,000. */
  readonly maxWaiting?: number;
  /** Told about a failing model. */
  readonly onError?: (error: unknown) => void;
}

type Answer = Awaited<ReturnType<LiveStream['append']>>;

export class MemoryStream implements LiveStream {
  /** A model that fails answers the next question with its error; nothing stops. */
  readonly failure = null;
  readonly quarantine = null;
  readonly addNodes = null;
  readonly #predictor: EventPredictor;
  readonly #maxWaiting: number;
  readonly #onError: (error: unknown) => void;
  readonly #eventIds = new Set<string>();
  readonly #requests = new Map<string, Answer>();
  #pump: Promise<void> | null = null;
  #isClosed = false;

  constructor(
    predictor: EventPredictor,
    { maxWaiting = 20_000, onError = () => {} }: MemoryStreamOptions = {},
  ) {
    this.#predictor = predictor;
    this.#maxWaiting = maxWaiting;
    this.#onError = onError;
  }

  async append(
    events: readonly StreamEvent[],
    { requestId }: { readonly requestId?: string },
  ): Promise<Answer> {
    const known = requestId === undefined ? undefined : this.#requests.get(requestId);
    if (known !== undefined) return known;
    const { scorer } = this.#predictor;
    if (scorer.numWaiting + events.length > this.#maxWaiting)
      throw new HttpError(
        429,
        'too_many_events',
        `events: expected at most ${this.#maxWaiting} events that wait for the model, got ${scorer.numWaiting + events.length}. Send them later.`,
        { headers: { 'retry-after': '1' } },
      );
    const ids = new Set<string>();
    const isKnown = events.map(({ id }) => {
      if (id === undefined) return false;
      const isRepeated = this.#eventIds.has(id) || ids.has(id);
      ids.add(id);
      return isRepeated;
    });
    const fresh = events.filter((_, i) => !isKnown[i]).map(({ id: _, ...event }) => event);
    if (fresh.length > 0) await this.#predictor.append(fresh);
    for (const id of ids) remember(this.#eventIds, id);
    const answer: Answer = {
      outcomes: isKnown.map((repeated) => (repeated ? 'duplicate' : 'accepted')),
      newNodes: 0,
    };
    if (requestId !== undefined) this.#keep(requestId, answer);
    // Failures reach the next question.
    this.settle().catch(this.#onError);
    return answer;
  }

  #keep(requestId: string, answer: Answer): void {
    this.#requests.set(requestId, answer);
    if (this.#requests.size > 10_000) this.#requests.delete(this.#requests.keys().next().value as string);
  }

  get version(): number {
    return this.#predictor.scorer.graph.numEvents;
  }

  settleAll(): Promise<void> {
    return this.settle();
  }

  settle(): Promise<void> {
    this.#pump ??= this.#advance().finally(() => {
      this.#pump = null;
    });
    return this.#pump;
  }

  async #advance(): Promise<void> {
    const { scorer, turns } = this.#predictor;
    while (!this.#isClosed && scorer.numWaiting > 0) {
      await turns.change(() => scorer.advance(batchSize));
      await setImmediate();
    }
  }

  status(): Readonly<Record<string, unknown>> {
    const { graph, numWaiting } = this.#predictor.scorer;
    return {
      ...{ durable: false, nodes: graph.numNodes, events: graph.numEvents, lag: numWaiting },
      watermark: Number.isFinite(graph.lastTime) ? graph.lastTime : null,
      score: this.#predictor.scorer.latency(),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pump?.catch(this.#onError);
  }
}

function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  if (ids.size > maxIds) ids.delete(ids.values().next().value as string);
}

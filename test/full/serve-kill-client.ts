/**
 * A client that must lose no event and send none twice: a request without an answer is sent again, with the same ids of
 * events or the same `Idempotency-Key`, until a server answers. Some that were answered are sent again as well.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamEvent } from 'skein/predict';
import { expect } from 'vitest';
import { post } from '../cli/served.js';
import { laterEvents, noise, requestsOf } from '../predict/stream-fixtures.js';

export interface EventRequest {
  readonly events: readonly StreamEvent[];
  /** Null: the ids of its events make it safe to repeat. */
  readonly key: string | null;
}

interface Appended {
  readonly accepted: number;
  readonly outcomes: readonly string[];
  readonly newNodes: number;
}

/** Requests of five events, safe to repeat by ids, by ids and key, or by key alone. */
export function eventRequests(count: number): EventRequest[] {
  return requestsOf(laterEvents(5 * count), 5).map((events, i) => ({
    events: i % 3 === 2 ? events.map(({ id: _, ...event }) => event) : events,
    key: i % 3 === 0 ? null : `request ${i}`,
  }));
}

export class PersistentClient {
  /** The address of the server; null while it is known to be down. */
  url: string | null = null;
  /** Answers so far, those to repeated requests included. */
  answers = 0;
  /** Requests that were sent, and whose connection broke before the answer. */
  broken = 0;
  /** Requests that were in the stream already when their first answer came: only the answer had been lost. */
  lostAnswers = 0;
  /** Whether a test has failed, so that nothing more is sent. */
  hasFailed = false;
  readonly #requests: readonly EventRequest[];
  /** The first answer to each request. */
  readonly #answers: Appended[] = [];
  #isStopped = false;

  constructor(requests: readonly EventRequest[]) {
    this.#requests = requests;
  }

  /** Ends `sendMany` once what it has begun is answered. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Sends requests in order until it is stopped; returns those that were sent, all of which are answered. */
  async sendMany(): Promise<readonly EventRequest[]> {
    // The events of a group cover 20 units of time, so that they are within the lateness in any order.
    const size = 8;
    let sent = 0;
    for (; !this.#isStopped; sent += size) {
      if (sent + size > this.#requests.length)
        throw new Error(`expected more than ${this.#requests.length} requests`);
      const again = sent === 0 ? [] : [this.repeat(Math.floor(sent * noise(sent, 50)))];
      const group = Array.from({ length: size }, (_, i) => this.#sendFirst(sent + i));
      await Promise.all([...group, ...again]);
    }
    return this.#requests.slice(0, sent);
  }

  /** Sends an answered request again, which must change nothing. */
  async repeat(i: number): Promise<void> {
    const { key, events } = this.#requests[i];
    const duplicates = { accepted: 0, outcomes: events.map(() => 'duplicate'), newNodes: 0 };
    expect(await this.#send(i)).toEqual(key === null ? duplicates : this.#answers[i]);
  }

  async #sendFirst(i: number): Promise<void> {
    const answer = await this.#send(i);
    const known = answer.outcomes.filter((outcome) => outcome === 'duplicate').length;
    if (known > 0) {
      // A request is in the log as a whole or not at all.
      expect([this.#requests[i].key, known]).toEqual([null, answer.outcomes.length]);
      this.lostAnswers++;
    } else for (const outcome of answer.outcomes) expect(outcome).toMatch(/^(accepted|waiting)$/);
    this.#answers[i] = answer;
  }

  async #send(i: number): Promise<Appended> {
    const { key, events } = this.#requests[i];
    while (!this.hasFailed) {
      const answer = this.url === null ? null : await this.#try(this.url, events, key);
      if (answer !== null) {
        this.answers++;
        return answer;
      }
      await sleep(5);
    }
    throw new Error(`request ${i} has no answer`);
  }

  /** Returns null if the request has to be sent again. */
  async #try(url: string, events: readonly StreamEvent[], key: string | null): Promise<Appended | null> {
    let [status, text] = [0, ''];
    try {
      const response = await post(
        `${url}/events`,
        { events },
        key === null ? {} : { 'idempotency-key': key },
      );
      status = response.status;
      text = await response.text();
    } catch (error) {
      const { cause } = error as { cause?: { code?: string } };
      if (cause?.code !== 'ECONNREFUSED') this.broken++;
      return null;
    }
    // 503: the server is stopping.
    if (status === 503) return null;
    if (status !== 200) throw new Error(`expected status 200, got ${status}: ${text}`);
    return JSON.parse(text) as Appended;
  }
}

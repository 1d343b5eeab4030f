/**
 * `DurableStream`: a predictor over a stream of events that survives its process. `append` resolves when the events are on
 * the disk; after a crash the stream continues with the same bits. Sending events again, out of order or with wrong clocks
 * does not change what the stream becomes; see docs/streams.md.
 */

import type { OpenedEventRun } from '../../train/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkNamedEvents } from '../check-questions.js';
import { EventPredictor } from '../event-predictor.js';
import type { AppendOptions, AppendResult, NamedEvent } from '../predictor.js';
import { Admission } from './admission.js';
import { checkId, plainEvent } from './check-events.js';
import { streamDigest } from './digest.js';
import type { PlainEvent, UnreadableMessage } from './log-entry.js';
import type { SourceMessage, Unreadable } from './sources/messages.js';
import { StreamEngine } from './stream-engine.js';
import { makeStreamParts, type StreamParts } from './stream-parts.js';
import { statusOf } from './stream-status.js';
import type { QuarantinedEvent, StreamEvent, StreamOptions, StreamStatus } from './types.js';

/** Messages of a source that are appended together. */
export interface SourceBatch {
  readonly source: string;
  /** After the last message of the batch; null for sources without positions. */
  readonly position: number | null;
  readonly messages: readonly SourceMessage[];
}

export class DurableStream extends EventPredictor {
  readonly #engine: StreamEngine;
  readonly #admission: Admission;

  private constructor({ run, scorer }: StreamParts, engine: StreamEngine, options: StreamOptions) {
    super(run, scorer);
    this.#engine = engine;
    this.#admission = new Admission(engine, options);
  }

  /** The run is closed with the stream, or if the stream cannot be opened. */
  static async open(run: OpenedEventRun, options: StreamOptions): Promise<DurableStream> {
    try {
      const parts = makeStreamParts(run, options);
      return new DurableStream(parts, await StreamEngine.open({ ...parts, options }), options);
    } catch (error) {
      await run.close();
      throw error;
    }
  }

  /** Released events since the stream was created: read it after an answer to know what the answer has seen. */
  get version(): number {
    return this.#engine.model.released;
  }

  /**
   * Appends events; resolves when they are on the disk and decided about. If one is invalid, none is written. Throws
   * `StreamBusyError` if too many events wait.
   */
  override append(events: readonly StreamEvent[], options: AppendOptions = {}): Promise<AppendResult> {
    return super.append(events, options);
  }

  protected override async appendList(
    events: readonly NamedEvent[],
    { source = '', requestId }: AppendOptions,
  ): Promise<AppendResult> {
    if (source !== '') checkId('source', source);
    if (requestId !== undefined) {
      const known = this.#engine.intake.known(checkId('requestId', requestId));
      if (known !== null) return known;
    }
    const plain = events.map((event, i) =>
      plainEvent(`events[${i}]`, event, this.columns, this.#engine.intake.rules.perSecond),
    );
    if (this.#engine.intake.rules.maxNewNodes === 0) this.#checkNames(plain);
    return this.#write(source, null, plain, [], requestId ?? null);
  }

  /** Appends messages of a source; its position becomes part of the log. Messages that are not events are quarantined. */
  async appendBatch({ source, position, messages }: SourceBatch): Promise<AppendResult> {
    const events: PlainEvent[] = [];
    const unreadable: UnreadableMessage[] = [];
    for (const message of messages) {
      const read = 'event' in message ? this.#tryEvent(message) : message;
      if ('reason' in read) unreadable.push({ text: `${read.reason}: ${read.text.slice(0, 1000)}` });
      else events.push(read);
    }
    return this.#write(source, position, events, unreadable, null);
  }

  /** Position of the last message of a source in the log; null if there is none. */
  positionOf(source: string): number | null {
    return this.#engine.intake.watermark.sources.get(source)?.position ?? null;
  }

  /** Releases all waiting events and applies them; later events before them are late. */
  async flush(): Promise<void> {
    await this.#engine.write({ kind: 'flush', now: Date.now() }, 1);
    await this.settled();
  }

  /** Resolves when everything that was appended before is part of the answers, with the version of the stream. */
  async settled(): Promise<number> {
    await this.#engine.settled();
    return this.version;
  }

  /** Returns events that were not applied, the oldest first. */
  quarantine(most = 1000): QuarantinedEvent[] {
    return this.#engine.intake.listQuarantine(most);
  }

  /** Takes quarantined events into the stream with their times, which are then right by decision. */
  async releaseQuarantined(keys: readonly number[]): Promise<void> {
    await this.#engine.write({ kind: 'release', now: Date.now(), keys: this.#checkKeys(keys) }, 1);
  }

  async deleteQuarantined(keys: readonly number[]): Promise<void> {
    await this.#engine.write({ kind: 'delete', now: Date.now(), keys: this.#checkKeys(keys) }, 1);
  }

  /** Writes a snapshot now; the stream does so by itself as well. */
  snapshot(): Promise<void> {
    return this.#engine.snapshot();
  }

  status(): StreamStatus {
    return statusOf(this.#engine, this.#admission.busy);
  }

  /** Returns a checksum of released events, names and the state of the model: equal for streams that are the same. */
  digest(): string {
    return streamDigest(this.#engine.model);
  }

  protected override refresh(): void {
    this.#engine.checkAlive();
    // Where the state does not depend on batches, answers see what has just been released.
    if (this.scorer.state?.isBatchFree === true) this.#engine.applyBatch();
  }

  protected override async release(): Promise<void> {
    try {
      await this.#engine.close();
    } finally {
      await super.release();
    }
  }

  #tryEvent({
    text,
    event,
  }: {
    readonly text: string;
    readonly event: StreamEvent;
  }): PlainEvent | Unreadable {
    try {
      checkNamedEvents('append', [event]);
      return plainEvent('message', event, this.columns, this.#engine.intake.rules.perSecond);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      return { text, reason: error.message };
    }
  }

  #write(
    source: string,
    position: number | null,
    events: readonly PlainEvent[],
    unreadable: readonly UnreadableMessage[],
    requestId: string | null,
  ): Promise<AppendResult> {
    const now = Date.now();
    let latest = Number.NEGATIVE_INFINITY;
    for (const { time } of events) latest = Math.max(latest, time);
    this.#engine.checkAlive();
    this.#admission.check(events.length, source, latest, now);
    const weight = Math.max(1, events.length);
    return this.#engine.write(
      { kind: 'append', now, source, position, requestId, events, unreadable },
      weight,
    );
  }

  #checkNames(events: readonly PlainEvent[]): void {
    const unknown = events.findIndex((event) => this.#engine.intake.hasNewName(event));
    if (unknown < 0) return;
    const { head, tail } = events[unknown];
    throw new ValueError(
      expected(
        'append',
        'names that the model knows',
        `events[${unknown}]`,
        `${head}, ${tail}`,
        "Open the stream with newNodes: 'allow'.",
      ),
    );
  }

  #checkKeys(keys: readonly number[]): readonly number[] {
    if (!Array.isArray(keys)) throw new ValueError(expected('quarantine', 'a list', 'keys', keys));
    for (const key of keys)
      if (!this.#engine.intake.quarantine.has(key))
        throw new ValueError(expected('quarantine', 'the key of a quarantined event', 'keys', key));
    return keys;
  }
}

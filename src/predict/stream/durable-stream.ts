/**
 * `DurableStream`: a predictor over a stream of events that survives its process. `append` resolves when the events are on
 * the disk; after a crash the stream continues with the same bits. Sending events again, out of order or with wrong clocks
 * does not change what the stream becomes; see docs/streams.md.
 */

import type { OpenedEventRun } from '../../train/index.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkNamedEvents } from '../check-questions.js';
import { EventPredictor } from '../event-predictor.js';
import { unknownEventNode } from '../find-name.js';
import type { Ability, AppendOptions, AppendResult, NamedEvent, ReadOptions } from '../predictor.js';
import { nodeFeatureWidth, plainNodes } from './added-nodes.js';
import { Admission } from './admission.js';
import { checkId, plainEvent } from './check-events.js';
import { streamDigest } from './digest.js';
import type { AppendEntry, PlainEvent, UnreadableMessage } from './log-entry.js';
import type { SourceMessage, UnreadableText } from './sources/messages.js';
import { StreamEngine } from './stream-engine.js';
import { makeStreamParts, type StreamParts } from './stream-parts.js';
import { statusOf } from './stream-status.js';
import type { QuarantinedEvent, StreamEvent, StreamNode, StreamOptions, StreamStatus } from './types.js';
import { WaitingView } from './waiting-view.js';

/** Messages of a source that are appended together. */
export interface SourceBatch {
  readonly source: string;
  /** After the last message of the batch; null for sources without positions. */
  readonly position: number | null;
  /** Identifies what was read before the position, such as a checksum. */
  readonly mark?: string;
  readonly messages: readonly SourceMessage[];
}

/** Throws for a batch that would leave a position or an event in the log that cannot be read again. */
function checkBatch({ source, position, mark, messages }: SourceBatch): void {
  const where = 'appendBatch';
  if (typeof source !== 'string') throw new ValueError(expected(where, 'a text', 'source', source));
  if (position !== null) checkInteger(where, 'position', position, 0);
  if (mark !== undefined && typeof mark !== 'string')
    throw new ValueError(expected(where, 'a text', 'mark', mark));
  if (!Array.isArray(messages)) throw new ValueError(expected(where, 'a list', 'messages', messages));
  for (const [i, message] of messages.entries())
    if (typeof message !== 'object' || message === null || !('event' in message || 'reason' in message))
      throw new ValueError(expected(where, 'an event, or a text with a reason', `messages[${i}]`, message));
}

export class DurableStream extends EventPredictor {
  readonly #engine: StreamEngine;
  readonly #admission: Admission;
  readonly #waiting: WaitingView;

  private constructor({ run, scorer }: StreamParts, engine: StreamEngine, options: StreamOptions) {
    super(run, scorer);
    this.#engine = engine;
    this.#admission = new Admission(engine, options);
    this.#waiting = new WaitingView(engine, run);
  }

  /** The run is closed with the stream, or if the stream cannot be opened. */
  static async open(run: OpenedEventRun, options: StreamOptions): Promise<DurableStream> {
    try {
      const parts = makeStreamParts(run, options);
      const engine = await StreamEngine.open({ ...parts, options });
      try {
        return new DurableStream(parts, engine, options);
      } catch (error) {
        await engine.close();
        throw error;
      }
    } catch (error) {
      await run.close();
      throw error;
    }
  }

  /**
   * Released events since the stream was created, which are neighbours for every question from then on. The memory of the
   * model has the first `status().applied` of them.
   */
  get version(): number {
    return this.#engine.model.released;
  }

  /**
   * Appends events; resolves when they are on the disk and decided about. If one is invalid, none is written. Throws
   * `StreamBusyError` if too many events wait.
   */
  override async append(events: readonly StreamEvent[], options: AppendOptions = {}): Promise<AppendResult> {
    if (Array.isArray(events) && !this.#isKnown(options)) this.#checkLag(events.length);
    return super.append(events, options);
  }

  protected override async appendList(
    events: readonly NamedEvent[],
    { source = '', requestId }: AppendOptions,
  ): Promise<AppendResult> {
    if (source !== '') checkId('append', 'source', source);
    if (requestId !== undefined) {
      const known = this.#engine.intake.known(checkId('append', 'requestId', requestId));
      if (known !== null) return known;
    }
    const plain = events.map((event, i) =>
      plainEvent(`events[${i}]`, event, this.columns, this.#engine.intake.rules.perSecond),
    );
    if (this.#engine.intake.rules.maxNewNodes === 0) this.#checkNames(plain);
    const [position, unreadable] = [null, []];
    return this.#write({ source, position, requestId: requestId ?? null, events: plain, unreadable });
  }

  /**
   * Adds nodes before an event brings them; resolves when they are on the disk. A node that is known changes nothing, and is an
   * error if other features are given. If one is wrong, none is added.
   */
  async addNodes(nodes: readonly StreamNode[]): Promise<Pick<AppendResult, 'newNodes'>> {
    const { intake, model } = this.#engine;
    const plain = plainNodes(nodes, model.parts.nodes, nodeFeatureWidth(this.run));
    this.#engine.checkAlive();
    const wrong = intake.refusal(plain);
    if (wrong !== null) throw new ValueError(wrong);
    const entry = { kind: 'nodes', now: Date.now(), nodes: plain } as const;
    const { newNodes, refused } = await this.#engine.write(entry, Math.max(1, plain.length));
    if (refused !== undefined) throw new ValueError(refused);
    return { newNodes };
  }

  /**
   * Appends messages of a source and its position, which become one record of the log: for sources other than those of
   * Skein. Messages that are not events are quarantined.
   */
  async appendBatch(batch: SourceBatch): Promise<AppendResult> {
    checkBatch(batch);
    const { source, position, mark, messages } = batch;
    this.#checkLag(messages.length);
    const events: PlainEvent[] = [];
    const unreadable: UnreadableMessage[] = [];
    for (const message of messages) {
      const read = 'event' in message ? this.#tryEvent(message) : message;
      if ('reason' in read) unreadable.push({ text: `${read.reason}: ${read.text.slice(0, 1000)}` });
      else events.push(read);
    }
    const at = { position, ...(mark === undefined ? {} : { mark }) };
    return this.#write({ source, ...at, requestId: null, events, unreadable });
  }

  /** Why the stream has stopped; null while it works. Cheaper than `status()`. */
  get failure(): string | null {
    return this.#engine.failure?.message ?? null;
  }

  /** Most events of one request. */
  get maxRequest(): number {
    return this.#admission.maxWaiting;
  }

  /** Tells the operator something about the stream: `onNotice` gets the sentence, and `status().notices` has it. */
  notify(sentence: string): void {
    this.#engine.notice(sentence);
  }

  /** Whether events of this stream have types. */
  get takesTypes(): boolean {
    return this.columns.takesTypes;
  }

  /** Position of the last message of a source in the log; null if there is none. */
  positionOf(source: string): number | null {
    return this.#engine.intake.watermark.sources.get(source)?.position ?? null;
  }

  /** The mark that a source gave with its position; null if it gave none. */
  markOf(source: string): string | null {
    return this.#engine.intake.watermark.sources.get(source)?.mark ?? null;
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

  /** Returns events that were not applied, the oldest first. For the next ones pass the last key as `after`. */
  quarantine(
    options: { readonly limit?: number | undefined; readonly after?: number | undefined } = {},
  ): QuarantinedEvent[] {
    checkOptionNames('quarantine', options, { limit: true, after: true });
    const { limit = 1000, after = -1 } = options;
    checkInteger('quarantine', 'limit', limit, 1);
    checkInteger('quarantine', 'after', after, -1);
    return this.#engine.intake.quarantine.list(limit, after);
  }

  /** Takes quarantined events into the stream with their times, which are then right by decision. */
  async releaseQuarantined(keys: readonly number[]): Promise<void> {
    const checked = this.#checkKeys(keys);
    const unreadable = checked.find((key) => this.#engine.intake.quarantine.eventAt(key) === undefined);
    if (unreadable !== undefined)
      throw new ValueError(
        expected(
          'quarantine',
          'keys of events',
          'keys',
          unreadable,
          'It is a message that could not be read: append the corrected event, then delete this entry.',
        ),
      );
    await this.#engine.write({ kind: 'release', now: Date.now(), keys: checked }, 1);
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

  protected override checkRead(where: Ability, read: NonNullable<ReadOptions['read']>): void {
    if (read === 'latest' && !this.#waiting.isVisible)
      throw new ValueError(
        expected(
          where,
          "'watermark'",
          'read',
          read,
          'This model answers from memory alone, without neighbours.',
        ),
      );
  }

  protected override seeing<T>(read: ReadOptions['read'], work: () => T): T {
    return read === 'latest' ? this.#waiting.seeing(work) : work();
  }

  protected override refresh(): void {
    this.#engine.checkAlive();
    // Where the state does not depend on batches, answers see what has just been released.
    if (this.scorer.state?.isBatchFree === true) this.#engine.applyNow();
  }

  protected override asking<T>(question: () => Promise<T>): Promise<T> {
    return this.#engine.asking(question);
  }

  protected override async release(): Promise<void> {
    try {
      await this.#engine.close();
    } finally {
      await super.release();
    }
  }

  /** A request that is known is answered, also while the stream is busy. */
  #isKnown(options: AppendOptions | null): boolean {
    const requestId = options?.requestId;
    return typeof requestId === 'string' && this.#engine.intake.known(requestId) !== null;
  }

  #checkLag(count: number): void {
    this.#engine.checkAlive();
    this.#admission.checkLag(count);
  }

  #tryEvent({
    text,
    event,
  }: {
    readonly text: string;
    readonly event: StreamEvent;
  }): PlainEvent | UnreadableText {
    // A message may have a field of this name by chance; sources refuse a mapping that names one.
    const { type: _, ...untyped } = event;
    const used = this.columns.takesTypes ? event : untyped;
    try {
      checkNamedEvents('append', [used]);
      return plainEvent('message', used, this.columns, this.#engine.intake.rules.perSecond);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      return { text, reason: error.message };
    }
  }

  #write(entry: Omit<AppendEntry, 'kind' | 'now'>): Promise<AppendResult> {
    const { events, source } = entry;
    const now = Date.now();
    let latest = Number.NEGATIVE_INFINITY;
    for (const { time } of events) latest = Math.max(latest, time);
    this.#engine.checkAlive();
    this.#admission.check(events.length, source, latest, now);
    return this.#engine.write({ kind: 'append', now, ...entry }, Math.max(1, events.length));
  }

  #checkNames(events: readonly PlainEvent[]): void {
    const { nodes } = this.#engine.model.parts;
    const advice = "Open the stream with newNodes: 'allow' (skein serve: --new-nodes allow).";
    for (const [i, { head, tail }] of events.entries())
      for (const [end, raw, side] of [
        ['head', head, 'src'],
        ['tail', tail, 'dst'],
      ] as const)
        if (nodes.idOf(raw, side) === undefined)
          throw unknownEventNode(nodes, { where: 'append', field: `events[${i}].${end}`, raw, side, advice });
  }

  #checkKeys(keys: readonly number[]): readonly number[] {
    if (!Array.isArray(keys)) throw new ValueError(expected('quarantine', 'a list', 'keys', keys));
    for (const key of keys)
      if (!this.#engine.intake.quarantine.has(key))
        throw new ValueError(expected('quarantine', 'the key of a quarantined event', 'keys', key));
    return [...keys];
  }
}

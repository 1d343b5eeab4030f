/**
 * Decides about events: duplicate, late, quarantined, waiting or part of the stream. The decisions follow from the entries
 * of the log alone, so reading the log again gives the same stream.
 *
 * Events are released by time, then by id, when the watermark has passed them. So the stream does not depend on the order
 * in which they arrived, as long as none was late. With lateness 0 an event is released at once.
 */

import type { AppendResult, EventOutcome } from '../predictor.js';
import type { PlainNode } from './added-nodes.js';
import type { GrowingNodes } from './growing-nodes.js';
import { IdWindow, type IdWindowArrays } from './id-window.js';
import { decodeLines, encodeLines } from './json-lines.js';
import type { AppendEntry, LogEntry, PlainEvent } from './log-entry.js';
import { Quarantine } from './quarantine.js';
import { RequestMemory } from './request-memory.js';
import type { StreamRules } from './stream-rules.js';
import { compareEvents, WaitingEvents } from './waiting-events.js';
import { nextAfter, Watermark } from './watermark.js';

/** Where decided events go. */
export interface IntakeSink {
  /** Takes events of the stream, in order. */
  release(events: readonly PlainEvent[]): void;
  /** Takes a late event, if the rule is `side`. */
  setAside(event: PlainEvent, sequence: number, now: number): void;
  /** Returns why nodes cannot be added, or null. */
  refusal(nodes: readonly PlainNode[]): string | null;
  /** Adds nodes that are not refused. */
  addNodes(nodes: readonly PlainNode[]): void;
  /** Ends a batch of the model after the events that were released so far. */
  cut(): void;
}

export interface IntakeCounts {
  accepted: number;
  duplicates: number;
  late: number;
  quarantined: number;
}

export interface SavedIntake {
  readonly json: {
    readonly rules: StreamRules;
    readonly counts: IntakeCounts;
    readonly watermark: unknown;
    readonly nextKey: number;
  };
  /** Lists without a small bound, as lines of JSON. */
  readonly lists: Readonly<Record<'waiting' | 'quarantined' | 'requests', Uint8Array>>;
  readonly ids: IdWindowArrays;
}

/** The result of an entry. */
export interface Decided extends AppendResult {
  /** Why an entry of nodes changed nothing. */
  readonly refused?: string;
}

const nothing: AppendResult = { outcomes: [], newNodes: 0 };

export class Intake {
  readonly watermark: Watermark;
  readonly waiting = new WaitingEvents();
  readonly quarantine = new Quarantine();
  readonly counts: IntakeCounts = { accepted: 0, duplicates: 0, late: 0, quarantined: 0 };
  readonly #ids = new IdWindow();
  readonly #requests = new RequestMemory();
  readonly #nodes: GrowingNodes;
  readonly #sink: IntakeSink;
  /** New names of waiting events, which get numbers when the first of them is released. */
  readonly #pendingNames = new Set<string>();
  rules: StreamRules;

  constructor(rules: StreamRules, nodes: GrowingNodes, last: number, sink: IntakeSink) {
    this.rules = rules;
    this.watermark = new Watermark(last);
    this.#nodes = nodes;
    this.#sink = sink;
  }

  /** The answer to a request that is known; null otherwise. */
  known(requestId: string): AppendResult | null {
    return this.#requests.get(requestId);
  }

  apply(entry: LogEntry, sequence: number): Decided {
    switch (entry.kind) {
      case 'append':
        return this.#append(entry, sequence);
      case 'nodes':
        return this.#addNodes(entry.nodes);
      case 'rules':
        this.rules = entry.rules;
        return nothing;
      case 'flush':
        if (this.waiting.count > 0) this.watermark.pass(this.waiting.latest);
        this.#release();
        this.#sink.cut();
        return nothing;
      case 'delete':
        for (const key of entry.keys) this.quarantine.take(key);
        return nothing;
      case 'release':
        for (const key of entry.keys) this.#releaseQuarantined(key, entry.now, sequence);
        this.watermark.advance(entry.now, this.rules);
        this.#release();
        return nothing;
    }
  }

  /** Returns whether an event would be refused because a name is new. */
  hasNewName({ head, tail }: Pick<PlainEvent, 'head' | 'tail'>): boolean {
    return this.#nodes.idOf(head, 'src') === undefined || this.#nodes.idOf(tail, 'dst') === undefined;
  }

  /** Returns why nodes cannot be added, or null. */
  refusal(nodes: readonly PlainNode[]): string | null {
    const { maxNewNodes } = this.rules;
    const fresh = nodes.filter(({ name, side }) => this.#nodes.idOf(name, side ?? undefined) === undefined);
    const names = new Set(fresh.map(({ name, side }) => this.#nodes.key(name, side ?? undefined)));
    const total = this.#nodes.numAdded + new Set([...this.#pendingNames, ...names]).size;
    if (maxNewNodes !== null && names.size > 0 && total > maxNewNodes)
      return `addNodes: expected at most ${maxNewNodes} new nodes, got ${total}. Open the stream with another rule for newNodes.`;
    return this.#sink.refusal(nodes);
  }

  /** Nodes may have become known since the request was checked: the log decides. */
  #addNodes(nodes: readonly PlainNode[]): Decided {
    const refused = this.refusal(nodes);
    if (refused !== null) return { ...nothing, refused };
    const names = this.#pendingNames.size + this.#nodes.size;
    this.#sink.addNodes(nodes);
    for (const { name, side } of nodes) this.#pendingNames.delete(this.#nodes.key(name, side ?? undefined));
    return { ...nothing, newNodes: this.#pendingNames.size + this.#nodes.size - names };
  }

  #append(entry: AppendEntry, sequence: number): AppendResult {
    const { events, requestId, source, now } = entry;
    const before = requestId === null ? null : this.#requests.get(requestId);
    if (before !== null) {
      this.counts.duplicates += events.length;
      return before;
    }
    const names = this.#pendingNames.size + this.#nodes.size;
    const outcomes = new Array<EventOutcome>(events.length);
    // In the order of time, so that a long request is not taken for a jump, and events of one request are never late for each other.
    const order = Array.from(events.keys()).sort((a, b) => compareEvents(events[a], events[b]) || a - b);
    let latest = Number.NEGATIVE_INFINITY;
    for (const i of order) {
      outcomes[i] = this.#decide(events[i], source, now, sequence, latest);
      if (outcomes[i] === 'waiting') latest = Math.max(latest, events[i].time);
    }
    for (const { text } of entry.unreadable) {
      this.counts.quarantined++;
      const { maxQuarantined } = this.rules;
      this.quarantine.add({ reason: 'unreadable', source, arrived: now, event: null, text }, maxQuarantined);
    }
    const newNodes = this.#pendingNames.size + this.#nodes.size - names;
    const { position, mark = null } = entry;
    this.watermark.observe(source, latest, now, position === null ? null : { position, mark });
    this.watermark.advance(now, this.rules);
    const due = this.#release();
    for (const [i, { time }] of events.entries())
      if (outcomes[i] === 'waiting' && time < due) outcomes[i] = 'accepted';
    const result = { outcomes, newNodes };
    if (requestId !== null) this.#requests.add(requestId, result);
    return result;
  }

  #decide(event: PlainEvent, source: string, now: number, sequence: number, latest: number): EventOutcome {
    const { counts, rules } = this;
    const { id, time } = event;
    if (id !== null && this.#isKnown(id)) {
      counts.duplicates++;
      return 'duplicate';
    }
    const reason = this.#wrongTime(time, now, latest) ?? this.#excess(event);
    if (reason !== null) {
      counts.quarantined++;
      this.quarantine.add({ reason, source, arrived: now, event, text: null }, rules.maxQuarantined);
      return 'quarantined';
    }
    if (time < this.watermark.value) return this.#takeLate(event, sequence, now);
    this.#wait(event);
    return 'waiting';
  }

  #takeLate(event: PlainEvent, sequence: number, now: number): EventOutcome {
    this.counts.late++;
    if (this.rules.late === 'side') this.#sink.setAside(event, sequence, now);
    // Its neighbours see it from now on; what was computed before stays.
    if (this.rules.late === 'apply') this.#wait({ ...event, time: this.watermark.value });
    return 'late';
  }

  #wait(event: PlainEvent): void {
    this.waiting.push(event);
    for (const key of this.#newKeys(event)) this.#pendingNames.add(key);
  }

  #isKnown(id: string): boolean {
    return this.waiting.hasId(id) || this.#ids.has(id) || this.quarantine.hasId(id);
  }

  /** Returns why a clock cannot be right, or null. */
  #wrongTime(time: number, now: number, latest: number): 'future' | 'jump' | null {
    const { perSecond, maxFuture, maxJump } = this.rules;
    if (perSecond > 0) {
      const clock = Math.max((now / 1000) * perSecond, this.watermark.value);
      if (time > clock + maxFuture) return 'future';
    }
    const reached = Math.max(this.watermark.latest, latest);
    if (maxJump !== null && reached > Number.NEGATIVE_INFINITY && time > reached + maxJump) return 'jump';
    return null;
  }

  #excess(event: PlainEvent): 'new nodes' | null {
    const { maxNewNodes } = this.rules;
    if (maxNewNodes === null) return null;
    const unknown = this.#newKeys(event).filter((key) => !this.#pendingNames.has(key));
    const added = this.#nodes.numAdded + this.#pendingNames.size;
    return unknown.length > 0 && added + new Set(unknown).size > maxNewNodes ? 'new nodes' : null;
  }

  #newKeys({ head, tail }: PlainEvent): string[] {
    const keys: string[] = [];
    if (this.#nodes.idOf(head, 'src') === undefined) keys.push(this.#nodes.key(head, 'src'));
    if (this.#nodes.idOf(tail, 'dst') === undefined) keys.push(this.#nodes.key(tail, 'dst'));
    return keys;
  }

  /** Releases what the watermark has passed; returns the time before which everything is released. */
  #release(): number {
    const { value } = this.watermark;
    const due = this.rules.lateness === 0 ? nextAfter(value) : value;
    const released = this.waiting.popBefore(due);
    if (released.length > 0) {
      this.counts.accepted += released.length;
      for (const event of released) {
        if (event.id !== null) this.#ids.add(event.id, event.time, this.rules.maxIds);
        for (const key of this.#newKeys(event)) this.#pendingNames.delete(key);
      }
      this.#sink.release(released);
    }
    this.#ids.removeBefore(value - this.rules.idWindow);
    return due;
  }

  /** Takes an event as it is: an operator has decided that its time is right. */
  #releaseQuarantined(key: number, now: number, sequence: number): void {
    const entry = this.quarantine.eventAt(key);
    if (entry === undefined) return;
    this.quarantine.take(key);
    const { event, source } = entry;
    if (event.time < this.watermark.value) {
      this.#takeLate(event, sequence, now);
      return;
    }
    this.#wait(event);
    this.watermark.observe(source, event.time, now, null);
  }

  /** Copies the state, as JSON, long lists and arrays. */
  save(): SavedIntake {
    const { rules, counts, watermark, waiting, quarantine } = this;
    const { nextKey, entries } = quarantine.save();
    return {
      json: { rules, counts: { ...counts }, watermark: watermark.save(), nextKey },
      lists: {
        waiting: encodeLines(waiting.save()),
        quarantined: encodeLines(entries),
        requests: encodeLines(this.#requests.save()),
      },
      ids: this.#ids.save(),
    };
  }

  /** Restores a saved state; names must be there already. */
  load({ json, lists, ids }: SavedIntake): void {
    this.rules = json.rules;
    Object.assign(this.counts, json.counts);
    this.watermark.load(json.watermark);
    this.waiting.load(decodeLines(lists.waiting));
    for (const event of this.waiting.events())
      for (const key of this.#newKeys(event)) this.#pendingNames.add(key);
    this.quarantine.load({ nextKey: json.nextKey, entries: decodeLines(lists.quarantined) });
    this.#requests.load(decodeLines(lists.requests));
    this.#ids.load(ids);
  }
}

/**
 * The parts of a durable stream in their order: an entry is written to the log, then decided about, then released into the
 * graph, then applied to the state of the model. A snapshot is all of it after one entry; opening a folder loads the newest
 * one and reads the log from there.
 */
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { EventLog } from '../../storage/event-log.js';
import { InternalError, ValueError } from '../../util/errors.js';
import { runAll } from '../../util/run-all.js';
import { QuestionTurns } from '../question-turns.js';
import { addNodes, refusal } from './added-nodes.js';
import { type Decided, Intake } from './intake.js';
import { decodeEntry, encodeEntry, type LogEntry } from './log-entry.js';
import { SideFile } from './side-file.js';
import { restoreSnapshot, takeSnapshot } from './snapshot.js';
import { StateFolder, type StreamIdentity } from './state-folder.js';
import { StreamStoppedError } from './stream-errors.js';
import type { StreamModel } from './stream-model.js';
import type { StreamRules } from './stream-rules.js';
import type { StreamOptions } from './types.js';

export interface EngineParts {
  readonly model: StreamModel;
  readonly rules: StreamRules;
  readonly identity: StreamIdentity;
  readonly options: StreamOptions;
}

export interface Replayed {
  readonly records: number;
  readonly events: number;
  readonly seconds: number;
}

/** Milliseconds of work without a pause while the log is read again. */
const longestTurn = 50;

export class StreamEngine {
  readonly model: StreamModel;
  readonly intake: Intake;
  readonly log: EventLog;
  readonly notices: string[] = [];
  replayed: Replayed = { records: 0, events: 0, seconds: 0 };
  lastSnapshot: { readonly sequence: number; readonly time: number; readonly seconds: number } | null = null;
  readonly #folder: StateFolder;
  readonly #side: SideFile;
  readonly #options: StreamOptions;
  /** Sequence number of the last entry that was decided about. */
  #processed = 0;
  #sinceSnapshot = 0;
  #applying: Promise<void> | null = null;
  /** Whether entries came after the last look at the model. */
  #hasWork = false;
  readonly #turns = new QuestionTurns();
  #snapshotting: Promise<void> | null = null;
  #lastWrite: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  #failure: Error | null = null;
  #isClosing = false;
  readonly #opened = Date.now();

  private constructor({ model, rules, options }: EngineParts, log: EventLog) {
    this.model = model;
    this.log = log;
    this.#options = options;
    this.#folder = new StateFolder(options.state);
    this.#side = new SideFile(join(options.state, 'late.jsonl'));
    const { nodes, scorer } = model.parts;
    this.intake = new Intake(rules, nodes, scorer.graph.lastTime, {
      release: (events) => model.release(events),
      refusal: (given) => refusal(given, model.parts),
      addNodes: (given) => addNodes(given, model.parts),
      cut: () => model.cut(),
      setAside: (event, sequence, now) => this.#side.add(event, sequence, now),
    });
  }

  static async open(parts: EngineParts): Promise<StreamEngine> {
    const { options, identity, rules } = parts;
    const { milliseconds, events } = options.groupCommit ?? {};
    const log = await EventLog.open(options.state, {
      durable: new StateFolder(options.state).durable,
      ...(milliseconds === undefined ? {} : { groupMilliseconds: milliseconds }),
      ...(events === undefined ? {} : { groupWeight: events }),
    });
    try {
      const engine = new StreamEngine(parts, log);
      engine.#folder.checkIdentity(identity);
      engine.#folder.removeIncomplete();
      engine.#side.open();
      await engine.#restore();
      if (engine.#processed === 0 || JSON.stringify(engine.intake.rules) !== JSON.stringify(rules))
        await engine.write({ kind: 'rules', now: Date.now(), rules }, 1);
      await engine.#folder.writeIdentity(identity);
      engine.#timer = setInterval(() => engine.#snapshotIfDue(), 5000);
      engine.#timer.unref();
      return engine;
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  /** Sequence number of the last entry that was decided about. */
  get processed(): number {
    return this.#processed;
  }

  get failure(): Error | null {
    return this.#failure;
  }

  /** Throws the error that stopped the stream, if one did. */
  checkAlive(): void {
    if (this.#failure !== null)
      throw new StreamStoppedError(
        `stream: expected a working stream, got one that stopped: ${this.#failure.message}`,
        {},
        { cause: this.#failure },
      );
  }

  /** Writes an entry; resolves when it is on the disk and decided about. */
  write(entry: LogEntry, weight: number): Promise<Decided> {
    this.checkAlive();
    if (this.#isClosing)
      throw new StreamStoppedError('stream: expected an open stream, got one that is closing.');
    const result = this.#write(entry, weight);
    // An entry that is refused at once must not hide an earlier one that is still being written.
    const before = this.#lastWrite;
    this.#lastWrite = result.then(
      () => before,
      () => before,
    );
    return result;
  }

  /** Resolves when all entries that were written before are applied. */
  async settled(): Promise<void> {
    await this.#lastWrite;
    await this.#applying;
    this.checkAlive();
  }

  /** Applies all complete batches now, unless a question is between its parts. */
  applyNow(): void {
    this.checkAlive();
    if (this.#turns.isAsking) return;
    try {
      while (this.model.applyBatch(this.intake.watermark.value));
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  /** Runs a question that takes several turns of the event loop; no batch is applied between them. */
  asking<T>(question: () => Promise<T>): Promise<T> {
    return this.#turns.ask(() => {
      this.checkAlive();
      return question();
    });
  }

  /** Writes a snapshot of the present state; throws if the stream has stopped, because an entry may be half applied then. */
  async snapshot(): Promise<void> {
    this.checkAlive();
    if (this.#isClosing)
      throw new StreamStoppedError('stream: expected an open stream, got one that is closed.');
    // One that is being written may lack the latest entries.
    await this.#snapshotting;
    await this.#snapshot();
  }

  #snapshot(): Promise<void> {
    this.#snapshotting ??= this.#saveSnapshot().finally(() => {
      this.#snapshotting = null;
    });
    return this.#snapshotting;
  }

  notice(sentence: string): void {
    this.notices.push(sentence);
    if (this.notices.length > 100) this.notices.shift();
    (this.#options.onNotice ?? console.warn)(sentence);
  }

  /** Finishes what was accepted, writes a snapshot and releases the folder. */
  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    try {
      await this.#lastWrite;
      await this.#applying;
      await this.#snapshotting;
      if (this.#failure === null && this.#sinceSnapshot > 0) await this.#snapshot();
    } finally {
      await runAll([() => this.#side.close(), () => this.log.close()]);
    }
  }

  async #write(entry: LogEntry, weight: number): Promise<Decided> {
    const content = encodeEntry(entry);
    let sequence: number;
    try {
      sequence = await this.log.append(content, weight);
    } catch (error) {
      // A record that is too large was not written; the stream works on.
      if (!(error instanceof ValueError)) this.#fail(error);
      throw error;
    }
    this.checkAlive();
    const result = this.#process(entry, sequence);
    this.#startApplying();
    this.#snapshotIfDue();
    return result;
  }

  #process(entry: LogEntry, sequence: number): Decided {
    try {
      if (sequence !== this.#processed + 1)
        throw new InternalError(`record ${sequence} of the log after ${this.#processed}`);
      const result = this.intake.apply(entry, sequence);
      this.#processed = sequence;
      this.#sinceSnapshot += Math.max(1, result.outcomes.length);
      return result;
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  #startApplying(): void {
    this.#hasWork = true;
    this.#applying ??= this.#applyAll();
  }

  /**
   * Applies one batch in each turn of the event loop, so that a question waits for one at most. In turns that other work makes
   * long, such as many rejected requests, the model gets as much time as that work.
   */
  async #applyAll(): Promise<void> {
    try {
      while (this.#hasWork) {
        this.#hasWork = false;
        let hasNext = true;
        while (hasNext) {
          const left = performance.now();
          await nextTurn();
          const end = 2 * performance.now() - left;
          do hasNext = await this.#turns.change(() => this.#applyNext());
          while (hasNext && performance.now() < end);
        }
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#applying = null;
  }

  /** Applies one batch; returns false if none is complete. */
  #applyNext(): boolean {
    return this.#failure === null && this.model.applyBatch(this.intake.watermark.value);
  }

  #fail(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = error instanceof Error ? error : new Error(String(error));
    this.notice(`The stream stopped: ${this.#failure.message}`);
  }

  #snapshotIfDue(): void {
    const { events = 250_000, minutes = 5 } = this.#options.snapshotEvery ?? {};
    if (this.#sinceSnapshot === 0 || this.#snapshotting !== null || this.#isClosing || this.#failure !== null)
      return;
    const { time, seconds } = this.lastSnapshot ?? { time: this.#opened, seconds: 0 };
    const since = (Date.now() - time) / 1000;
    // A snapshot that takes long is written less often.
    if (since < 10 * seconds || (this.#sinceSnapshot < events && since < 60 * minutes)) return;
    this.#snapshot().catch((error: unknown) => this.#fail(error));
  }

  async #saveSnapshot(): Promise<void> {
    const started = performance.now();
    const sequence = this.#processed;
    const content = takeSnapshot(this.intake, this.model);
    const { released } = this.model;
    this.#sinceSnapshot = 0;
    this.#side.sync();
    await this.#folder.saveEvents(released, (from, to) => this.model.columnsOf(from, to));
    await this.#folder.saveSnapshot(sequence, content);
    if (this.#options.keepLog !== true) await this.log.removeUpTo(this.#folder.unneeded);
    const seconds = (performance.now() - started) / 1000;
    this.lastSnapshot = { sequence, time: Date.now(), seconds };
  }

  /** Applies all complete batches, and lets the program do other work now and then, such as answering a health check. */
  async #applyRestored(): Promise<void> {
    let paused = performance.now();
    while (this.model.applyBatch(this.intake.watermark.value)) {
      if (performance.now() < paused + longestTurn) continue;
      await nextTurn();
      paused = performance.now();
    }
  }

  async #restore(): Promise<void> {
    const started = performance.now();
    if (this.log.torn !== null) this.notice(this.log.torn);
    const found = await this.#folder.loadSnapshot((sentence) => this.notice(sentence));
    if (found !== null) {
      await restoreSnapshot(found.content, this.#folder, this.intake, this.model);
      this.#processed = found.sequence;
    }
    let [records, events] = [0, 0];
    for await (const { sequence, content } of this.log.records(this.#processed)) {
      const entry = decodeEntry(content, sequence);
      events += this.#process(entry, sequence).outcomes.length;
      records++;
      await this.#applyRestored();
    }
    await this.#applyRestored();
    this.replayed = { records, events, seconds: (performance.now() - started) / 1000 };
  }
}

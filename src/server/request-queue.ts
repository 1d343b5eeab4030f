/**
 * The requests that wait for one model. Requests of one tick, and those that arrive while a call runs, share the next call
 * if they ask the same way. Long requests are cut into slices of about `targetMs`; between slices the event loop runs and
 * other requests get their turn, so none waits for another's end. An error belongs to the request that caused it.
 */
import { setImmediate } from 'node:timers/promises';
import { SliceSize } from './slice-size.js';

/** Answers `items` in order. */
export type Call = (items: readonly unknown[]) => Promise<ArrayLike<unknown>>;

export interface Work {
  /** Requests with the same key may share a call. */
  readonly key: string;
  /** Calls of one kind take similar times; the name of the method. */
  readonly kind: string;
  readonly items: readonly unknown[];
  readonly call: Call;
  /** Drops the request when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

interface Job extends Work {
  readonly answers: unknown[];
  resolve(answers: unknown[]): void;
  reject(error: unknown): void;
}

/** A part of a job that is answered by one call. */
interface Slice {
  readonly job: Job;
  readonly from: number;
  readonly items: readonly unknown[];
}

export interface QueueOptions {
  /** Milliseconds that one call should take (default 10). */
  readonly targetMs?: number;
  /** Told about each call. */
  readonly onCall?: (call: {
    readonly kind: string;
    readonly items: number;
    readonly requests: number;
    readonly seconds: number;
  }) => void;
}

/** An error with the position of the first item of its slice, which messages are corrected by. */
export class SliceError extends Error {
  readonly offset: number;

  constructor(cause: unknown, offset: number) {
    super('slice', { cause });
    this.offset = offset;
  }
}

export class RequestQueue {
  /** Waiting jobs by key; keys take turns in the order of the map. */
  readonly #waiting = new Map<string, Job[]>();
  readonly #sizes = new Map<string, SliceSize>();
  readonly #targetMs: number;
  readonly #onCall: QueueOptions['onCall'];
  #isRunning = false;

  constructor({ targetMs = 10, onCall }: QueueOptions = {}) {
    this.#targetMs = targetMs;
    this.#onCall = onCall;
  }

  /** Number of requests that wait. */
  get length(): number {
    let count = 0;
    for (const jobs of this.#waiting.values()) count += jobs.length;
    return count;
  }

  /** Returns the answers to `items`; rejects with a `SliceError` if their call fails. */
  ask(work: Work): Promise<unknown[]> {
    return new Promise((resolve, reject) => {
      const jobs = this.#waiting.get(work.key) ?? [];
      jobs.push({ ...work, answers: [], resolve, reject });
      this.#waiting.set(work.key, jobs);
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Other requests of this tick join the first call.
    await setImmediate();
    for (let slices = this.#next(); slices !== null; slices = this.#next()) {
      if (slices.length > 0) await this.#answer(slices);
      await setImmediate();
    }
    this.#isRunning = false;
  }

  /** Takes the slices of the next call: from all jobs of the next key, in equal shares. Null: no job waits. */
  #next(): Slice[] | null {
    const [first] = this.#waiting;
    if (first === undefined) return null;
    const [key, all] = first;
    this.#waiting.delete(key);
    for (const job of all) if (job.signal?.aborted === true) job.reject(job.signal.reason);
    const jobs = all.filter(({ signal }) => signal?.aborted !== true);
    if (jobs.length === 0) return [];
    const slices: Slice[] = [];
    let left = this.#sizeOf(jobs[0].kind).value;
    for (const [i, job] of jobs.entries()) {
      const share = Math.max(1, Math.floor(left / (jobs.length - i)));
      const from = job.answers.length;
      const items = job.items.slice(from, from + share);
      slices.push({ job, from, items });
      left -= items.length;
      if (left <= 0) break;
    }
    // Jobs that are not finished, and those that did not fit, wait behind the other keys.
    const taken = new Map(slices.map(({ job, from, items }) => [job, from + items.length]));
    const rest = [
      ...jobs.filter((job) => !taken.has(job)),
      ...jobs.filter((job) => taken.has(job) && (taken.get(job) as number) < job.items.length),
    ];
    if (rest.length > 0) this.#waiting.set(key, rest);
    return slices;
  }

  async #answer(slices: readonly Slice[]): Promise<void> {
    const items = slices.flatMap((slice) => slice.items);
    const [{ job: first }] = slices;
    try {
      const started = performance.now();
      const answers = await first.call(items);
      const ms = performance.now() - started;
      this.#sizeOf(first.kind).add(items.length, ms);
      this.#onCall?.({ kind: first.kind, items: items.length, requests: slices.length, seconds: ms / 1000 });
      let at = 0;
      for (const slice of slices) {
        for (let i = 0; i < slice.items.length; i++) slice.job.answers.push(answers[at++]);
        if (slice.job.answers.length === slice.job.items.length) slice.job.resolve(slice.job.answers);
      }
    } catch (error) {
      if (slices.length === 1) this.#fail(slices[0], error);
      // One of the requests caused the error: each is answered alone.
      else
        for (const slice of slices) {
          await this.#answer([slice]);
          await setImmediate();
        }
    }
  }

  #fail({ job, from }: Slice, error: unknown): void {
    const jobs = (this.#waiting.get(job.key) ?? []).filter((other) => other !== job);
    if (jobs.length > 0) this.#waiting.set(job.key, jobs);
    else this.#waiting.delete(job.key);
    job.reject(new SliceError(error, from));
  }

  #sizeOf(kind: string): SliceSize {
    const known = this.#sizes.get(kind) ?? new SliceSize(this.#targetMs);
    this.#sizes.set(kind, known);
    return known;
  }
}

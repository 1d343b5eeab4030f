/** Back-pressure: decides whether more events may be written to the log of a stream. */
import { expected, ValueError } from '../../util/errors.js';
import type { StreamEngine } from './stream-engine.js';
import { StreamBusyError } from './stream-errors.js';
import type { StreamOptions } from './types.js';

export class Admission {
  /** Requests that were rejected. */
  busy = 0;
  readonly #engine: StreamEngine;
  /** Most events of a request, and events that may wait for the watermark. */
  readonly maxWaiting: number;
  readonly #maxLag: number;

  constructor(engine: StreamEngine, { maxWaiting = 1_000_000, maxLag = 20_000 }: StreamOptions) {
    this.#engine = engine;
    this.maxWaiting = maxWaiting;
    // The last batch waits until it is full.
    this.#maxLag = Math.max(maxLag, 2 * engine.model.parts.batchSize);
  }

  /**
   * Throws `StreamBusyError` if too many events wait for the model to take `count` more. Asked before the events of a request
   * are checked: clients that try again at once must not keep the program from applying what waits.
   */
  checkLag(count: number): void {
    const { intake, model, log } = this.#engine;
    if (count > this.maxWaiting)
      throw new ValueError(
        expected('append', `at most ${this.maxWaiting} events`, 'a request', count, 'Send several requests.'),
      );
    const lag = (model.hasBatch(intake.watermark.value) ? model.released - model.applied : 0) + log.unwritten;
    // Events of an incomplete batch are ignored: only later events complete it.
    if (lag + count > this.#maxLag && lag > 0) {
      const seconds = model.rate > 0 ? Math.min(60, Math.ceil((lag + count - this.#maxLag) / model.rate)) : 1;
      this.#reject(
        `${lag} events wait for the model, which takes ${Math.round(model.rate)} a second`,
        seconds,
      );
    }
  }

  /** Throws `StreamBusyError` if `count` events of a source up to time `latest` cannot be taken at the moment. */
  check(count: number, source: string, latest: number, now: number): void {
    this.checkLag(count);
    const { intake, log } = this.#engine;
    const waiting = intake.waiting.count + log.unwritten + count;
    if (waiting <= this.maxWaiting) return;
    // A request that moves the watermark makes room. Without this a full queue would stay full.
    const makesRoom =
      intake.watermark.after(source, latest, now, intake.rules) > intake.waiting.earliest &&
      waiting <= 2 * this.maxWaiting;
    if (!makesRoom)
      this.#reject(
        `${intake.waiting.count} events wait for the watermark; a source is behind, or maxWaiting is too small for lateness`,
        1,
      );
  }

  #reject(reason: string, seconds: number): never {
    this.busy++;
    throw new StreamBusyError(
      `append: expected a stream that keeps up, got a busy one: ${reason}. Send the request again after ${seconds} s.`,
      seconds,
    );
  }
}

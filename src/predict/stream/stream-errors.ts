/** Errors of durable streams that callers tell apart: the HTTP server answers with 429 or 503, sources wait or end. */
import { SkeinError, StateError } from '../../util/errors.js';

/** Back-pressure: nothing was written; send the request again after `retryAfter` seconds. */
export class StreamBusyError extends SkeinError {
  readonly code = 'SKEIN_BUSY';
  readonly retryAfter: number;

  constructor(message: string, retryAfter: number) {
    super(message, { retryAfter });
    this.retryAfter = retryAfter;
  }
}

/** A stream that an error stopped, or that is closed: it takes nothing more until it is opened again. */
export class StreamStoppedError extends StateError {}

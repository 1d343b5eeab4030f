/** Back-pressure: a stream that cannot take more events at the moment. */
import { SkeinError } from '../../util/errors.js';

/** Nothing was written; send the request again after `retryAfter` seconds. */
export class StreamBusyError extends SkeinError {
  readonly code = 'SKEIN_BUSY';
  readonly retryAfter: number;

  constructor(message: string, retryAfter: number) {
    super(message, { retryAfter });
    this.retryAfter = retryAfter;
  }
}

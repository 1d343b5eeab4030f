/**
 * Errors as clients see them: a status, a sentence and a code that programs can compare. Only messages written for users
 * leave the server; anything unexpected is logged and answered as "internal error".
 */
import { StreamBusyError, StreamStoppedError } from '../predict/index.js';
import { ConfigError, FormatError, SkeinError, StateError, StorageError } from '../util/errors.js';

/** Codes of errors, by status. */
export type ErrorCode =
  | 'invalid'
  | 'unknown_name'
  | 'not_json'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'timeout'
  | 'unsupported'
  | 'unreadable'
  | 'too_large'
  | 'unsupported_media_type'
  | 'too_many_events'
  | 'busy'
  | 'opening'
  | 'stopping'
  | 'internal';

export interface ErrorBody {
  readonly error: string;
  readonly code: ErrorCode;
  /** Known names near an unknown one. */
  readonly suggestions?: readonly string[];
}

export class HttpError extends Error {
  readonly status: number;
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly suggestions: readonly string[] | undefined;

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    {
      headers = {},
      suggestions,
    }: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly suggestions?: readonly string[] | undefined;
    } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
    this.suggestions = suggestions;
  }

  get body(): ErrorBody {
    const { message: error, code, suggestions } = this;
    return suggestions === undefined ? { error, code } : { error, code, suggestions };
  }
}

/** Returns the answer for a defect; its details stay in the server. */
export const internalError = (): HttpError => new HttpError(500, 'internal', 'internal error');

/** Returns the answer while models are being opened. */
export const stillOpening = (): HttpError =>
  new HttpError(503, 'opening', 'expected open models, got some that are still being opened. Try again.', {
    headers: { 'retry-after': '5' },
  });

/** Returns an error of status 400 about the part of a body at `at`. */
export function invalid(at: string, what: string, got: string): HttpError {
  return new HttpError(400, 'invalid', `${at}: expected ${what}, got ${got}.`);
}

/** Classes whose errors are about files: damaged ones, or ones of another form. */
const fileErrors = [FormatError, StorageError, ConfigError];

/** Returns the answer for files of a run that cannot be read; any other error as it is. */
export function asUnreadable(error: unknown): unknown {
  return error instanceof SkeinError && fileErrors.some((kind) => error instanceof kind)
    ? new HttpError(409, 'unreadable', error.message)
    : error;
}

/** Classes whose errors are about the arguments of a call. */
const clientErrors: ReadonlySet<string> = new Set(['SKEIN_VALUE', 'SKEIN_SHAPE', 'SKEIN_DTYPE']);

/** Returns the answer to a client for an error of a predictor; undefined if it is not the client's fault. */
export function fromPredictor(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  if (!(error instanceof SkeinError)) return undefined;
  if (clientErrors.has(error.code)) {
    const { suggestions, name } = error.details;
    const isName = Array.isArray(suggestions) || typeof name === 'string';
    return new HttpError(400, isName ? 'unknown_name' : 'invalid', error.message, {
      suggestions: Array.isArray(suggestions) ? (suggestions as string[]) : undefined,
    });
  }
  if (error instanceof StreamBusyError)
    return new HttpError(429, 'too_many_events', error.message, {
      headers: { 'retry-after': String(Math.max(1, Math.ceil(error.retryAfter))) },
    });
  // Not the client's fault; the cause is in the server's log, because it may name files.
  if (error instanceof StreamStoppedError)
    return new HttpError(503, 'internal', 'expected a stream that works, got one that has stopped.');
  if (error instanceof StateError) return new HttpError(409, 'unsupported', error.message);
  return undefined;
}

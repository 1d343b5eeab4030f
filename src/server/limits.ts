/** Limits of a server: what one request may ask for, how many may wait, and how long anything may take. */
import { checkInteger } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';

export interface ServeLimits {
  /** Bytes of a body. */
  readonly maxBody: number;
  /** Bytes of all bodies that are being received or answered. */
  readonly maxBodies: number;
  /** Levels of lists and objects in a body. */
  readonly maxDepth: number;
  /** Edges of a request to score. */
  readonly maxEdges: number;
  /** Questions or names of a request. */
  readonly maxQuestions: number;
  /** Events of a request. */
  readonly maxEvents: number;
  /** Answers to a question. */
  readonly maxK: number;
  /** Answers of a request: questions times k. */
  readonly maxAnswers: number;
  /** Requests that are being answered. */
  readonly maxInFlight: number;
  readonly maxConnections: number;
  /** Milliseconds until the headers of a request are complete. */
  readonly headersTimeout: number;
  /** Milliseconds until a request is complete. */
  readonly bodyTimeout: number;
  /** Milliseconds until the answer. */
  readonly answerTimeout: number;
  /** Milliseconds that a connection may be silent while its answer is sent. */
  readonly idleTimeout: number;
  /** Milliseconds that requests get to finish when the server stops. */
  readonly drainTimeout: number;
}

export const defaultLimits: ServeLimits = {
  maxBody: 8 * 2 ** 20,
  maxBodies: 128 * 2 ** 20,
  maxDepth: 8,
  maxEdges: 100_000,
  maxQuestions: 1_000,
  maxEvents: 10_000,
  maxK: 10_000,
  maxAnswers: 100_000,
  maxInFlight: 256,
  maxConnections: 4_096,
  headersTimeout: 10_000,
  bodyTimeout: 30_000,
  answerTimeout: 60_000,
  idleTimeout: 30_000,
  drainTimeout: 10_000,
};

/** Completes given limits by the defaults. */
export function resolveLimits(given: Partial<ServeLimits> = {}): ServeLimits {
  checkOptionNames(
    'serve',
    given,
    Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, true])) as Record<
      keyof ServeLimits,
      true
    >,
  );
  const limits = { ...defaultLimits, ...given };
  for (const [name, value] of Object.entries(limits)) checkInteger('serve', name, value, 1, 2 ** 31 - 1);
  return limits;
}

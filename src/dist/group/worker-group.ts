/**
 * The workers of one run, for code that does some things once (read a configuration, write a file, decide) and the rest
 * everywhere. One worker is the usual case and costs nothing: no message, no copy.
 *
 * All methods are collective: every rank calls them in the same order. An error that all ranks know of (`onRoot`,
 * `everywhere`) is thrown on all of them, so that a program ends in order, with one message. Any other error is one rank's
 * alone, and the others would wait for it: `run` ends the job with it as the reason.
 */
import { deserialize, serialize } from 'node:v8';
import { agreedError, isAgreed } from '../../util/agreed-error.js';
import * as errors from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import { currentCommunicator } from '../comm/current.js';

export interface WorkerGroupOptions {
  /** Default: the current communicator. */
  readonly comm?: Communicator;
}

interface SentError {
  readonly name: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

type Outcome<T> = { readonly value: T } | { readonly error: SentError };

export class WorkerGroup {
  readonly comm: Communicator;
  /** This worker, from 0. */
  readonly rank: number;
  readonly size: number;

  constructor(options: WorkerGroupOptions = {}) {
    checkOptionNames('WorkerGroup', options, { comm: true });
    const { comm = currentCommunicator() } = options;
    this.comm = comm;
    this.rank = comm.rank;
    this.size = comm.size;
  }

  /** Rank 0 writes files and talks to people. */
  get isRoot(): boolean {
    return this.rank === 0;
  }

  /** The root's value, on all ranks: anything that can be cloned. */
  agree<T>(value: T): T {
    if (this.size === 1) return value;
    const bytes = this.isRoot ? asBytes(value) : new Uint8Array(0);
    const length = Float64Array.of(bytes.length);
    this.comm.broadcast(length);
    const given = this.isRoot ? bytes : new Uint8Array(length[0]);
    this.comm.broadcast(given);
    return this.isRoot ? value : (deserialize(given) as T);
  }

  /** The values of all ranks, in their order. */
  gather<T>(value: T): T[] {
    if (this.size === 1) return [value];
    return this.comm.allGather(asBytes(value)).map((bytes) => deserialize(bytes) as T);
  }

  /** The largest of the ranks' numbers, for example how far-reaching a wish is. */
  highest(value: number): number {
    if (this.size === 1) return value;
    const all = Float64Array.of(value);
    this.comm.allReduce(all, 'max');
    return all[0];
  }

  /** Whether it is so on some rank. */
  any(flag: boolean): boolean {
    return this.highest(flag ? 1 : 0) > 0;
  }

  /** Whether it is so on every rank. */
  all(flag: boolean): boolean {
    return !this.any(!flag);
  }

  /** Sums over ranks, in a fixed order: the same bits everywhere. */
  sum(values: readonly number[]): number[] {
    return this.startSum(values)();
  }

  /** Starts a sum over ranks; the function that it returns waits for the result. */
  startSum(values: readonly number[]): () => number[] {
    if (this.size === 1) return () => [...values];
    const all = Float64Array.from(values);
    const handle = this.comm.allReduceAsync(all);
    return () => {
      handle.wait();
      return Array.from(all);
    };
  }

  /** Does something on the root alone; its result, or its error, is that of all ranks. No collectives inside. */
  async onRoot<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.size === 1) return work();
    if (!this.isRoot) return this.#take<T>(this.agree<Outcome<T>>({ error: unknownError }));
    let value: T;
    try {
      value = await work();
    } catch (error) {
      this.agree<Outcome<T>>({ error: sent(error) });
      throw agreedError(error);
    }
    this.agree<Outcome<T>>({ value });
    return value;
  }

  /** Does something on every rank; when it fails on some, all throw the error of the first. No collectives inside. */
  async everywhere<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.size === 1) return work();
    let value: T | undefined;
    let failure: unknown = null;
    try {
      value = await work();
    } catch (error) {
      failure = error ?? unknownError;
    }
    const failures = this.gather(failure === null ? null : sent(failure));
    const first = failures.findIndex((error) => error !== null);
    if (first < 0) return value as T;
    if (first === this.rank) throw agreedError(failure);
    return this.#take<T>({ error: failures[first] as SentError });
  }

  /**
   * Runs a program of all ranks. An error that the others do not know of ends the job on all of them, with its message as
   * the reason; `lastWords` is called first, to write it down.
   */
  async run<T>(work: () => Promise<T>, lastWords: (error: unknown) => void = () => {}): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (this.size === 1 || isAgreed(error)) throw error;
      lastWords(error);
      return this.comm.abort(messageOf(error));
    }
  }

  #take<T>(outcome: Outcome<T>): T {
    if ('value' in outcome) return outcome.value;
    throw agreedError(received(outcome.error));
  }
}

const unknownError: SentError = { name: 'Error', message: 'unknown', details: {} };

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Plain bytes: what is sent must not be part of a pool of buffers. */
function asBytes(value: unknown): Uint8Array {
  return Uint8Array.from(serialize(value));
}

function sent(error: unknown): SentError {
  if (!(error instanceof Error)) return { ...unknownError, message: String(error) };
  const details = error instanceof errors.SkeinError ? JSON.parse(JSON.stringify(error.details)) : {};
  return { name: error.name, message: error.message, details };
}

/** The error of another rank, of the class that it had there. */
function received({ name, message, details }: SentError): Error {
  const classes = errors as unknown as Readonly<
    Record<string, new (message: string, details: object) => Error>
  >;
  const own = /^\w+Error$/.test(name) && name !== 'SkeinError' && name !== 'InternalError';
  const made = own && name in classes ? new classes[name](message, details) : new Error(message);
  made.name = name;
  return made;
}

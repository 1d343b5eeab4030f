/**
 * The workers of one run, for code that does some things once (reads a configuration, writes a file, decides) and the
 * rest on every rank. A single worker pays nothing: no message, no copy.
 *
 * All methods are collective: every rank calls them in the same order. An error that all ranks know of (`onRoot`,
 * `onEveryRank`) is thrown on all of them, so that a program ends in order, with one message. Any other error occurs on
 * one rank only while the others wait for it: `run` ends the job with it as the reason.
 */
import { deserialize, serialize } from 'node:v8';
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
  /** The rank of this worker, from 0. */
  readonly rank: number;
  readonly size: number;

  constructor(options: WorkerGroupOptions = {}) {
    checkOptionNames('WorkerGroup', options, { comm: true });
    const { comm = currentCommunicator() } = options;
    this.comm = comm;
    this.rank = comm.rank;
    this.size = comm.size;
  }

  /** Whether this is rank 0, which writes files and prints output. */
  get isRoot(): boolean {
    return this.rank === 0;
  }

  /** Returns the root's value on all ranks; it may be anything that can be cloned. */
  agree<T>(value: T): T {
    if (this.size === 1) return value;
    const bytes = this.isRoot ? toBytes(value) : new Uint8Array(0);
    const length = Float64Array.of(bytes.length);
    this.comm.broadcast(length);
    const received = this.isRoot ? bytes : new Uint8Array(length[0]);
    this.comm.broadcast(received);
    return this.isRoot ? value : (deserialize(received) as T);
  }

  /** Returns the values of all ranks, in rank order. */
  gather<T>(value: T): T[] {
    if (this.size === 1) return [value];
    return this.comm.allGather(toBytes(value)).map((bytes) => deserialize(bytes) as T);
  }

  /** Returns the largest of the ranks' numbers. */
  highest(value: number): number {
    if (this.size === 1) return value;
    const all = Float64Array.of(value);
    this.comm.allReduce(all, 'max');
    return all[0];
  }

  /** Whether `flag` is true on at least one rank. */
  any(flag: boolean): boolean {
    return this.highest(flag ? 1 : 0) > 0;
  }

  /** Whether `flag` is true on every rank. */
  all(flag: boolean): boolean {
    return !this.any(!flag);
  }

  /** Sums over ranks in a fixed order: the same bits on every rank. */
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

  /** Runs `work` on the root only; all ranks return its result or throw its error. No collectives inside. */
  async onRoot<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.size === 1) return work();
    if (!this.isRoot) return this.#unwrap<T>(this.agree<Outcome<T>>({ error: unknownError }));
    let value: T;
    try {
      value = await work();
    } catch (error) {
      this.agree<Outcome<T>>({ error: toSentError(error) });
      throw errors.markCollective(error);
    }
    this.agree<Outcome<T>>({ value });
    return value;
  }

  /**
   * Runs `work` on every rank; if it fails on some, all throw the error of the lowest such rank. No collectives inside.
   */
  async onEveryRank<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.size === 1) return work();
    let value: T | undefined;
    let failure: unknown = null;
    try {
      value = await work();
    } catch (error) {
      failure = error ?? unknownError;
    }
    const failures = this.gather(failure === null ? null : toSentError(failure));
    const first = failures.findIndex((error) => error !== null);
    if (first < 0) return value as T;
    if (first === this.rank) throw errors.markCollective(failure);
    return this.#unwrap<T>({ error: failures[first] as SentError });
  }

  /**
   * Runs a program on all ranks. An error that the others do not know of ends the job on all of them, with its message
   * as the reason; `onError` is called first, for example to log it.
   */
  async run<T>(work: () => Promise<T>, onError: (error: unknown) => void = () => {}): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (this.size === 1 || errors.isCollective(error)) throw error;
      onError(error);
      return this.comm.abort(messageOf(error));
    }
  }

  #unwrap<T>(outcome: Outcome<T>): T {
    if ('value' in outcome) return outcome.value;
    throw errors.markCollective(fromSentError(outcome.error));
  }
}

const unknownError: SentError = { name: 'Error', message: 'unknown', details: {} };

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns plain bytes: a message must not be a view of a pooled buffer. */
function toBytes(value: unknown): Uint8Array {
  return Uint8Array.from(serialize(value));
}

function toSentError(error: unknown): SentError {
  if (!(error instanceof Error)) return { ...unknownError, message: String(error) };
  const details = error instanceof errors.SkeinError ? JSON.parse(JSON.stringify(error.details)) : {};
  return { name: error.name, message: error.message, details };
}

/** Recreates the error of another rank, with its original class. */
function fromSentError({ name, message, details }: SentError): Error {
  const classes = errors as unknown as Readonly<
    Record<string, new (message: string, details: object) => Error>
  >;
  const isOwnClass = /^\w+Error$/.test(name) && name !== 'SkeinError' && name !== 'InternalError';
  const error = isOwnClass && name in classes ? new classes[name](message, details) : new Error(message);
  error.name = name;
  return error;
}

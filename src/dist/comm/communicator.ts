/**
 * Communication between workers. A program that uses a `Communicator` runs unchanged on one worker (`SelfCommunicator`,
 * no library) and on many (`MpiCommunicator`).
 *
 * Rules that all implementations follow (test/dist/communicator-contract.ts):
 * - Collectives (`allReduce`, `allGather`, `broadcast`, `allToAllv`, `exchange`, `barrier`, `close`) are called by all
 *   ranks in the same order. A rank that calls a different one, or with different lengths or a different root, causes
 *   an error and not a hang.
 * - `allReduce` returns the same bits on all ranks and in every run: element i is ((x0 + x1) + (x2 + x3)) + …, a fixed
 *   tree over ranks, never the order of arrival. Bits depend on the number of ranks.
 * - Messages between two ranks with the same tag arrive in the order of sending. Tags are integers from 0.
 * - Blocking forms block the thread, so that forward and backward stay synchronous. Every operation proceeds while
 *   JavaScript computes; arrays passed to an unfinished operation must not be touched.
 * - An operation that waits for live peers longer than the time-out throws a `CommError`; a dead peer ends the job.
 */
export type CommArray =
  | Float32Array
  | Float64Array
  | Int32Array
  | Uint32Array
  | Uint16Array
  | Int16Array
  | Uint8Array
  | Int8Array;

/** Element types that can be summed. */
export type ReduceArray = Float32Array | Float64Array | Int32Array;

export const reductions = ['sum', 'max', 'min'] as const;
export type Reduction = (typeof reductions)[number];

/** Element types of a table, by dtype name. */
export interface TableArrays {
  readonly f32: Float32Array;
  readonly f64: Float64Array;
  readonly i32: Int32Array;
}

export interface TableShape<D extends keyof TableArrays> {
  /** Number of rows on this rank; ranks may have different numbers of rows. */
  readonly rows: number;
  readonly width: number;
  readonly dtype: D;
}

/** Features of a communicator beyond the contract. */
export interface Capabilities {
  /** Whether other ranks read rows of tables made by `allocateTable` without involving their owner. */
  readonly oneSided: boolean;
  /** The reason why `oneSided` is false; empty if it is true. */
  readonly oneSidedNote: string;
}

/** An operation in flight. */
export interface CommHandle {
  readonly done: boolean;
  /** Blocks the thread until the operation is complete; throws its error. */
  wait(): void;
  /** Resolves when the operation is complete, without blocking. */
  promise(): Promise<void>;
}

export interface Communicator {
  readonly kind: 'self' | 'mpi';
  /** The rank of this worker, from 0. */
  readonly rank: number;
  /** Number of workers. */
  readonly size: number;
  readonly capabilities: Capabilities;

  /**
   * Sends a copy of `data` and returns immediately, so two ranks may both send first. The copy of a long message is
   * kept until it is received.
   */
  send(to: number, data: CommArray, tag?: number): void;
  /** Fills `into`; the message must have exactly its length. */
  recv(from: number, into: CommArray, tag?: number): void;
  /** Sends without a copy: `data` stays untouched until the handle is done, which may need the receiver. */
  isend(to: number, data: CommArray, tag?: number): CommHandle;
  irecv(from: number, into: CommArray, tag?: number): CommHandle;

  /** Combines the arrays of all ranks, in place. */
  allReduce(data: ReduceArray, reduction?: Reduction): void;
  /**
   * Starts `allReduce` and returns its handle: start a bucket of gradients as soon as it is complete, and wait before
   * the optimiser's step. Reductions on one `channel` (0 to 3) are called in the same order on all ranks, those on
   * different channels in any order; all other collectives use channel 0.
   */
  allReduceAsync(data: ReduceArray, reduction?: Reduction, channel?: number): CommHandle;
  /** Returns the arrays of all ranks, which may differ in length. */
  allGather<T extends CommArray>(data: T): T[];
  /** Copies `data` from the root into `data` on all other ranks. */
  broadcast(data: CommArray, root?: number): void;
  /**
   * Sends `parts[q]` to rank q; returns the array that each rank sent here. Lengths may differ and need not be known.
   */
  allToAllv<T extends CommArray>(parts: readonly T[]): T[];
  /**
   * An exchange like `allToAllv` with known lengths, without copies: `sends[q]` goes to rank q, `recvs[q]` comes from
   * it.
   */
  exchange(sends: readonly CommArray[], recvs: readonly CommArray[]): CommHandle;
  barrier(): void;

  /**
   * Lets other ranks read and write rows of `data` while this rank computes. Not collective: a request for a table that
   * its owner has not registered yet waits until it is registered. A row that JavaScript changes in the meantime may be
   * read half old, half new. A name refers to one array until `unregisterTable`.
   */
  registerTable(name: string, data: ReduceArray, width: number): void;
  unregisterTable(name: string): void;
  /**
   * Collective. Allocates and registers a table of zeros, in memory that other ranks can read directly where
   * `capabilities.oneSided`. It exists until `close()`, after which the array is empty.
   */
  allocateTable<D extends keyof TableArrays>(name: string, shape: TableShape<D>): TableArrays[D];
  /** Reads rows `ids` of the owner's table into `out` (ids.length × width). */
  getRows(owner: number, name: string, ids: Int32Array, out: ReduceArray): CommHandle;
  /** Overwrites rows of the owner's table. A repeated id keeps its last row. */
  putRows(owner: number, name: string, ids: Int32Array, rows: ReduceArray): CommHandle;
  /** Adds to rows of the owner's table. Requests from several ranks are added in the order of arrival. */
  addRows(owner: number, name: string, ids: Int32Array, rows: ReduceArray): CommHandle;

  /**
   * Sets the file where this rank records the reason, in addition to stderr, when the job is aborted: a line is
   * appended to an existing file, such as a run's log. Null: no file.
   */
  journal(path: string | null): void;
  /** Ends the job on all ranks; each rank prints the reason. */
  abort(reason: string): never;
  /** Collective. Waits for all ranks; the communicator cannot be used afterwards. */
  close(): void;
}

/**
 * What workers say to each other. A program that uses a `Communicator` runs unchanged on one worker (`SelfCommunicator`,
 * no library) and on many (`MpiCommunicator`).
 *
 * Rules all implementations keep (test/dist/communicator-contract.ts):
 * - Collectives (`allReduce`, `allGather`, `broadcast`, `allToAllv`, `exchange`, `barrier`, `close`) are called by all ranks
 *   in the same order; a rank that calls another one, or with other lengths or another root, is an error and not a hang.
 * - `allReduce` gives the same bits on all ranks and in every run: element i is ((x0 + x1) + (x2 + x3)) + …, a fixed tree
 *   over ranks, never the order of arrival. Bits depend on the number of ranks.
 * - Messages between two ranks with the same tag arrive in the order of sending. Tags are whole numbers from 0.
 * - Blocking forms block the thread, so that forward and backward stay synchronous. Every operation goes on while
 *   JavaScript computes; arrays given to an unfinished operation must not be touched.
 * - An operation that waits for living peers longer than the time-out throws a `CommError`; a dead peer ends the job.
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

/** What a table may hold. */
export interface TableArrays {
  readonly f32: Float32Array;
  readonly f64: Float64Array;
  readonly i32: Int32Array;
}

export interface TableShape<D extends keyof TableArrays> {
  /** Rows of this rank; ranks may have different numbers of them. */
  readonly rows: number;
  readonly width: number;
  readonly dtype: D;
}

/** What this communicator can do beyond the contract. */
export interface Capabilities {
  /** Whether rows of tables made by `allocateTable` are read without their owner's help. */
  readonly oneSided: boolean;
  /** Why not; empty when they are. */
  readonly oneSidedNote: string;
}

/** An operation under way. */
export interface CommHandle {
  readonly done: boolean;
  /** Blocks the thread until the operation is complete; throws its error. */
  wait(): void;
  /** Resolves when the operation is complete, without blocking. */
  promise(): Promise<void>;
}

export interface Communicator {
  readonly kind: 'self' | 'mpi';
  /** This worker, from 0. */
  readonly rank: number;
  /** Number of workers. */
  readonly size: number;
  readonly capabilities: Capabilities;

  /** Buffered: takes a copy and returns, so two ranks may both send first. A copy of a long message lives until it is received. */
  send(to: number, data: CommArray, tag?: number): void;
  /** Fills `into`; the message must have exactly its length. */
  recv(from: number, into: CommArray, tag?: number): void;
  /** Sends without a copy: `data` stays untouched until the handle is done, which may need the receiver. */
  isend(to: number, data: CommArray, tag?: number): CommHandle;
  irecv(from: number, into: CommArray, tag?: number): CommHandle;

  /** Combines the arrays of all ranks, in place. */
  allReduce(data: ReduceArray, reduction?: Reduction): void;
  /**
   * The same under way: start a bucket of gradients as soon as it is complete, wait before the optimiser's step.
   * Reductions of one `channel` (0 to 3) are called in the same order on all ranks, those of different channels in any;
   * all other collectives are of channel 0.
   */
  allReduceAsync(data: ReduceArray, reduction?: Reduction, channel?: number): CommHandle;
  /** The arrays of all ranks, which may differ in length. */
  allGather<T extends CommArray>(data: T): T[];
  /** Copies `data` of the root into `data` of all others. */
  broadcast(data: CommArray, root?: number): void;
  /** `parts[q]` goes to rank q; gives what each rank sent here. Lengths may differ and need not be known. */
  allToAllv<T extends CommArray>(parts: readonly T[]): T[];
  /** An exchange like `allToAllv` with known lengths, without copies: `sends[q]` goes to rank q, `recvs[q]` comes from it. */
  exchange(sends: readonly CommArray[], recvs: readonly CommArray[]): CommHandle;
  barrier(): void;

  /**
   * Lets other ranks read and write rows of `data` while this rank computes. Not collective: a request for a table that
   * its owner has not registered yet waits for it. A row that JavaScript changes meanwhile may be read half old.
   * A name stands for one array until `unregisterTable`.
   */
  registerTable(name: string, data: ReduceArray, width: number): void;
  unregisterTable(name: string): void;
  /**
   * Collective. A registered table of zeros, in memory that other ranks can read by themselves where
   * `capabilities.oneSided`; it lives until `close()`, after which the array is empty.
   */
  allocateTable<D extends keyof TableArrays>(name: string, shape: TableShape<D>): TableArrays[D];
  /** Reads rows `ids` of the owner's table into `out` (ids.length × width). */
  getRows(owner: number, name: string, ids: Int32Array, out: ReduceArray): CommHandle;
  /** Overwrites rows of the owner's table. A repeated id keeps its last row. */
  putRows(owner: number, name: string, ids: Int32Array, rows: ReduceArray): CommHandle;
  /** Adds to rows of the owner's table. Requests of several ranks are added in the order of arrival. */
  addRows(owner: number, name: string, ids: Int32Array, rows: ReduceArray): CommHandle;

  /**
   * Says where this rank writes the reason down, beside stderr, when the job ends with one: a line is added to a file that
   * is there, such as a run's log. Null: nowhere.
   */
  journal(path: string | null): void;
  /** Ends the job on all ranks; the reason is printed by each. */
  abort(reason: string): never;
  /** Collective. Waits for all ranks; nothing can be sent afterwards. */
  close(): void;
}

/**
 * Communicator for workers started by `mpirun`, `srun` or `skein run`. The engine's thread in native/mpi does all the
 * work; this class checks arguments, keeps the arrays of unfinished operations alive, and turns errors into exceptions.
 *
 * A process that ends with an error before `close()` ends the whole job: the other ranks would wait for it otherwise.
 */
import { holdMemory, unshared } from '../../native/index.js';
import { CommError, checkNumber, StateError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import {
  abbreviateName,
  allocateLike,
  checkArray,
  checkArrayPerRank,
  checkChannel,
  checkNewTable,
  checkPeer,
  checkReduceArray,
  checkReduceRows,
  checkReduction,
  checkSelfExchange,
  checkTable,
  checkTableShape,
  checkTag,
  completedHandle,
} from './comm-checks.js';
import type {
  Capabilities,
  CommArray,
  CommHandle,
  Communicator,
  ReduceArray,
  Reduction,
  TableArrays,
  TableShape,
} from './communicator.js';
import { loadMpi, type MpiAddon } from './load-mpi.js';

export interface MpiOptions {
  /** Seconds an operation may wait for live peers before it throws; 0: no limit. Default 1800. */
  readonly timeout?: number;
  /** Seconds without a sign of life after which a peer is considered dead and the job ends. Default 60. */
  readonly peerTimeout?: number;
  /** Largest chunk passed to MPI in one call, in bytes. Default 2³⁰; MPI's counts end at 2³¹ − 1. */
  readonly chunkBytes?: number;
  /**
   * Longest pause of an idle engine between two polls, in microseconds: latency against processor time. Default 500.
   */
  readonly maxSleep?: number;
  /** Test whether MPI lets ranks read tables of `allocateTable` directly (see `capabilities`). Default false. */
  readonly oneSided?: boolean;
}

/** Number of unfinished operations at which completed ones are collected. */
const sweepAt = 256;

/** MPI starts once per process, so there is at most one. */
let opened: MpiCommunicator | null = null;

/** Returns the open communicator of this process under a launcher, or null. */
export function openedMpi(): MpiCommunicator | null {
  return opened?.isOpen === true ? opened : null;
}

class MpiHandle implements CommHandle {
  #state: 'open' | 'done' | CommError = 'open';
  #settle: (() => void) | null = null;
  #promise: Promise<void> | null = null;

  constructor(
    readonly id: number,
    readonly addon: MpiAddon,
    readonly forget: (id: number) => void,
  ) {}

  get done(): boolean {
    return this.#state !== 'open' || this.addon.isDone(this.id);
  }

  wait(): void {
    if (this.#state === 'open') this.#finish(this.addon.wait(this.id));
    if (this.#state instanceof CommError) throw this.#state;
  }

  async promise(): Promise<void> {
    if (this.#state === 'open') {
      this.#promise ??= new Promise<void>((resolve) => {
        this.#settle = resolve;
        this.addon.notifyWhenDone(this.id);
      });
      await this.#promise;
    }
    this.wait();
  }

  /** Collects the result of a completed operation. */
  collect(): void {
    if (this.#state === 'open') this.#finish(this.addon.wait(this.id));
    this.#settle?.();
  }

  #finish(error: string): void {
    this.#state = error === '' ? 'done' : new CommError(error);
    // A failed operation may still be in flight: its arrays must not be moved or freed.
    if (error === '') this.forget(this.id);
    this.#settle?.();
  }
}

export class MpiCommunicator implements Communicator {
  readonly kind = 'mpi';
  readonly rank: number;
  readonly size: number;
  /** Name and version of the MPI library. */
  readonly library: string;
  readonly capabilities: Capabilities;
  readonly #addon: MpiAddon;
  readonly #live = new Map<number, { readonly handle: MpiHandle; readonly arrays: readonly unknown[] }>();
  readonly #tables = new Map<string, ReduceArray>();
  #sweepAt = sweepAt;
  #open = true;

  constructor(options: MpiOptions = {}) {
    checkOptionNames('MpiCommunicator', options, {
      timeout: true,
      peerTimeout: true,
      chunkBytes: true,
      maxSleep: true,
      oneSided: true,
    });
    const timeout = checkNumber('mpi', 'timeout', options.timeout ?? 1800, 0);
    const peerTimeout = checkNumber('mpi', 'peerTimeout', options.peerTimeout ?? 60, 0.1);
    const chunkBytes = checkNumber('mpi', 'chunkBytes', options.chunkBytes ?? 2 ** 30, 1, 2 ** 31 - 1);
    const maxSleep = checkNumber('mpi', 'maxSleep', options.maxSleep ?? 500, 1, 1e5);
    if (opened !== null) {
      const advice = opened.isOpen
        ? 'Use currentCommunicator(), or pass the first one on.'
        : 'It is closed, and MPI cannot start again: call close() last.';
      throw new CommError(
        `openCommunicator: expected one communicator per process, got a second one. ${advice}`,
      );
    }
    this.#addon = loadMpi();
    const notified = (id: number) => this.#live.get(id)?.handle.collect();
    const [rank, size, library, noWindows] = this.#addon.open(
      timeout,
      peerTimeout,
      chunkBytes,
      maxSleep,
      notified,
      options.oneSided === true,
    );
    this.rank = rank;
    this.size = size;
    this.library = library;
    this.capabilities = { oneSided: noWindows === '', oneSidedNote: noWindows };
    opened = this;
    this.#guardExit();
  }

  /** False after `close()`. */
  get isOpen(): boolean {
    return this.#open;
  }

  send(to: number, data: CommArray, tag = 0): void {
    this.#check();
    checkPeer('send', 'to', this, to);
    checkTag('send', tag);
    this.#addon.send(to, tag, checkArray('send', 'data', data), true);
  }

  recv(from: number, into: CommArray, tag = 0): void {
    this.irecv(from, into, tag).wait();
  }

  isend(to: number, data: CommArray, tag = 0): CommHandle {
    this.#check();
    checkPeer('isend', 'to', this, to);
    checkTag('isend', tag);
    checkArray('isend', 'data', data);
    return this.#track('isend', [data], () => this.#addon.send(to, tag, data, false));
  }

  irecv(from: number, into: CommArray, tag = 0): CommHandle {
    this.#check();
    checkPeer('recv', 'from', this, from);
    checkTag('recv', tag);
    checkArray('recv', 'into', into);
    return this.#track('recv', [into], () => this.#addon.recv(from, tag, into));
  }

  allReduce(data: ReduceArray, reduction: Reduction = 'sum'): void {
    this.allReduceAsync(data, reduction).wait();
  }

  allReduceAsync(data: ReduceArray, reduction: Reduction = 'sum', channel = 0): CommHandle {
    this.#check();
    checkReduceArray('allReduce', 'data', data);
    const code = checkReduction('allReduce', reduction);
    checkChannel('allReduce', channel);
    return this.#track('allReduce', [data], () => this.#addon.allReduce(data, code, channel));
  }

  allGather<T extends CommArray>(data: T): T[] {
    this.#check();
    checkArray('allGather', 'data', data);
    const lengths = this.#lengths(Array.from({ length: this.size }, () => data.length));
    const gathered = lengths.map((length) => unshared(allocateLike(data, length)));
    this.exchange(
      gathered.map(() => data),
      gathered,
    ).wait();
    return gathered;
  }

  broadcast(data: CommArray, root = 0): void {
    this.#check();
    checkPeer('broadcast', 'root', this, root);
    checkArray('broadcast', 'data', data);
    this.#track('broadcast', [data], () => this.#addon.broadcast(root, data)).wait();
  }

  allToAllv<T extends CommArray>(parts: readonly T[]): T[] {
    this.#check();
    checkArrayPerRank('allToAllv', 'parts', this, parts);
    const received = this.#lengths(parts.map((part) => part.length)).map((length) =>
      unshared(allocateLike(parts[0], length)),
    );
    this.exchange(parts, received).wait();
    return received;
  }

  exchange(sends: readonly CommArray[], recvs: readonly CommArray[]): CommHandle {
    this.#check();
    checkArrayPerRank('exchange', 'sends', this, sends);
    checkArrayPerRank('exchange', 'recvs', this, recvs);
    checkSelfExchange('exchange', this.rank, sends[this.rank], recvs[this.rank]);
    return this.#track('exchange', [...sends, ...recvs], () => this.#addon.exchange(sends, recvs));
  }

  barrier(): void {
    this.#check();
    this.#track('barrier', [], () => this.#addon.barrier()).wait();
  }

  registerTable(name: string, data: ReduceArray, width: number): void {
    this.#check();
    checkTable('registerTable', data, width);
    checkNewTable(name, this.#tables.get(name), data);
    holdMemory('registerTable', data);
    this.#addon.addTable(name, data, width);
    this.#tables.set(name, data);
  }

  unregisterTable(name: string): void {
    this.#addon.removeTable(name);
    this.#tables.delete(name);
  }

  allocateTable<D extends keyof TableArrays>(name: string, shape: TableShape<D>): TableArrays[D] {
    this.#check();
    const { bytes, code, make } = checkTableShape('allocateTable', shape);
    if (this.#tables.has(name))
      throw new StateError(`allocateTable: expected a new name, got '${abbreviateName(name)}'.`);
    const byMpi = this.capabilities.oneSided;
    if (byMpi)
      this.#track('allocateTable', [], () =>
        this.#addon.allocateTable(name, bytes, shape.width, code),
      ).wait();
    const data = make(byMpi && bytes > 0 ? this.#addon.tableMemory(name, bytes) : new ArrayBuffer(bytes));
    this.registerTable(name, data, shape.width);
    return data;
  }

  getRows(owner: number, name: string, ids: Int32Array, out: ReduceArray): CommHandle {
    return this.#rows(0, 'getRows', owner, name, ids, out);
  }

  putRows(owner: number, name: string, ids: Int32Array, rows: ReduceArray): CommHandle {
    return this.#rows(1, 'putRows', owner, name, ids, rows);
  }

  addRows(owner: number, name: string, ids: Int32Array, rows: ReduceArray): CommHandle {
    return this.#rows(2, 'addRows', owner, name, ids, rows);
  }

  journal(path: string | null): void {
    if (this.#open) this.#addon.setJournal(path ?? '');
  }

  abort(reason: string): never {
    if (!this.#open) {
      process.stderr.write(`skein: rank ${this.rank}: ${reason}\n`);
      process.exit(1);
    }
    this.#open = false;
    return this.#addon.abort(reason);
  }

  close(): void {
    this.#close(false);
  }

  #close(atExit: boolean): void {
    if (!this.#open) return;
    const handle = this.#track('close', [], () => this.#addon.close(atExit));
    this.#open = false;
    handle.wait();
    this.#live.clear();
    this.#tables.clear();
  }

  #check(): void {
    if (!this.#open) throw new StateError('the communicator is closed');
  }

  /**
   * Sends every rank the length of the data it will receive from this one; returns the length of the data from each
   * rank.
   */
  #lengths(own: readonly number[]): number[] {
    const lengths = new Float64Array(this.size);
    const sends = own.map((length) => Float64Array.of(length));
    this.exchange(
      sends,
      sends.map((_, rank) => lengths.subarray(rank, rank + 1)),
    ).wait();
    return Array.from(lengths);
  }

  #rows(
    kind: number,
    where: string,
    owner: number,
    name: string,
    ids: Int32Array,
    rows: ReduceArray,
  ): CommHandle {
    this.#check();
    checkPeer(where, 'owner', this, owner);
    const width = checkReduceRows(where, ids, rows);
    if (ids.length === 0) return completedHandle;
    return this.#track(where, [rows], () => this.#addon.rows(kind, owner, name, ids, rows, width));
  }

  /** Starts an operation on arrays whose memory the engine uses until it is complete. */
  #track(where: string, arrays: readonly CommArray[], start: () => number): MpiHandle {
    for (const array of arrays) holdMemory(where, array);
    const id = start();
    const handle = new MpiHandle(id, this.#addon, (done) => this.#live.delete(done));
    this.#live.set(id, { handle, arrays });
    if (this.#live.size >= this.#sweepAt) this.#sweep();
    return handle;
  }

  /** Collects completed operations that have not been waited for, so that their arrays can be freed. */
  #sweep(): void {
    for (const { handle } of this.#live.values()) if (handle.done) handle.collect();
    this.#sweepAt = Math.max(sweepAt, 2 * this.#live.size);
  }

  #guardExit(): void {
    let cause = '';
    process.on('uncaughtExceptionMonitor', (error: unknown) => {
      cause = `: ${error instanceof Error ? error.message : String(error)}`;
    });
    process.on('exit', (code) => {
      if (!this.#open) return;
      if (code === 0) this.#close(true);
      else this.abort(`rank ${this.rank} ended with exit code ${code} before close()${cause}`);
    });
  }
}

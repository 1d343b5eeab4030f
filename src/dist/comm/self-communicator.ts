/**
 * One worker and no library: every collective is the identity, a message to rank 0 is queued, a table is read in place.
 * A receive that no message can satisfy throws immediately, because there is no other rank that could send one.
 */
import { CommError, StateError } from '../../util/errors.js';
import {
  abbreviateName,
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
  copyBytes,
} from './comm-checks.js';
import type {
  CommArray,
  CommHandle,
  Communicator,
  ReduceArray,
  Reduction,
  TableArrays,
  TableShape,
} from './communicator.js';

/** A failed operation: its error is thrown by `wait` and `promise`, as in other communicators. */
function failedHandle(error: CommError): CommHandle {
  return {
    done: true,
    wait() {
      throw error;
    },
    promise: () => Promise.reject(error),
  };
}

/** A receive whose message has not been sent yet. */
class PendingRecv implements CommHandle {
  done = false;
  error: CommError | null = null;
  readonly #tag: number;
  readonly #settle: (() => void)[] = [];

  constructor(
    readonly into: CommArray,
    tag: number,
  ) {
    this.#tag = tag;
  }

  take(data: CommArray): boolean {
    this.done = true;
    if (data.byteLength === this.into.byteLength) copyBytes(data, this.into);
    else this.error = lengthError(this.#tag, this.into, data);
    for (const settle of this.#settle) settle();
    return this.error === null;
  }

  wait(): void {
    if (!this.done)
      throw new CommError(
        `recv (tag ${this.#tag}, from rank 0): expected a message, got none. There is no other rank that could send one.`,
      );
    if (this.error !== null) throw this.error;
  }

  async promise(): Promise<void> {
    if (!this.done) await new Promise<void>((resolve) => this.#settle.push(resolve));
    if (this.error !== null) throw this.error;
  }
}

function lengthError(tag: number, into: CommArray, data: CommArray): CommError {
  return new CommError(
    `recv (tag ${tag}, from rank 0): expected ${into.byteLength} bytes from rank 0, got ${data.byteLength}`,
  );
}

export class SelfCommunicator implements Communicator {
  readonly kind = 'self';
  readonly rank = 0;
  readonly size = 1;
  readonly capabilities = { oneSided: false, oneSidedNote: 'there is one worker' };
  readonly #messages = new Map<number, CommArray[]>();
  readonly #pending = new Map<number, PendingRecv[]>();
  readonly #tables = new Map<string, { readonly data: ReduceArray; readonly width: number }>();
  #open = true;

  send(to: number, data: CommArray, tag = 0): void {
    this.#check();
    checkPeer('send', 'to', this, to);
    checkTag('send', tag);
    const copy = checkArray('send', 'data', data).slice();
    const waiting = this.#pending.get(tag)?.shift();
    if (waiting?.take(copy) === true) return;
    const queue = this.#messages.get(tag) ?? [];
    queue.push(copy);
    this.#messages.set(tag, queue);
  }

  isend(to: number, data: CommArray, tag = 0): CommHandle {
    this.send(to, data, tag);
    return completedHandle;
  }

  recv(from: number, into: CommArray, tag = 0): void {
    const handle = this.irecv(from, into, tag);
    if (!handle.done) this.#pending.get(tag)?.pop();
    handle.wait();
  }

  irecv(from: number, into: CommArray, tag = 0): CommHandle {
    this.#check();
    checkPeer('recv', 'from', this, from);
    checkTag('recv', tag);
    checkArray('recv', 'into', into);
    const queue = this.#messages.get(tag);
    const handle = new PendingRecv(into, tag);
    if (queue === undefined || queue.length === 0) {
      const pending = this.#pending.get(tag) ?? [];
      pending.push(handle);
      this.#pending.set(tag, pending);
    } else if (handle.take(queue[0])) {
      queue.shift();
    }
    return handle;
  }

  allReduce(data: ReduceArray, reduction: Reduction = 'sum'): void {
    this.#check();
    checkReduceArray('allReduce', 'data', data);
    checkReduction('allReduce', reduction);
  }

  allReduceAsync(data: ReduceArray, reduction: Reduction = 'sum', channel = 0): CommHandle {
    checkChannel('allReduce', channel);
    this.allReduce(data, reduction);
    return completedHandle;
  }

  allGather<T extends CommArray>(data: T): T[] {
    this.#check();
    return [checkArray('allGather', 'data', data).slice() as T];
  }

  broadcast(data: CommArray, root = 0): void {
    this.#check();
    checkPeer('broadcast', 'root', this, root);
    checkArray('broadcast', 'data', data);
  }

  allToAllv<T extends CommArray>(parts: readonly T[]): T[] {
    this.#check();
    checkArrayPerRank('allToAllv', 'parts', this, parts);
    return parts.map((part) => part.slice() as T);
  }

  exchange(sends: readonly CommArray[], recvs: readonly CommArray[]): CommHandle {
    this.#check();
    checkArrayPerRank('exchange', 'sends', this, sends);
    checkArrayPerRank('exchange', 'recvs', this, recvs);
    checkSelfExchange('exchange', 0, sends[0], recvs[0]);
    copyBytes(sends[0], recvs[0]);
    return completedHandle;
  }

  barrier(): void {
    this.#check();
  }

  registerTable(name: string, data: ReduceArray, width: number): void {
    this.#check();
    checkTable('registerTable', data, width);
    checkNewTable(name, this.#tables.get(name)?.data, data);
    this.#tables.set(name, { data, width });
  }

  unregisterTable(name: string): void {
    this.#tables.delete(name);
  }

  allocateTable<D extends keyof TableArrays>(name: string, shape: TableShape<D>): TableArrays[D] {
    const { bytes, make } = checkTableShape('allocateTable', shape);
    if (this.#tables.has(name))
      throw new StateError(`allocateTable: expected a new name, got '${abbreviateName(name)}'.`);
    const data = make(new ArrayBuffer(bytes));
    this.registerTable(name, data, shape.width);
    return data;
  }

  getRows(owner: number, name: string, ids: Int32Array, out: ReduceArray): CommHandle {
    return this.#rows('getRows', owner, name, ids, out, (data, start, row, width) => {
      for (let k = 0; k < width; k++) out[row + k] = data[start + k];
    });
  }

  putRows(owner: number, name: string, ids: Int32Array, rows: ReduceArray): CommHandle {
    return this.#rows('putRows', owner, name, ids, rows, (data, start, row, width) => {
      for (let k = 0; k < width; k++) data[start + k] = rows[row + k];
    });
  }

  addRows(owner: number, name: string, ids: Int32Array, rows: ReduceArray): CommHandle {
    return this.#rows('addRows', owner, name, ids, rows, (data, start, row, width) => {
      for (let k = 0; k < width; k++) data[start + k] += rows[row + k];
    });
  }

  /** Ignored: a single worker ends with its own error, which the caller reports. */
  journal(): void {}

  abort(reason: string): never {
    process.stderr.write(`skein: rank 0: ${reason}\n`);
    process.exit(1);
  }

  close(): void {
    this.#open = false;
  }

  #check(): void {
    if (!this.#open) throw new StateError('the communicator is closed');
  }

  #rows(
    where: string,
    owner: number,
    name: string,
    ids: Int32Array,
    rows: ReduceArray,
    apply: (data: ReduceArray, start: number, row: number, width: number) => void,
  ): CommHandle {
    this.#check();
    checkPeer(where, 'owner', this, owner);
    const width = checkReduceRows(where, ids, rows);
    const what = `${where} (table '${abbreviateName(name)}', ${ids.length} ids, rank 0)`;
    const table = this.#tables.get(name);
    if (table === undefined) return failedHandle(new CommError(`${what}: no such table on this rank`));
    if (ids.length > 0 && (width !== table.width || rows.constructor !== table.data.constructor))
      return failedHandle(
        new CommError(`${what}: the table has rows of ${table.width} elements, or another type`),
      );
    const count = table.data.length / table.width;
    const bad = ids.findIndex((id) => id < 0 || id >= count);
    if (bad >= 0)
      return failedHandle(
        new CommError(`${what}: expected ids from 0 to ${count - 1}, got ${ids[bad]} at position ${bad}`),
      );
    for (let i = 0; i < ids.length; i++) apply(table.data, ids[i] * width, i * width, width);
    return completedHandle;
  }
}

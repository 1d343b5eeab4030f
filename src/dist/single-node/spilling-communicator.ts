/**
 * A communicator that hands the machine to other workers whenever it waits for them: state goes to disk and the lock to
 * whoever can compute, and both come back when what was waited for is there. Everything else is the communicator's own.
 *
 * Buffers of operations under way, and tables that others read at any time, stay in memory.
 */
import type { CommHandle, Communicator } from '../comm/communicator.js';
import { setCommunicator } from '../comm/current.js';
import type { PartitionDataManager } from './partition-data-manager.js';

/** Calls that wait for other workers before they return. */
const waiting: ReadonlySet<string> = new Set([
  'recv',
  'allReduce',
  'allGather',
  'broadcast',
  'allToAllv',
  'allocateTable',
  'barrier',
  'close',
]);

/** Milliseconds to wait before state goes to disk. */
const patience = 2;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

const managers = new WeakMap<PartitionDataManager, WeakMap<Communicator, Communicator>>();

/** A manager and a communicator always get the one that was made for them first. */
export function spillingCommunicator(comm: Communicator, manager: PartitionDataManager): Communicator {
  const known = managers.get(manager) ?? new WeakMap<Communicator, Communicator>();
  managers.set(manager, known);
  let spilling = known.get(comm);
  if (spilling === undefined) {
    spilling = comm.size === 1 ? comm : new Spilling(comm, manager).communicator;
    known.set(comm, spilling);
    known.set(spilling, spilling);
  }
  return spilling;
}

/**
 * From here on only the holder of the manager's lock computes: takes the lock, and makes the spilling communicator the one
 * that functions use when none is given, for whoever waits otherwise would keep the lock. Returns it.
 */
export function enterSingleNode(comm: Communicator, manager: PartitionDataManager): Communicator {
  const spilling = spillingCommunicator(comm, manager);
  manager.callbackFunc();
  setCommunicator(spilling);
  return spilling;
}

class Spilling {
  readonly communicator: Communicator;
  readonly #manager: PartitionDataManager;
  readonly #tables = new Map<unknown, Set<ArrayBufferLike>>();
  readonly #underWay = new Map<CommHandle, Set<ArrayBufferLike>>();

  constructor(comm: Communicator, manager: PartitionDataManager) {
    this.#manager = manager;
    this.communicator = new Proxy(comm, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => this.#call(String(key), args, () => value.apply(target, args));
      },
    });
  }

  #call(method: string, args: readonly unknown[], call: () => unknown): unknown {
    if (method === 'unregisterTable') this.#tables.delete(args[0]);
    if (waiting.has(method)) {
      const result = this.#aside(buffersOf(args), call);
      if (method === 'allocateTable') this.#tables.set(args[0], buffersOf([result]));
      return result;
    }
    const result = call();
    if (method === 'registerTable') this.#tables.set(args[0], buffersOf(args));
    return isHandle(result) ? this.#handle(result, buffersOf(args)) : result;
  }

  /** Runs what waits for others, with the state on disk. */
  #aside<T>(own: ReadonlySet<ArrayBufferLike>, wait: () => T): T {
    for (const handle of this.#underWay.keys()) if (handle.done) this.#underWay.delete(handle);
    const busy = new Set(own);
    for (const set of [...this.#tables.values(), ...this.#underWay.values()])
      for (const b of set) busy.add(b);
    this.#manager.precallFunc(busy);
    try {
      return wait();
    } finally {
      this.#manager.callbackFunc();
    }
  }

  #handle(inner: CommHandle, buffers: Set<ArrayBufferLike>): CommHandle {
    if (inner.done) return inner;
    this.#underWay.set(inner, buffers);
    return {
      get done() {
        return inner.done;
      },
      wait: () => this.#wait(inner, buffers),
      // A promise would let other JavaScript run over memory that is away, so this one is kept by waiting.
      promise: async () => this.#wait(inner, buffers),
    };
  }

  #wait(inner: CommHandle, buffers: ReadonlySet<ArrayBufferLike>): void {
    // What needs no JavaScript of others (rows of tables, messages that are there) is soon done; disks are slow.
    const end = performance.now() + patience;
    while (!inner.done && performance.now() < end) Atomics.wait(sleeper, 0, 0, 0.2);
    if (inner.done) inner.wait();
    else this.#aside(buffers, () => inner.wait());
  }
}

function isHandle(value: unknown): value is CommHandle {
  return typeof value === 'object' && value !== null && 'wait' in value && 'done' in value;
}

/** The memory of all arrays among the arguments, in lists too. */
function buffersOf(args: readonly unknown[]): Set<ArrayBufferLike> {
  const buffers = new Set<ArrayBufferLike>();
  for (const arg of args.flat()) if (ArrayBuffer.isView(arg)) buffers.add(arg.buffer);
  return buffers;
}

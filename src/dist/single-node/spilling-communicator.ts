/**
 * A communicator that lets other workers compute whenever it waits for them: the state is written to disk and the lock
 * released, and both are restored when the wait is over. All other behaviour is that of the wrapped communicator.
 *
 * Buffers of operations in flight, and tables that others read at any time, stay in memory.
 */
import type { CommHandle, Communicator } from '../comm/communicator.js';
import { setCommunicator } from '../comm/current.js';
import type { PartitionDataManager } from './partition-data-manager.js';

/** Calls that wait for other workers before they return. */
const blockingMethods: ReadonlySet<string> = new Set([
  'recv',
  'allReduce',
  'allGather',
  'broadcast',
  'allToAllv',
  'allocateTable',
  'barrier',
  'close',
]);

/** Milliseconds to wait before the state is written to disk. */
const graceMilliseconds = 2;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

const managers = new WeakMap<PartitionDataManager, WeakMap<Communicator, Communicator>>();

/** Returns the wrapped communicator; the same one for every call with the same manager and communicator. */
export function spillingCommunicator(comm: Communicator, manager: PartitionDataManager): Communicator {
  const known = managers.get(manager) ?? new WeakMap<Communicator, Communicator>();
  managers.set(manager, known);
  let spilling = known.get(comm);
  if (spilling === undefined) {
    spilling = comm.size === 1 ? comm : new SpillingProxy(comm, manager).communicator;
    known.set(comm, spilling);
    known.set(spilling, spilling);
  }
  return spilling;
}

/**
 * Starts single-node mode, in which only the holder of the manager's lock computes: acquires the lock, and makes the
 * spilling communicator the default one, because a worker that waits on any other would keep the lock. Returns it.
 */
export function enterSingleNode(comm: Communicator, manager: PartitionDataManager): Communicator {
  const spilling = spillingCommunicator(comm, manager);
  manager.callbackFunc();
  setCommunicator(spilling);
  return spilling;
}

/** Intercepts the calls of a communicator that wait for other workers. */
class SpillingProxy {
  readonly communicator: Communicator;
  readonly #manager: PartitionDataManager;
  readonly #tables = new Map<unknown, Set<ArrayBufferLike>>();
  readonly #inFlight = new Map<CommHandle, Set<ArrayBufferLike>>();

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
    if (blockingMethods.has(method)) {
      const result = this.#spillWhile(buffersOf(args), call);
      if (method === 'allocateTable') this.#tables.set(args[0], buffersOf([result]));
      return result;
    }
    const result = call();
    if (method === 'registerTable') this.#tables.set(args[0], buffersOf(args));
    return isHandle(result) ? this.#wrapHandle(result, buffersOf(args)) : result;
  }

  /** Runs `wait`, which waits for other workers, with the state on disk. */
  #spillWhile<T>(own: ReadonlySet<ArrayBufferLike>, wait: () => T): T {
    // A deleted manager has neither state to write nor a lock to pass on: the communicator is an ordinary one again.
    if (this.#manager.isDeleted) return wait();
    for (const handle of this.#inFlight.keys()) if (handle.done) this.#inFlight.delete(handle);
    const busy = new Set(own);
    for (const set of [...this.#tables.values(), ...this.#inFlight.values()])
      for (const b of set) busy.add(b);
    this.#manager.precallFunc(busy);
    try {
      return wait();
    } finally {
      this.#manager.callbackFunc();
    }
  }

  #wrapHandle(inner: CommHandle, buffers: Set<ArrayBufferLike>): CommHandle {
    if (inner.done) return inner;
    this.#inFlight.set(inner, buffers);
    return {
      get done() {
        return inner.done;
      },
      wait: () => this.#wait(inner, buffers),
      // A promise would let other JavaScript access memory that is on disk, so this one blocks.
      promise: async () => this.#wait(inner, buffers),
    };
  }

  #wait(inner: CommHandle, buffers: ReadonlySet<ArrayBufferLike>): void {
    // Operations that need no JavaScript of other ranks (rows of tables, messages that have arrived) complete soon;
    // disks are slow.
    const end = performance.now() + graceMilliseconds;
    while (!inner.done && performance.now() < end) Atomics.wait(sleeper, 0, 0, 0.2);
    if (inner.done) inner.wait();
    else this.#spillWhile(buffers, () => inner.wait());
  }
}

function isHandle(value: unknown): value is CommHandle {
  return typeof value === 'object' && value !== null && 'wait' in value && 'done' in value;
}

/** Returns the buffers of all arrays among the arguments, including arrays in lists. */
function buffersOf(args: readonly unknown[]): Set<ArrayBufferLike> {
  const buffers = new Set<ArrayBufferLike>();
  for (const arg of args.flat()) if (ArrayBuffer.isView(arg)) buffers.add(arg.buffer);
  return buffers;
}

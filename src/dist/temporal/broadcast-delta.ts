/** Sends the rows of a delta to all other workers while this one computes. */
import type { TypedArray } from '../../native/index.js';
import type { PlainDelta } from '../../temporal/mailbox/check-delta.js';
import { allocateLike } from '../comm/comm-checks.js';
import type { CommArray, CommHandle, Communicator } from '../comm/communicator.js';

/** A broadcast in flight. */
export interface PendingDelta {
  /** Blocks until the exchange is complete; returns the rows of the other workers, in the order of ranks. */
  wait(): PlainDelta;
}

/** Starts to send `own` to all other workers. Collective. @param width D: elements of a row of memory. */
export function broadcastDelta(comm: Communicator, width: number, own: PlainDelta): PendingDelta {
  const { rank, size } = comm;
  const mine = Int32Array.of(own.nodes.length, own.mailNodes.length);
  const counts = Array.from({ length: size }, () => new Int32Array(2));
  comm
    .exchange(
      counts.map(() => mine),
      counts,
    )
    .wait();
  const numRows = (kind: 0 | 1): number[] => counts.map((count, q) => (q === rank ? 0 : count[kind]));
  const handles: CommHandle[] = [];
  const start = <T extends TypedArray>(rows: T, kind: 0 | 1, columns: number): T => {
    const data = rows as unknown as CommArray;
    const numbers = numRows(kind);
    const into = allocateLike(
      data,
      numbers.reduce((sum, n) => sum + n * columns, 0),
    );
    let at = 0;
    const slices = numbers.map((n) => {
      at += n * columns;
      return into.subarray(at - n * columns, at);
    });
    const nothing = data.subarray(0, 0);
    const sends = slices.map((_, q) => (q === rank ? nothing : data));
    handles.push(comm.exchange(sends, slices));
    return into as unknown as T;
  };
  const received: PlainDelta = {
    nodes: start(own.nodes, 0, 1),
    memory: start(own.memory, 0, width),
    memoryTime: start(own.memoryTime, 0, 1),
    memoryEvents: start(own.memoryEvents, 0, 1),
    mailNodes: start(own.mailNodes, 1, 1),
    mail: start(own.mail, 1, 2 * width),
    mailTime: start(own.mailTime, 1, 1),
    mailEvents: start(own.mailEvents, 1, 1),
  };
  return {
    wait() {
      for (const handle of handles) handle.wait();
      return received;
    },
  };
}

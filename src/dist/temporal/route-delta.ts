/**
 * Sends every row of a delta to the owner of its node, once, in two phases: numbers of rows, then the rows. They arrive in the order
 * of ranks, with rows of the owner's arrays in place of nodes; the result of the merge does not depend on the order.
 */
import { kernels, type TypedArray } from '../../native/index.js';
import type { PlainDelta } from '../../temporal/mailbox/check-delta.js';
import type { CommHandle, Communicator } from '../comm/communicator.js';
import type { NodeOwners, OwnedRows } from './node-owners.js';
import { exchangeOffsets, startRows } from './row-exchange.js';

export interface RoutedDelta {
  /** Rows that arrived for nodes of this worker. */
  readonly own: PlainDelta;
  /** Number of rows that were sent to other workers. */
  readonly memoryRows: number;
  readonly mailRows: number;
}

/** @param width D: elements of a row of memory. */
export function routeDelta(
  comm: Communicator,
  owners: NodeOwners,
  width: number,
  delta: PlainDelta,
): RoutedDelta {
  const memory = owners.split(delta.nodes);
  const mail = owners.split(delta.mailNodes);
  const [memoryIn, mailIn] = exchangeOffsets(comm, [memory.offsets, mail.offsets]);
  const handles: CommHandle[] = [];
  const start = <T extends TypedArray>(
    rows: T,
    { offsets }: OwnedRows,
    incoming: Int32Array,
    w: number,
  ): T => {
    const out = { rows: rows as unknown as Float32Array, offsets, width: w };
    const { into, handle } = startRows(comm, out, incoming);
    handles.push(handle);
    return into as unknown as T;
  };
  const memoryRows = <T extends TypedArray>(rows: T, w: number): T =>
    start(reorder(rows, memory.positions, w), memory, memoryIn, w);
  const mailRows = <T extends TypedArray>(rows: T, w: number): T =>
    start(reorder(rows, mail.positions, w), mail, mailIn, w);
  const own = {
    nodes: start(memory.rows, memory, memoryIn, 1),
    memory: memoryRows(delta.memory, width),
    memoryTime: memoryRows(delta.memoryTime, 1),
    memoryEvents: memoryRows(delta.memoryEvents, 1),
    mailNodes: start(mail.rows, mail, mailIn, 1),
    mail: mailRows(delta.mail, 2 * width),
    mailTime: mailRows(delta.mailTime, 1),
    mailEvents: mailRows(delta.mailEvents, 1),
  };
  for (const handle of handles) handle.wait();
  const countSent = ({ offsets, rows }: OwnedRows): number =>
    rows.length - (offsets[comm.rank + 1] - offsets[comm.rank]);
  return { own, memoryRows: countSent(memory), mailRows: countSent(mail) };
}

/** Moves row i to `positions[i]`. */
function reorder<T extends TypedArray>(rows: T, positions: Int32Array, width: number): T {
  const out = new (rows.constructor as new (length: number) => T)(rows.length);
  if (out.length > 0)
    kernels().putRows(rows, positions, out, positions.length, width * rows.BYTES_PER_ELEMENT);
  return out;
}

/**
 * Every row of a change to the owner of its node, once. Two phases: numbers of rows, then the rows. What arrives is in the
 * order of ranks, with rows of the owner's arrays in place of nodes; the outcome of the merge does not depend on it.
 */
import { type FloatArray, kernels, type TypedArray } from '../../native/index.js';
import type { PlainDelta } from '../../temporal/mailbox/check-delta.js';
import type { LatestFinder } from '../../temporal/mailbox/merge.js';
import type { CommHandle, Communicator } from '../comm/communicator.js';
import type { NodeOwners, OwnedRows } from './node-owners.js';
import { exchangeOffsets, startRows } from './row-exchange.js';

export interface RoutedDelta {
  /** What came for nodes of this worker. */
  readonly own: PlainDelta;
  /** Rows that went to other workers. */
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
    start(sorted(rows, memory.places, w), memory, memoryIn, w);
  const mailRows = <T extends TypedArray>(rows: T, w: number): T =>
    start(sorted(rows, mail.places, w), mail, mailIn, w);
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
  const away = ({ offsets, rows }: OwnedRows): number =>
    rows.length - (offsets[comm.rank + 1] - offsets[comm.rank]);
  return { own, memoryRows: away(memory), mailRows: away(mail) };
}

/** The rows of a change that count: of every node the one of the greatest (time, event). */
export function latestRows(delta: PlainDelta, finder: LatestFinder): PlainDelta {
  const memory = finder.find(delta.nodes, delta.memoryTime, delta.memoryEvents).rows;
  const mail = finder.find(delta.mailNodes, delta.mailTime, delta.mailEvents).rows;
  return pickDelta(delta, memory, mail);
}

/** Some rows of a change. */
function pickDelta(delta: PlainDelta, memory: Int32Array, mail: Int32Array): PlainDelta {
  const width = (rows: FloatArray, ids: Int32Array): number =>
    ids.length === 0 ? 0 : rows.length / ids.length;
  return {
    nodes: picked(delta.nodes, memory, 1),
    memory: picked(delta.memory, memory, width(delta.memory, delta.nodes)),
    memoryTime: picked(delta.memoryTime, memory, 1),
    memoryEvents: picked(delta.memoryEvents, memory, 1),
    mailNodes: picked(delta.mailNodes, mail, 1),
    mail: picked(delta.mail, mail, width(delta.mail, delta.mailNodes)),
    mailTime: picked(delta.mailTime, mail, 1),
    mailEvents: picked(delta.mailEvents, mail, 1),
  };
}

function picked<T extends TypedArray>(rows: T, ids: Int32Array, width: number): T {
  const out = new (rows.constructor as new (length: number) => T)(ids.length * width);
  if (out.length > 0) kernels().gatherRows(rows, ids, out, ids.length, width * rows.BYTES_PER_ELEMENT);
  return out;
}

/** Row i goes to `places[i]`. */
function sorted<T extends TypedArray>(rows: T, places: Int32Array, width: number): T {
  const out = new (rows.constructor as new (length: number) => T)(rows.length);
  if (out.length > 0) kernels().putRows(rows, places, out, places.length, width * rows.BYTES_PER_ELEMENT);
  return out;
}

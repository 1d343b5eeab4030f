/** Selection of rows of a delta. */
import { type FloatArray, kernels, type TypedArray } from '../../native/index.js';
import type { PlainDelta } from './check-delta.js';
import type { LatestFinder } from './merge.js';

/** Returns the winning rows of a delta: for every node the one of the greatest (time, event). */
export function latestRows(delta: PlainDelta, finder: LatestFinder): PlainDelta {
  const memory = finder.find(delta.nodes, delta.memoryTime, delta.memoryEvents).rows;
  const mail = finder.find(delta.mailNodes, delta.mailTime, delta.mailEvents).rows;
  return pickDelta(delta, memory, mail);
}

/** Returns some rows of a delta. */
export function pickDelta(delta: PlainDelta, memory: Int32Array, mail: Int32Array): PlainDelta {
  const width = (rows: FloatArray, ids: Int32Array): number =>
    ids.length === 0 ? 0 : rows.length / ids.length;
  return {
    nodes: pickRows(delta.nodes, memory, 1),
    memory: pickRows(delta.memory, memory, width(delta.memory, delta.nodes)),
    memoryTime: pickRows(delta.memoryTime, memory, 1),
    memoryEvents: pickRows(delta.memoryEvents, memory, 1),
    mailNodes: pickRows(delta.mailNodes, mail, 1),
    mail: pickRows(delta.mail, mail, width(delta.mail, delta.mailNodes)),
    mailTime: pickRows(delta.mailTime, mail, 1),
    mailEvents: pickRows(delta.mailEvents, mail, 1),
  };
}

function pickRows<T extends TypedArray>(rows: T, ids: Int32Array, width: number): T {
  const out = new (rows.constructor as new (length: number) => T)(ids.length * width);
  if (out.length > 0) kernels().gatherRows(rows, ids, out, ids.length, width * rows.BYTES_PER_ELEMENT);
  return out;
}

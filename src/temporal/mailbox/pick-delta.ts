/** Some rows of a change. */
import { type FloatArray, kernels, type TypedArray } from '../../native/index.js';
import type { PlainDelta } from './check-delta.js';
import type { LatestFinder } from './merge.js';

/** The rows of a change that count: of every node the one of the greatest (time, event). */
export function latestRows(delta: PlainDelta, finder: LatestFinder): PlainDelta {
  const memory = finder.find(delta.nodes, delta.memoryTime, delta.memoryEvents).rows;
  const mail = finder.find(delta.mailNodes, delta.mailTime, delta.mailEvents).rows;
  return pickDelta(delta, memory, mail);
}

/** Some rows of a change. */
export function pickDelta(delta: PlainDelta, memory: Int32Array, mail: Int32Array): PlainDelta {
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

/**
 * Exchanges rows of several arrays between all workers: numbers of rows first, then one exchange per array, all in flight at the same
 * time. Nothing is packed: slices of the arrays are sent and received in place, in the order of ranks. A worker without rows takes part
 * with empty slices.
 */

import { allocateLike } from '../comm/comm-checks.js';
import type { CommArray, CommHandle, Communicator } from '../comm/communicator.js';

/** Rows for each worker: those of worker q begin at `offsets[q]`. */
export interface Outgoing<T extends CommArray> {
  readonly rows: T;
  readonly offsets: Int32Array;
  /** Elements per row. */
  readonly width: number;
}

/** Returns the offsets of the rows that each worker sends, for several lists of rows in one exchange. */
export function exchangeOffsets(comm: Communicator, lists: readonly Int32Array[]): Int32Array[] {
  const { size } = comm;
  const sends = Array.from({ length: size }, (_, q) =>
    Int32Array.from(lists, (offsets) => offsets[q + 1] - offsets[q]),
  );
  const counts = sends.map((send) => new Int32Array(send.length));
  comm.exchange(sends, counts).wait();
  return lists.map((_, i) => {
    const offsets = new Int32Array(size + 1);
    for (let q = 0; q < size; q++) offsets[q + 1] = offsets[q] + counts[q][i];
    return offsets;
  });
}

/** Starts to send; `into` receives the rows, `incoming` are their offsets by worker. */
export function startRows<T extends CommArray>(
  comm: Communicator,
  { rows, offsets, width }: Outgoing<T>,
  incoming: Int32Array,
): { readonly into: T; readonly handle: CommHandle } {
  const into = allocateLike(rows, incoming[comm.size] * width);
  const handle = comm.exchange(slicesOf(rows, offsets, width), slicesOf(into, incoming, width));
  return { into, handle };
}

/** Returns the slice of each worker. */
function slicesOf<T extends CommArray>(rows: T, offsets: Int32Array, width: number): T[] {
  return Array.from(
    { length: offsets.length - 1 },
    (_, q) => rows.subarray(offsets[q] * width, offsets[q + 1] * width) as T,
  );
}

/** Concatenates the arrays of all workers, in the order of ranks. */
export function gatherAll<T extends CommArray>(comm: Communicator, data: T): T {
  const parts = comm.allGather(data);
  const all = allocateLike(
    data,
    parts.reduce((sum, part) => sum + part.length, 0),
  );
  let at = 0;
  for (const part of parts) {
    all.set(part as never, at);
    at += part.length;
  }
  return all;
}

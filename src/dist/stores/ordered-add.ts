/**
 * Additions to rows of many owners whose bits do not depend on the order of arrival: every worker sends each owner its
 * contributions in one message, and the owner adds them in rank order, each worker's in the given order.
 */
import { makeRows, type StoreType } from '../../storage/row-store.js';
import { copyBytes } from '../comm/comm-checks.js';
import type { Communicator, ReduceArray } from '../comm/communicator.js';
import type { OwnerRanges } from './owner-routes.js';

/** The properties of a store that `addInRankOrder` uses. */
interface Table {
  readonly name: string;
  readonly comm: Communicator;
  readonly width: number;
  readonly dtype: StoreType;
  readonly ranges: OwnerRanges;
}

/** Collective. Message: the number of rows, their ids, then the bytes of the rows. */
export function addInRankOrder(table: Table, ids: Int32Array, values: ReduceArray): void {
  const { comm, width, dtype, ranges } = table;
  const words = (width * values.BYTES_PER_ELEMENT) / 4;
  const messages: Int32Array[] = Array.from({ length: comm.size }, () => new Int32Array(0));
  for (const { owner, rows, positions } of ranges.split(ids)) {
    const message = new Int32Array(rows.length * (1 + words) + 1);
    message[0] = rows.length;
    message.set(rows, 1);
    const chosen = makeRows(dtype, rows.length * width);
    for (let i = 0; i < positions.length; i++)
      chosen.set(values.subarray(positions[i] * width, (positions[i] + 1) * width), i * width);
    copyBytes(chosen, message.subarray(1 + rows.length));
    messages[owner] = message;
  }
  for (const message of comm.allToAllv(messages)) {
    if (message.length === 0) continue;
    const count = message[0];
    const rows = makeRows(dtype, count * width);
    copyBytes(message.subarray(1 + count), rows);
    // Through the communication thread, which may be reading the same rows for another rank.
    comm.addRows(comm.rank, table.name, message.slice(1, 1 + count), rows).wait();
  }
}

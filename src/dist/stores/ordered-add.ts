/**
 * Additions to rows of many owners whose bits do not depend on what arrives first: every worker sends each owner its
 * contributions in one message, and the owner adds them in the order of ranks, each worker's in the order given.
 */
import { makeRows, type StoreType } from '../../storage/row-store.js';
import { copyBytes } from '../comm/comm-checks.js';
import type { Communicator, ReduceArray } from '../comm/communicator.js';
import type { OwnerRanges } from './owner-routes.js';

/** What `addInRankOrder` needs of a store. */
interface Table {
  readonly name: string;
  readonly comm: Communicator;
  readonly width: number;
  readonly dtype: StoreType;
  readonly ranges: OwnerRanges;
}

/** Collective. Message: the number of rows, their ids, then the rows bit by bit. */
export function addInRankOrder(table: Table, ids: Int32Array, values: ReduceArray): void {
  const { comm, width, dtype, ranges } = table;
  const words = (width * values.BYTES_PER_ELEMENT) / 4;
  const parts: Int32Array[] = Array.from({ length: comm.size }, () => new Int32Array(0));
  for (const { owner, rows, places } of ranges.split(ids)) {
    const part = new Int32Array(rows.length * (1 + words) + 1);
    part[0] = rows.length;
    part.set(rows, 1);
    const chosen = makeRows(dtype, rows.length * width);
    for (let i = 0; i < places.length; i++)
      chosen.set(values.subarray(places[i] * width, (places[i] + 1) * width), i * width);
    copyBytes(chosen, part.subarray(1 + rows.length));
    parts[owner] = part;
  }
  for (const part of comm.allToAllv(parts)) {
    if (part.length === 0) continue;
    const count = part[0];
    const rows = makeRows(dtype, count * width);
    copyBytes(part.subarray(1 + count), rows);
    // Through the communication thread, which may be reading the same rows for somebody.
    comm.addRows(comm.rank, table.name, part.slice(1, 1 + count), rows).wait();
  }
}

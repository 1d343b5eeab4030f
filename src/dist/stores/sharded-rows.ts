/**
 * A table whose rows are distributed evenly: every worker holds one range of them and reads the others by request. For
 * rows that do not change; `DistributedEmbeddings` is for trained rows.
 */

import { evenRange } from '../../util/arrays.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator, ReduceArray } from '../comm/communicator.js';
import type { NodeRange } from '../partition/partition-data.js';
import { RemoteRowStore } from './remote-row-store.js';

export interface ShardedRowsOptions<T extends ReduceArray> {
  /** Rows of all workers together. */
  readonly rows: number;
  readonly width: number;
  readonly comm: Communicator;
  /** Reads the rows that this worker holds. */
  readonly read: (range: NodeRange) => T | Promise<T>;
}

/** Number of tables opened per communicator. All workers open them in the same order, so that their names agree. */
const opened = new WeakMap<Communicator, number>();

/** Opens a table. All workers call it in the same order; it does not wait for the others. */
export async function openShardedRows<T extends ReduceArray>(
  title: string,
  options: ShardedRowsOptions<T>,
): Promise<RemoteRowStore<T>> {
  checkOptionNames('openShardedRows', options, { rows: true, width: true, comm: true, read: true });
  const { rows, width, comm, read } = options;
  const where = 'openShardedRows';
  checkInteger(where, 'rows', rows);
  checkInteger(where, 'width', width, 1);
  if (typeof comm?.size !== 'number') throw new ValueError(expected(where, 'a Communicator', 'comm', comm));
  if (typeof read !== 'function') throw new ValueError(expected(where, 'a function', 'read', read));
  const before = opened.get(comm) ?? 0;
  opened.set(comm, before + 1);
  const name = `${title}.${before}`;
  const ranges = evenRanges(rows, comm.size);
  return new RemoteRowStore(name, await read(ranges[comm.rank]), { width, ranges, comm });
}

/** Splits rows into consecutive ranges, one per worker, whose sizes differ by at most one. */
export function evenRanges(rows: number, workers: number): NodeRange[] {
  return Array.from({ length: workers }, (_, rank) => evenRange(rows, rank, workers));
}

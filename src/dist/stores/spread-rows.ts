/**
 * A table whose rows are shared out evenly: every worker holds one range of them and reads the others by request. For rows
 * that stay as they are; who trains rows wants `DistributedEmbeddings`.
 */
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { evenRange } from '../../util/even-range.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator, ReduceArray } from '../comm/communicator.js';
import type { NodeRange } from '../partition/partition-data.js';
import { RemoteRowStore } from './remote-row-store.js';

export interface SpreadRowsOptions<T extends ReduceArray> {
  /** Rows of all workers together. */
  readonly rows: number;
  readonly width: number;
  readonly comm: Communicator;
  /** The rows that this worker holds. */
  readonly read: (range: NodeRange) => T | Promise<T>;
}

/** Tables that were opened among the same workers. All open the same ones in the same order, so that names agree. */
const opened = new WeakMap<Communicator, number>();

/** All workers call it in the same order; none waits for the others. */
export async function openSpreadRows<T extends ReduceArray>(
  title: string,
  options: SpreadRowsOptions<T>,
): Promise<RemoteRowStore<T>> {
  checkOptionNames('openSpreadRows', options, { rows: true, width: true, comm: true, read: true });
  const { rows, width, comm, read } = options;
  const where = 'openSpreadRows';
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

/** Consecutive rows for every worker, as many as others have within one. */
export function evenRanges(rows: number, workers: number): NodeRange[] {
  return Array.from({ length: workers }, (_, rank) => evenRange(rows, rank, workers));
}

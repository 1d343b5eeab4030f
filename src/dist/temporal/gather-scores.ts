import { kernels } from '../../native/index.js';
import type { Communicator } from '../comm/communicator.js';
import type { WorkerBatch } from './worker-loader.js';

/**
 * Returns the rows that all workers computed for their events of a batch, in the order of the batch, on every worker.
 * @param rows of this worker's chunks that have events, each [events · width].
 */
export function gatherByPosition(
  comm: Communicator,
  { eventRows, division }: WorkerBatch,
  rows: readonly Float32Array[],
  width: number,
): Float32Array {
  const all = new Float32Array(eventRows.length * width);
  if (all.length === 0) return all;
  const own = new Float32Array(rows.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of rows) {
    own.set(chunk, at);
    at += chunk.length;
  }
  const positions = Array.from({ length: comm.size }, (_, q) =>
    division.positions(eventRows, q).flatMap((p) => [...p]),
  );
  const gathered = positions.map((list) => new Float32Array(list.length * width));
  comm
    .exchange(
      gathered.map(() => own),
      gathered,
    )
    .wait();
  for (const [q, list] of positions.entries())
    kernels().putRows(gathered[q], Int32Array.from(list), all, list.length, width * 4);
  return all;
}

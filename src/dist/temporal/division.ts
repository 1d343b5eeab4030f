/**
 * Which worker computes which events of a batch. A division splits a batch into chunks; every worker has the same number of chunks,
 * and every worker can compute the chunks of the others.
 *
 * By position: a fixed number of consecutive chunks, whatever the number of workers, so that the results of a chunk and the tree in
 * which gradients of chunks are added are the same on any number of workers. By owner: each event is computed by the worker that
 * owns it; results then depend on the number of workers.
 */

import { range } from '../../temporal/batch-maker.js';
import { evenRange } from '../../util/arrays.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';

export interface Division {
  /** Number of chunks of each worker. */
  readonly chunksPerWorker: number;
  /** Returns the positions in the batch of the events of each chunk of a worker, ascending; a chunk may be empty. */
  positions(eventRows: Int32Array, worker: number): Int32Array[];
}

/** Divides batches into consecutive chunks, the same number for each of `size` workers. */
export function divideByPosition(chunks: number, size: number): Division {
  checkInteger('divideByPosition', 'chunks', chunks, 1);
  if (chunks % size !== 0) {
    const advice = `Use ${divisors(chunks).join(', ')} workers, other chunks, or consistency local or stale_cache.`;
    throw new ValueError(
      expected('temporal training', `a divisor of ${chunks}`, 'the number of workers', size, advice),
    );
  }
  const chunksPerWorker = chunks / size;
  return {
    chunksPerWorker,
    positions: ({ length }, worker) =>
      Array.from({ length: chunksPerWorker }, (_, i) => {
        const chunk = worker * chunksPerWorker + i;
        const { start, end } = evenRange(length, chunk, chunks);
        return range(start, end);
      }),
  };
}

/** Assigns each event to the worker that `ownerOf` returns for its row; one chunk per worker. */
export function divideByOwner(ownerOf: (eventRow: number) => number): Division {
  return {
    chunksPerWorker: 1,
    positions: (eventRows, worker) => {
      const positions = new Int32Array(eventRows.length);
      let count = 0;
      for (let i = 0; i < eventRows.length; i++) if (ownerOf(eventRows[i]) === worker) positions[count++] = i;
      return [positions.slice(0, count)];
    },
  };
}

function divisors(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i + 1).filter((d) => n % d === 0);
}
